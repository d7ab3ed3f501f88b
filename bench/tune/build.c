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
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/study/report.h"
#include "bench/tune/sources.h"
#include "bench/tune/subject.h"

#define WORDS_MAX 96
#define JOBS_MAX 256
#define FILE_NAME_MAX 255
/* Flags of all variants. -s: files are carried to other machines. */
#define CC_FLAGS "-std=c11 -O2 -pthread -s -D_GNU_SOURCE -DSW_TUNE=1 -I."
/* Machine code alone, compressed: files of some ten KiB. */
#define NVCC_FLAGS                                                                           \
    "-std=c++17 -O3 --expt-relaxed-constexpr -shared -cudart shared -Xcompiler -fPIC,-Wall " \
    "-Xlinker -s -Xfatbin -compress-all -D_GNU_SOURCE -DSW_TUNE=1 -I."

/* A command line, its words in one piece of text. */
struct command {
    char text[8192];
    size_t used;
    char *argv[WORDS_MAX];
    uint32_t count;
    bool is_whole; /* everything had room */
};

bool sw_tune_is_object(const struct sw_tune_space *space)
{
    size_t length = strlen(space->file);
    return length > 3 && strcmp(space->file + length - 3, ".cu") == 0;
}

static void add_word(struct command *command, const char *text, size_t length)
{
    if (command->count + 1 >= WORDS_MAX || command->used + length + 1 > sizeof(command->text)) {
        command->is_whole = false;
        return;
    }
    char *word = command->text + command->used;
    memcpy(word, text, length);
    word[length] = '\0';
    command->used += length + 1;
    command->argv[command->count++] = word;
    command->argv[command->count] = NULL;
}

/* Words with blanks between. */
static void add_words(struct command *command, const char *text)
{
    while (text[strspn(text, " ")] != '\0') {
        text += strspn(text, " ");
        add_word(command, text, strcspn(text, " "));
        text += strcspn(text, " ");
    }
}

__attribute__((format(printf, 2, 3))) static void add(struct command *command, const char *format,
                                                      ...)
{
    char word[SW_TUNE_PATH_MAX + 64];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(word, sizeof(word), format, arguments);
    va_end(arguments);
    command->is_whole = command->is_whole && length < (int)sizeof(word);
    add_word(command, word, strlen(word));
}

/* -DSW_TUNE_SLOT=64 -DSW_TUNE_SLOT_64=1 for each compile-time axis. */
static void add_axes(struct command *command, const struct sw_tune_product *product)
{
    const struct sw_tune_space *space = product->space;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        const struct sw_tune_axis *axis = &space->axes[a];
        char name[SW_TUNE_NAME_MAX];
        if (axis->kind != SW_TUNE_COMPILED) {
            continue;
        }
        size_t i = 0;
        for (; axis->name[i] != '\0'; i++) {
            name[i] = (char)toupper((unsigned char)axis->name[i]);
        }
        name[i] = '\0';
        const char *value = axis->values[sw_tune_point_value(space, true, product->workload, a)];
        add(command, "-DSW_TUNE_%s=%s", name, value);
        add(command, "-DSW_TUNE_%s_%s=1", name, value);
    }
}

/* Everything but the compiler and the file it writes: what the name's hash is of. */
static void add_arguments(struct command *command, const struct sw_tune_product *product,
                          const struct sw_tune_tools *tools)
{
    const struct sw_tune_space *space = product->space;
    if (sw_tune_is_object(space)) {
        add_words(command, NVCC_FLAGS);
        add(command, "-gencode");
        add(command, "arch=compute_%s,code=%s", tools->arch + strlen("sm_"), tools->arch);
    } else {
        add_words(command, CC_FLAGS);
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
                          uint64_t sources, struct sw_tune_reason *reason)
{
    struct command command = {.is_whole = true};
    char hash[SW_TUNE_HASH_TEXT];
    char workload[SW_TUNE_TEXT_MAX];
    char point[SW_TUNE_TEXT_MAX];
    char variant[SW_TUNE_TEXT_MAX];
    sw_tune_hash_text(sources, hash);
    add_arguments(&command, product, tools);
    uint64_t all = sw_tune_hash(sw_tune_hash(0, hash, strlen(hash)), command.text, command.used);
    sw_tune_hash_text(all, hash);
    sw_tune_point_text(product->space, true, product->workload, point);
    sw_tune_file_text(point, workload);
    sw_tune_variant_name(product->space, product->workload, &product->variant, variant);
    int length = snprintf(product->file, sizeof(product->file), "%s/%s.%s.%s.%s%s", tools->folder,
                          product->space->kernel, workload, product->is_base ? "base" : variant,
                          hash, sw_tune_is_object(product->space) ? ".so" : "");
    if (!command.is_whole || length + 8 > (int)sizeof(product->file) ||
        length - (int)strlen(tools->folder) > FILE_NAME_MAX - 8) {
        return sw_tune_refuse(reason, "the name of %s, %s is too long for a file",
                              product->space->kernel, variant);
    }
    product->is_built = access(product->file, sw_tune_is_object(product->space) ? R_OK : X_OK) == 0;
    return true;
}

/* Starts the compiler. It writes to FILE.new, which is renamed when it is whole. */
static pid_t start(const struct sw_tune_product *product, const struct sw_tune_tools *tools)
{
    struct command command = {.is_whole = true};
    char log[SW_TUNE_PATH_MAX + 8];
    add_words(&command, sw_tune_is_object(product->space) ? tools->nvcc : tools->cc);
    add_arguments(&command, product, tools);
    add(&command, "-o");
    add(&command, "%s.new", product->file);
    if (!sw_tune_is_object(product->space)) {
        add(&command, "-lm");
    }
    snprintf(log, sizeof(log), "%s.log", product->file);
    int fd = open(log, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0 || !command.is_whole) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    pid_t pid = sw_tune_start(command.argv, -1, fd, fd);
    (void)close(fd);
    return pid;
}

/* The first line of the compiler's that speaks of an error, or its first. */
static void explain(struct sw_tune_product *product)
{
    char log[SW_TUNE_PATH_MAX + 8];
    char line[512];
    bool found = false;
    snprintf(log, sizeof(log), "%s.log", product->file);
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
    char path[SW_TUNE_PATH_MAX + 8];
    snprintf(path, sizeof(path), "%s.new", product->file);
    product->is_built =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 && rename(path, product->file) == 0;
    if (!product->is_built) {
        (void)unlink(path);
        explain(product);
        return;
    }
    snprintf(path, sizeof(path), "%s.log", product->file);
    (void)unlink(path);
}

/* Compilers that run; pid 0: none. */
struct slots {
    pid_t pid[JOBS_MAX];
    uint32_t product[JOBS_MAX];
    uint32_t busy;
};

/* Takes note of those that ended. Does not wait. */
static uint32_t reap(struct slots *slots, struct sw_tune_product *products, uint32_t *last)
{
    uint32_t ended = 0;
    for (uint32_t s = 0; s < JOBS_MAX; s++) {
        int status = 0;
        if (slots->pid[s] == 0 || waitpid(slots->pid[s], &status, WNOHANG) != slots->pid[s]) {
            continue;
        }
        slots->pid[s] = 0;
        slots->busy--;
        finish(&products[slots->product[s]], status);
        *last = slots->product[s];
        ended++;
    }
    return ended;
}

static void end_all(struct slots *slots, struct sw_tune_product *products)
{
    for (uint32_t s = 0; s < JOBS_MAX; s++) {
        if (slots->pid[s] != 0) {
            sw_tune_kill(slots->pid[s]);
            finish(&products[slots->product[s]], -1);
            (void)sw_tune_refuse(&products[slots->product[s]].reason, "interrupted");
        }
    }
}

static void fill(struct slots *slots, struct sw_tune_product *products, uint32_t count,
                 const struct sw_tune_tools *tools, uint32_t *next)
{
    for (uint32_t s = 0; s < JOBS_MAX && slots->busy < tools->jobs; s++) {
        while (*next < count && products[*next].is_built) {
            ++*next;
        }
        if (*next == count || slots->pid[s] != 0) {
            continue;
        }
        pid_t pid = start(&products[*next], tools);
        if (pid > 0) {
            slots->pid[s] = pid;
            slots->product[s] = *next;
            slots->busy++;
        } else {
            (void)sw_tune_refuse(&products[*next].reason, "the compiler %s cannot be started",
                                 sw_tune_is_object(products[*next].space) ? tools->nvcc
                                                                          : tools->cc);
        }
        ++*next;
    }
}

bool sw_tune_build(struct sw_tune_product *products, uint32_t count,
                   const struct sw_tune_tools *tools, struct sw_tune_interrupt *interrupt,
                   double until, sw_tune_progress progress, void *context,
                   struct sw_tune_reason *reason)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    struct slots slots = {.busy = 0};
    uint32_t total = 0;
    uint32_t done = 0;
    uint32_t next = 0;
    for (uint32_t p = 0; p < count; p++) {
        total += !products[p].is_built;
    }
    if (total > 0 && !sw_study_make_folder(tools->folder)) {
        return sw_tune_refuse(reason, "the folder %s cannot be made: %s", tools->folder,
                              strerror(errno));
    }
    do {
        uint32_t last = 0;
        uint32_t ended = reap(&slots, products, &last);
        done += ended;
        if (ended > 0) {
            progress(context, &products[last], done, total);
        }
        if (sw_tune_interrupted(interrupt) || sw_study_clock() > until) {
            end_all(&slots, products);
            return true;
        }
        fill(&slots, products, count, tools, &next);
        if (slots.busy > 0) {
            (void)nanosleep(&pause, NULL);
        }
    } while (slots.busy > 0 || next < count);
    return true;
}
