/* SPDX-License-Identifier: MIT
 *
 * inproc.c - runs the Criterion tests of a program by fork(), one child a test.
 *
 * ThreadSanitizer cannot follow the tests that Criterion's own runner starts. That runner ignores
 * the exit status of LeakSanitizer, and runs several tests at once, which exceeds the memory of a
 * device. Its library also loads others that work at the start of each program.
 *
 *   test_x [--filter SUITE/TEST] [--one-of N]
 *
 * If a file of the program has the program's name, only that file's tests run: several names of one
 * program then are several programs. --filter selects the tests whose name matches the shell
 * pattern, as in Criterion. --one-of selects each N-th test, other ones for another seed
 * (random.h).
 *
 * Prints one TAP line a test, and how long it took. Exits with 1 if a test failed or there was
 * none.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/clock.h"
#include "tests/support/random.h"

#define OF_CHOICE (1ULL << 43)

/* Exit statuses of a child; a test that wants one of its own uses others. */
enum { EXIT_ABORTED = 90, EXIT_SKIPPED = 91, EXIT_FAILED = 92 };

#define TIMEOUT_SECONDS 60
#define WHY_SIZE 256
#define SLOWDOWN 5 /* of a sanitizer, or of a busy machine */

extern const struct cr_test *__start_cr_tests[];
extern const struct cr_test *__stop_cr_tests[];
extern const struct cr_suite *__start_cr_suites[] __attribute__((weak));
extern const struct cr_suite *__stop_cr_suites[] __attribute__((weak));

/* What the process of a test tells its parent: memory of both. */
struct told {
    bool is_over; /* the test's function has returned */
    bool failed;  /* an assertion, of any thread, however the test ends */
    char why_skipped[WHY_SIZE];
};

/* The memory of the present test. Assertions have no context argument. */
static struct told *told;

static int exit_code(void)
{
    return __atomic_load_n(&told->failed, __ATOMIC_RELAXED) ? EXIT_FAILED : 0;
}

static void report(const char *file, int line, const char *expression, const char *format,
                   va_list arguments)
{
    char why[1024];
    vsnprintf(why, sizeof(why), format, arguments);
    __atomic_store_n(&told->failed, true, __ATOMIC_RELAXED);
    const bool has_why = why[1] != '\0'; /* behind a space */
    fprintf(stderr, "%s:%d: Assertion failed: %s%s%s\n", file, line, expression, has_why ? ":" : "",
            has_why ? why : "");
}

void cr_note_failed(const char *file, int line, const char *expression, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(file, line, expression, format, arguments);
    va_end(arguments);
}

void cr_end_failed(const char *file, int line, const char *expression, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(file, line, expression, format, arguments);
    va_end(arguments);
    fflush(NULL);
    _exit(EXIT_ABORTED);
}

bool cr_compare_texts(const char *a, const char *b, bool equal)
{
    const bool is_right = (strcmp(a, b) == 0) == equal;
    if (!is_right) {
        fprintf(stderr, "compared: \"%s\", \"%s\"\n", a, b);
    }
    return is_right;
}

void cr_skip_test(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(told->why_skipped, WHY_SIZE, format, arguments);
    va_end(arguments);
    exit(exit_code() != 0 ? EXIT_FAILED : EXIT_SKIPPED);
}

static const struct cr_options *suite_of(const struct cr_test *test)
{
    static const struct cr_options none;
    for (const struct cr_suite **suite = __start_cr_suites; suite < __stop_cr_suites; suite++) {
        if (strcmp((*suite)->name, test->suite) == 0 && strcmp((*suite)->file, test->file) == 0) {
            return &(*suite)->options;
        }
    }
    return &none;
}

static unsigned timeout_of(const struct cr_test *test, const struct cr_options *suite)
{
    const double seconds = test->options.timeout > 0 ? test->options.timeout
                           : suite->timeout > 0      ? suite->timeout
                                                     : TIMEOUT_SECONDS;
    return ((unsigned)seconds + 1) * SLOWDOWN;
}

static void call(void (*function)(void))
{
    if (function != NULL) {
        function();
    }
}

/* Runs a test. Returns whether it did what it should. */
static bool run_test(const struct cr_test *test)
{
    const struct cr_options *suite = suite_of(test);
    told->is_over = told->failed = false;
    double start = seconds_now();
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return false;
    }
    if (child == 0) {
        alarm(timeout_of(test, suite));
        call(suite->init);
        call(test->options.init);
        test->run();
        call(test->options.fini);
        call(suite->fini);
        told->is_over = true;
        fflush(NULL);
        exit(exit_code());
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) {
        perror("waitpid");
        return false;
    }
    bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED;
    bool fled = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !told->is_over;
    bool passed = skipped;
    if (test->options.signal != 0) {
        passed |= WIFSIGNALED(status) && WTERMSIG(status) == test->options.signal;
    } else {
        passed |= WIFEXITED(status) && WEXITSTATUS(status) == test->options.exit_code && !fled;
    }
    passed &= !told->failed;
    printf("%sok %s::%s", passed ? "" : "not ", test->suite, test->name);
    if (skipped) {
        printf(" # SKIP %s\n", told->why_skipped);
    } else {
        printf(" (%.2f s)\n", seconds_now() - start);
    }
    if (WIFSIGNALED(status) && !passed) {
        printf("# ended by signal %d\n", WTERMSIG(status));
    }
    if (fled && !passed) {
        printf("# exited before the end of the test\n");
    }
    return passed;
}

static struct {
    const char *file;   /* NULL: all */
    const char *filter; /* NULL: all */
    uint64_t one_of;
    uint64_t number; /* of the next, among those that the filter takes */
} choice = {.one_of = 1};

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--filter") == 0) {
            choice.filter = argv[i + 1];
        } else if (i + 1 < argc && strcmp(argv[i], "--one-of") == 0) {
            choice.one_of = strtoull(argv[i + 1], NULL, 10);
        } else {
            return false;
        }
    }
    if (choice.one_of > 1) {
        /* tested_now draws rounds by the remainder of the seed. By the same remainder a test would
         * have the same rounds in every run. */
        struct random random = random_of(OF_CHOICE);
        choice.number = random_below(&random, choice.one_of);
    }
    return choice.one_of > 0;
}

static void choose_file(void)
{
    char name[256];
    const int size = snprintf(name, sizeof(name), "/%s.c", program_invocation_short_name);
    for (const struct cr_test **test = __start_cr_tests; test < __stop_cr_tests; test++) {
        const size_t file_size = strlen((*test)->file);
        if (file_size >= (size_t)size &&
            strcmp((*test)->file + file_size - (size_t)size, name) == 0) {
            choice.file = (*test)->file;
        }
    }
}

static bool is_chosen(const struct cr_test *test)
{
    if (choice.file != NULL && strcmp(choice.file, test->file) != 0) {
        return false;
    }
    char name[256];
    snprintf(name, sizeof(name), "%s/%s", test->suite, test->name);
    if (choice.filter != NULL && fnmatch(choice.filter, name, 0) != 0) {
        return false;
    }
    return choice.number++ % choice.one_of == 0;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    unsigned failed = 0;
    if (!read_options(argc, argv)) {
        fprintf(stderr, "usage: %s [--filter SUITE/TEST] [--one-of N]\n", argv[0]);
        return 2;
    }
    choose_file();
    told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    for (const struct cr_test **test = __start_cr_tests; test < __stop_cr_tests; test++) {
        if (is_chosen(*test)) {
            count++;
            failed += !run_test(*test);
        }
    }
    printf("1..%u\n# %u failed\n", count, failed);
    return failed > 0 || count == 0;
}
