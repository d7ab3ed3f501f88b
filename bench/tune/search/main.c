/* SPDX-License-Identifier: MIT
 *
 * main.c - search: builds variants of kernels, measures them, stores the results.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/report.h"
#include "bench/tune/search/search.h"
#include "bench/tune/subject.h"

#define EXIT_MISUSED 2
#define EXIT_INTERRUPTED 130

/* Progress of the builds. */
struct told {
    double began;
    uint32_t failed;
};

static int fail(const char *program, const struct sw_tune_reason *reason, int status)
{
    (void)fflush(stdout); /* keeps the order of stdout and stderr */
    fprintf(stderr, "%s: %s\n", program, reason->text);
    return status;
}

static void tell_built(void *context, const struct sw_tune_product *product, uint32_t done,
                       uint32_t total)
{
    struct told *told = context;
    double spent = sw_study_clock() - told->began;
    if (!product->is_built) {
        told->failed++;
        printf("not built: %s: %s\n", product->file, product->reason.text);
    } else if (done % 10 == 0 || done == total) {
        printf("built %" PRIu32 " of %" PRIu32 ", about %.0f s left\n", done, total,
               spent / done * (total - done));
    }
    (void)fflush(stdout);
}

static bool build(const struct sw_tune_search_options *options, struct sw_tune_worklist *worklist,
                  struct sw_tune_interrupt *interrupt, double began, struct sw_tune_reason *reason)
{
    struct told told = {.began = sw_study_clock()};
    uint32_t there = 0;
    if (!sw_tune_build(worklist->products, worklist->count, &options->tools, interrupt,
                       began + 60 * options->budget_minutes, tell_built, &told, reason)) {
        return false;
    }
    for (uint32_t p = 0; p < worklist->count; p++) {
        there += worklist->products[p].is_built;
    }
    printf("%" PRIu32 " of %" PRIu32 " variants are built, in %s\n", there, worklist->count,
           options->tools.folder);
    if (options->builds_only) { /* what failed to build matters only here: else it is stored */
        for (uint32_t p = 0; p < worklist->count; p++) {
            const struct sw_tune_product *product = &worklist->products[p];
            if (!product->is_built && product->is_base && product->reason.text[0] != '\0') {
                return sw_tune_refuse(reason, "base of %s does not build: %s",
                                      product->kernel->space->kernel, product->reason.text);
            }
        }
    }
    return true;
}

static bool write_spaces(const struct sw_tune_worklist *worklist, struct sw_tune_store *store,
                         struct sw_tune_reason *reason)
{
    for (uint32_t k = 0; k < worklist->kernel_count; k++) {
        if (!sw_tune_store_space(store, worklist->kernels[k].space, worklist->kernels[k].sources)) {
            sw_tune_store_failure(store, reason);
            return false;
        }
    }
    return true;
}

static int finish(const char *program, enum sw_tune_ended ended,
                  const struct sw_tune_interrupt *interrupt, const struct sw_tune_reason *reason)
{
    if (ended == SW_TUNE_IMPOSSIBLE) {
        return fail(program, reason, EXIT_FAILURE);
    }
    if (interrupt->came) {
        printf("interrupted: what was measured is stored, and the same search goes on from here\n");
        return EXIT_INTERRUPTED;
    }
    if (ended == SW_TUNE_STOPPED) {
        printf("the budget is spent: the same search goes on from here\n");
    }
    return EXIT_SUCCESS;
}

static int measure(const char *program, const struct sw_tune_search_options *options,
                   struct sw_tune_worklist *worklist, struct sw_tune_interrupt *interrupt,
                   double began)
{
    struct sw_tune_reason reason = {""};
    struct sw_tune_store *store = NULL;
    char folder[SW_TUNE_PATH_MAX] = "";
    const char *slash = strrchr(options->db, '/');
    if (slash != NULL && (size_t)(slash - options->db) < sizeof(folder)) {
        memcpy(folder, options->db, (size_t)(slash - options->db));
    }
    if (folder[0] != '\0' && !sw_study_make_folder(folder)) {
        (void)sw_tune_refuse(&reason, "the folder %s cannot be made: %s", folder, strerror(errno));
        return fail(program, &reason, EXIT_FAILURE);
    }
    if (!sw_tune_store_open(options->db, true, &store, &reason)) {
        return fail(program, &reason, EXIT_FAILURE);
    }
    enum sw_tune_ended ended = SW_TUNE_IMPOSSIBLE;
    if (write_spaces(worklist, store, &reason)) {
        ended = sw_tune_measure(worklist, options, store, interrupt, began, &reason);
    }
    sw_tune_store_close(store);
    return finish(program, ended, interrupt, &reason);
}

static int search(const char *program, const struct sw_tune_search_options *options,
                  struct sw_tune_worklist *worklist)
{
    struct sw_tune_reason reason = {""};
    struct sw_tune_interrupt interrupt;
    double began = sw_study_clock();
    if (!sw_tune_interrupt_open(&interrupt)) {
        return fail(program, &(struct sw_tune_reason){"signals cannot be awaited"}, EXIT_FAILURE);
    }
    int status = EXIT_FAILURE;
    if (!options->builds_nothing && !build(options, worklist, &interrupt, began, &reason)) {
        status = fail(program, &reason, EXIT_FAILURE);
    } else if (options->builds_only || interrupt.came) {
        status = finish(program, interrupt.came ? SW_TUNE_STOPPED : SW_TUNE_THROUGH, &interrupt,
                        &reason);
    } else {
        status = measure(program, options, worklist, &interrupt, began);
    }
    sw_tune_interrupt_close(&interrupt);
    return status;
}

/* The runner lies beside this program. */
static void find_runner(const char *program, char path[SW_TUNE_PATH_MAX])
{
    const char *slash = strrchr(program, '/');
    snprintf(path, SW_TUNE_PATH_MAX, "%.*srunner", slash != NULL ? (int)(slash + 1 - program) : 0,
             program);
}

int main(int argc, char **argv)
{
    struct sw_tune_search_options options;
    struct sw_tune_worklist worklist;
    struct sw_tune_reason reason = {""};
    enum sw_study_parsed parsed = sw_tune_search_options_parse(&options, argc, argv);
    if (parsed != SW_STUDY_RUN) {
        return parsed == SW_STUDY_DONE ? EXIT_SUCCESS : EXIT_MISUSED;
    }
    if (options.runner[0] == '\0') {
        find_runner(argv[0], options.runner);
    }
    int status = EXIT_MISUSED;
    if (sw_tune_worklist_make(&worklist, &options, &reason)) {
        status = search(argv[0], &options, &worklist);
        sw_tune_worklist_free(&worklist);
    } else {
        (void)fail(argv[0], &reason, status);
    }
    sw_tune_selection_free(&options.select);
    return status;
}
