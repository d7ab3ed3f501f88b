/* SPDX-License-Identifier: MIT
 *
 * build.c - command lines of compilers, and how many run at once.
 */
#include "bench/tune/build.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/study/report.h"

#define WORDS_MAX 96
#define JOBS_MAX 64
#define FILE_NAME_MAX 255
/* Flags of all variants. -s: files are carried to other machines. */
#define CC_FLAGS "-std=c11 -O2 -pthread -s -D_GNU_SOURCE -DSW_TUNE=1 -I."
/* Machine code alone, compressed: files of some ten KiB. */
#define NVCC_FLAGS                                                                           \
    "-std=c++17 -O3 --expt-relaxed-constexpr -shared -cudart shared -Xcompiler -fPIC,-Wall " \
    "-Xlinker -s -Xfatbin -compress-all -D_GNU_SOURCE -DSW_TUNE=1 -I."

/* A command line: words with blanks between. */
struct command {
    char text[8192];
    size_t used;
    bool is_whole; /* everything had room */
};

bool sw_tune_is_object(const struct sw_tune_space *space)
{
    size_t length = strlen(space->file);
    return length > 3 && strcmp(space->file + length - 3, ".cu") == 0;
}

/* Adds words, and a blank behind them. */
__attribute__((format(printf, 2, 3))) static void add(struct command *command, const char *format,
                                                      ...)
{
    va_list arguments;
    size_t room = sizeof(command->text) - command->used;
    va_start(arguments, format);
    int length = vsnprintf(command->text + command->used, room, format, arguments);
    va_end(arguments);
    command->is_whole = command->is_whole && length >= 0 && (size_t)length + 1 < room;
    if (command->is_whole) {
        command->used += (size_t)length + 1;
        memcpy(command->text + command->used - 1, " ", 2);
    }
}

/* -DSW_TUNE_SLOT=64 -DSW_TUNE_SLOT_64=1 for each compile-time axis. */
static void add_axes(struct command *command, const struct sw_tune_product *product)
{
    const struct sw_tune_space *space = product->kernel->space;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        const struct sw_tune_axis *axis = &space->axes[a];
        char name[SW_TUNE_NAME_MAX];
        if (axis->kind != SW_TUNE_COMPILED) {
            continue;
        }
        snprintf(name, sizeof(name), "%s", axis->name);
        for (char *at = name; *at != '\0'; at++) {
            *at = (char)toupper((unsigned char)*at);
        }
        const char *value = axis->values[sw_tune_point_value(space, true, product->workload, a)];
        add(command, "-DSW_TUNE_%s=%s -DSW_TUNE_%s_%s=1", name, value, name, value);
    }
}

/* Everything but the compiler and the file it writes: the name's hash is of this. */
static void add_arguments(struct command *command, const struct sw_tune_product *product,
                          const struct sw_tune_tools *tools)
{
    const struct sw_tune_space *space = product->kernel->space;
    if (sw_tune_is_object(space)) {
        add(command, NVCC_FLAGS " -gencode arch=compute_%s,code=%s", tools->arch + strlen("sm_"),
            tools->arch);
    } else {
        add(command, CC_FLAGS);
    }
    add_axes(command, product);
    for (uint32_t p = 0; p < space->parameter_count && !product->is_base; p++) {
        if (sw_tune_parameter_exists(space, product->workload, p)) {
            add(command, "-D%s=%" PRId64, space->parameters[p].name, product->variant.values[p]);
        }
    }
    add(command, "%s", space->file);
}

bool sw_tune_product_name(struct sw_tune_product *product, const struct sw_tune_tools *tools,
                          struct sw_tune_reason *reason)
{
    const struct sw_tune_space *space = product->kernel->space;
    const char *sources = product->kernel->sources;
    struct command command = {.is_whole = true};
    char hash[SW_TUNE_HASH_TEXT];
    char workload[SW_TUNE_TEXT_MAX];
    add_arguments(&command, product, tools);
    sw_tune_hash_text(
        sw_tune_hash(sw_tune_hash(0, sources, strlen(sources)), command.text, command.used), hash);
    sw_tune_point_text(space, true, product->workload, product->point);
    sw_tune_variant_name(space, product->workload, &product->variant, product->name);
    sw_tune_file_text(product->point, workload);
    int length = snprintf(product->file, sizeof(product->file), "%s/%s.%s.%s.%s%s", tools->folder,
                          space->kernel, workload, product->is_base ? "base" : product->name, hash,
                          sw_tune_is_object(space) ? ".so" : "");
    if (!command.is_whole || length + 8 > (int)sizeof(product->file) ||
        length - (int)strlen(tools->folder) > FILE_NAME_MAX - 8) {
        return sw_tune_refuse(reason, "the name of %s, %s is too long for a file", space->kernel,
                              product->name);
    }
    product->is_built = access(product->file, sw_tune_is_object(space) ? R_OK : X_OK) == 0;
    return true;
}

/* Starts the compiler. It writes to FILE.new, which is renamed when it is whole. */
static pid_t start(const struct sw_tune_product *product, const struct sw_tune_tools *tools)
{
    struct command command = {.is_whole = true};
    char *argv[WORDS_MAX];
    char *rest = NULL;
    uint32_t count = 0;
    char log[SW_TUNE_PATH_MAX + 8];
    bool is_object = sw_tune_is_object(product->kernel->space);
    add(&command, "%s", is_object ? tools->nvcc : tools->cc);
    add_arguments(&command, product, tools);
    add(&command, "-o %s.new%s", product->file, is_object ? "" : " -lm");
    for (char *word = strtok_r(command.text, " ", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        argv[count++] = word;
    }
    snprintf(log, sizeof(log), "%s.log", product->file);
    int fd = open(log, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    pid_t pid = -1;
    if (fd >= 0 && command.is_whole && count < WORDS_MAX) {
        argv[count] = NULL;
        pid = sw_tune_start(argv, -1, fd, fd);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return pid;
}

/* The first line of the compiler's that has "error" in it, or its first. */
static void explain(struct sw_tune_product *product, const char *log)
{
    char line[512];
    bool found = false;
    (void)sw_tune_refuse(&product->reason, "the compiler failed and said nothing");
    FILE *file = fopen(log, "r");
    for (uint32_t n = 0; file != NULL && !found && fgets(line, sizeof(line), file) != NULL; n++) {
        found = strstr(line, "error") != NULL;
        line[strcspn(line, "\n")] = '\0';
        if (found || n == 0) {
            (void)sw_tune_refuse(&product->reason, "%s", line);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void finish(struct sw_tune_product *product, int status)
{
    char fresh[SW_TUNE_PATH_MAX + 8];
    char log[SW_TUNE_PATH_MAX + 8];
    snprintf(fresh, sizeof(fresh), "%s.new", product->file);
    snprintf(log, sizeof(log), "%s.log", product->file);
    product->is_built =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 && rename(fresh, product->file) == 0;
    if (product->is_built) {
        (void)unlink(log);
    } else {
        (void)unlink(fresh);
        explain(product, log);
    }
}

/* A compiler that runs, for a product; pid 0: none. */
struct job {
    pid_t pid;
    struct sw_tune_product *product;
};

/* Takes note of those that ended, without waiting; returns how many still run. */
static uint32_t reap(struct job jobs[JOBS_MAX], uint32_t *done, struct sw_tune_product **last)
{
    uint32_t running = 0;
    for (uint32_t j = 0; j < JOBS_MAX; j++) {
        int status = 0;
        if (jobs[j].pid != 0 && waitpid(jobs[j].pid, &status, WNOHANG) == jobs[j].pid) {
            finish(jobs[j].product, status);
            *last = jobs[j].product;
            jobs[j].pid = 0;
            ++*done;
        }
        running += jobs[j].pid != 0;
    }
    return running;
}

static void end_all(struct job jobs[JOBS_MAX])
{
    for (uint32_t j = 0; j < JOBS_MAX; j++) {
        if (jobs[j].pid != 0) {
            sw_tune_kill(jobs[j].pid);
            finish(jobs[j].product, -1);
            (void)sw_tune_refuse(&jobs[j].product->reason, "interrupted");
        }
    }
}

/* Starts a compiler for the product; false if it cannot be started. */
static bool begin(struct job jobs[JOBS_MAX], struct sw_tune_product *product,
                  const struct sw_tune_tools *tools)
{
    uint32_t j = 0;
    while (jobs[j].pid != 0) {
        j++;
    }
    pid_t pid = start(product, tools);
    if (pid <= 0) {
        return sw_tune_refuse(&product->reason, "the compiler %s cannot be started",
                              sw_tune_is_object(product->kernel->space) ? tools->nvcc : tools->cc);
    }
    jobs[j] = (struct job){pid, product};
    return true;
}

bool sw_tune_build(struct sw_tune_product *products, uint32_t count,
                   const struct sw_tune_tools *tools, struct sw_tune_interrupt *interrupt,
                   double until, sw_tune_progress progress, void *context,
                   struct sw_tune_reason *reason)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    const uint32_t most = tools->jobs < JOBS_MAX ? tools->jobs : JOBS_MAX;
    struct job jobs[JOBS_MAX] = {{.pid = 0}};
    uint32_t total = 0, done = 0, next = 0, running = 0;
    for (uint32_t p = 0; p < count; p++) {
        total += !products[p].is_built;
    }
    if (total > 0 && !sw_study_make_folder(tools->folder)) {
        return sw_tune_refuse(reason, "the folder %s cannot be made: %s", tools->folder,
                              strerror(errno));
    }
    while (total > 0 && (running > 0 || next < count)) {
        struct sw_tune_product *last = NULL;
        running = reap(jobs, &done, &last);
        if (last != NULL) {
            progress(context, last, done, total);
        }
        if (sw_tune_interrupted(interrupt) || sw_study_clock() > until) {
            end_all(jobs);
            return true;
        }
        for (; next < count && running < most; next++) {
            running += !products[next].is_built && begin(jobs, &products[next], tools);
        }
        if (running > 0) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return true;
}
