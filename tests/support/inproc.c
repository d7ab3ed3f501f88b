/* SPDX-License-Identifier: MIT
 *
 * inproc.c - runs the Criterion tests of a program by fork(), one child a test.
 *
 * ThreadSanitizer cannot follow the tests that Criterion's own runner starts. That runner ignores
 * the exit status of LeakSanitizer, and runs several tests at once, which exceeds the memory of a
 * device. Its library also loads others that work at the start of each program. So programs do not
 * link it: this file defines everything that the headers of Criterion call.
 *
 *   test_x [--filter SUITE/TEST] [--one-of N]
 *
 * --filter selects the tests whose name matches the shell pattern, as in Criterion. --one-of
 * selects each N-th test, other ones for another seed (random.h).
 *
 * Prints one TAP line a test, and how long it took. Exits with 1 if a test failed or there was
 * none.
 */
#include <stdint.h>

#include <criterion/criterion.h>
#include <criterion/internal/asprintf-compat.h>
#include <criterion/options.h>
#include <criterion/parameterized.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/random.h"

/* Exit statuses of a child; a test that wants one of its own uses others. */
enum { EXIT_ABORTED = 90, EXIT_SKIPPED = 91, EXIT_DIED = 92, EXIT_FAILED = 93 };

#define TIMEOUT_SECONDS 60
#define WHY_SIZE 256
#define SLOWDOWN 5 /* of a sanitizer, or of a busy machine */

/* Required by the headers of Criterion; all zero. */
struct criterion_options criterion_options;

extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* What the process of a test tells its parent: memory of both. */
struct told {
    bool is_over; /* the test's function has returned */
    char why_skipped[WHY_SIZE];
};

/* The test this child runs. Criterion's hooks have no context argument. */
static struct {
    const struct criterion_test *test;
    const struct criterion_test_extra_data *suite; /* NULL if not declared */
    void *parameter;
    int failed; /* set by any thread of the test */
    struct told *told;
} current;

static void mark_failed(void)
{
    __atomic_store_n(&current.failed, 1, __ATOMIC_RELAXED);
}

void criterion_internal_test_setup(void)
{
    if (current.suite != NULL && current.suite->init != NULL) {
        current.suite->init();
    }
    if (current.test->data->init != NULL) {
        current.test->data->init();
    }
}

void criterion_internal_test_main(void (*test)(void))
{
    if (current.parameter != NULL) {
        ((void (*)(void *))test)(current.parameter);
    } else {
        test();
    }
}

void criterion_internal_test_teardown(void)
{
    if (current.test->data->fini != NULL) {
        current.test->data->fini();
    }
    if (current.suite != NULL && current.suite->fini != NULL) {
        current.suite->fini();
    }
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (!stats->passed) {
        mark_failed();
        fprintf(stderr, "%s:%u: Assertion failed: %s\n", stats->file, stats->line,
                stats->message != NULL ? stats->message : "");
    }
}

void cri_asserts_passed_incr(void)
{
}

/* Returns the text of a failed assertion without a text of its own: its expression, and the values
 * of strings. */
char *cr_translate_assert_msg(int kind, ...)
{
    char *text = NULL;
    int length = 0;
    va_list arguments;
    va_start(arguments, kind);
    const char *expression = va_arg(arguments, const char *);
    if (kind == CRITERION_ASSERT_MSG_EXPR_AS_STRINGS_FALSE) {
        const char *actual = va_arg(arguments, const char *);
        const char *expected = va_arg(arguments, const char *);
        length = asprintf(&text, "%s is false: \"%s\", \"%s\"", expression, actual, expected);
    } else {
        length = asprintf(&text, "%s is false", expression);
    }
    va_end(arguments);
    return length >= 0 ? text : NULL;
}

int cr_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        *text = NULL;
    }
    return length;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

void criterion_abort_test(void)
{
    fflush(NULL);
    _exit(EXIT_ABORTED);
}

void criterion_continue_test(void)
{
}

void criterion_skip_test(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(current.told->why_skipped, WHY_SIZE, format, arguments);
    va_end(arguments);
    exit(__atomic_load_n(&current.failed, __ATOMIC_RELAXED) ? EXIT_FAILED : EXIT_SKIPPED);
}

void criterion_test_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_DIED);
}

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *test)
{
    for (struct criterion_suite **suite = __start_cr_sts; suite < __stop_cr_sts; suite++) {
        if (*suite != NULL && strcmp((*suite)->name, test->category) == 0) {
            return (*suite)->data;
        }
    }
    return NULL;
}

static unsigned timeout_of(const struct criterion_test_extra_data *test,
                           const struct criterion_test_extra_data *suite)
{
    double seconds = TIMEOUT_SECONDS;
    if (test->timeout > 0) {
        seconds = test->timeout;
    } else if (suite != NULL && suite->timeout > 0) {
        seconds = suite->timeout;
    }
    return ((unsigned)seconds + 1) * SLOWDOWN;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Runs one test, or one case of a parameterized one. Returns whether it did what it should. */
static bool run_test(const struct criterion_test *test, void *parameter)
{
    current.test = test;
    current.suite = suite_of(test);
    current.parameter = parameter;
    current.told->is_over = false;
    double start = seconds();
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return false;
    }
    if (child == 0) {
        alarm(timeout_of(test->data, current.suite));
        test->test();
        current.told->is_over = true;
        fflush(NULL);
        exit(__atomic_load_n(&current.failed, __ATOMIC_RELAXED) ? EXIT_FAILED : 0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) {
        perror("waitpid");
        return false;
    }
    bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED;
    bool fled = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !current.told->is_over;
    bool passed = skipped;
    if (test->data->signal != 0) {
        passed |= WIFSIGNALED(status) && WTERMSIG(status) == test->data->signal;
    } else {
        passed |= WIFEXITED(status) && WEXITSTATUS(status) == test->data->exit_code && !fled;
    }
    printf("%sok %s::%s", passed ? "" : "not ", test->category, test->name);
    if (skipped) {
        printf(" # SKIP %s\n", current.told->why_skipped);
    } else {
        printf(" (%.2f s)\n", seconds() - start);
    }
    if (WIFSIGNALED(status) && !passed) {
        printf("# ended by signal %d\n", WTERMSIG(status));
    }
    if (fled && !passed) {
        printf("# exited before the end of the test\n");
    }
    return passed;
}

static unsigned run_cases(const struct criterion_test *test, unsigned *failed)
{
    if (test->data->param_ == NULL) {
        *failed += !run_test(test, NULL);
        return 1;
    }
    struct criterion_test_params cases = test->data->param_();
    for (size_t i = 0; i < cases.length; i++) {
        *failed += !run_test(test, (char *)cases.params + i * cases.size);
    }
    if (cases.cleanup != NULL) {
        cases.cleanup(&cases);
    }
    return (unsigned)cases.length;
}

static struct {
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
        choice.number = random_seed() % choice.one_of;
    }
    return choice.one_of > 0;
}

static bool is_chosen(const struct criterion_test *test)
{
    char name[256];
    snprintf(name, sizeof(name), "%s/%s", test->category, test->name);
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
    current.told = mmap(NULL, sizeof(*current.told), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (current.told == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    for (struct criterion_test **test = __start_cr_tst; test < __stop_cr_tst; test++) {
        if (*test != NULL && !(*test)->data->disabled && is_chosen(*test)) {
            count += run_cases(*test, &failed);
        }
    }
    printf("1..%u\n# %u failed\n", count, failed);
    return failed > 0 || count == 0;
}
