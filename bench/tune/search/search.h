/* SPDX-License-Identifier: MIT
 *
 * search.h - the command line of a search, the order of its variants, and how they are measured.
 */
#ifndef SHERWOOD_BENCH_TUNE_SEARCH_SEARCH_H
#define SHERWOOD_BENCH_TUNE_SEARCH_SEARCH_H

#include "bench/study/options.h"
#include "bench/tune/build.h"
#include "bench/tune/sampling.h"
#include "bench/tune/select.h"
#include "bench/tune/store.h"

#define SW_TUNE_KERNELS_MAX 16
#define SW_TUNE_PASSED_MAX 32

/* Pointers are into argv. */
struct sw_tune_search_options {
    struct sw_tune_selection select;
    const char *files[SW_TUNE_KERNELS_MAX]; /* of kernels */
    uint32_t file_count;
    struct sw_tune_tools tools;
    char db[SW_TUNE_PATH_MAX];
    char runner[SW_TUNE_PATH_MAX]; /* of shared objects */
    struct sw_tune_stop_rule rule;
    double interval_percent;
    double budget_minutes; /* infinite if there is none */
    double answer_seconds_max;
    bool builds_only;
    bool builds_nothing;
    bool again;
    char *passed[SW_TUNE_PASSED_MAX]; /* arguments for the variants' programs */
    uint32_t passed_count;
};

/* On DONE the text was printed on stdout, on WRONG one sentence on stderr; only RUN leaves
 * something to free: the selection. */
enum sw_study_parsed sw_tune_search_options_parse(struct sw_tune_search_options *options, int argc,
                                                  char **argv);

/* Products: base of every workload first; then the other variants, workload after workload in turn,
 * in a shuffled order that is the same each time, so that a search that ends early has seen
 * something of all. */
struct sw_tune_worklist {
    struct sw_tune_kernel kernels[SW_TUNE_KERNELS_MAX];
    uint32_t kernel_count;
    struct sw_tune_product *products;
    uint32_t count;
};

/* On false `reason` says what is wrong with the kernels or the filters, and nothing is allocated.
 */
bool sw_tune_worklist_make(struct sw_tune_worklist *worklist,
                           const struct sw_tune_search_options *options,
                           struct sw_tune_reason *reason);
void sw_tune_worklist_free(struct sw_tune_worklist *worklist);

enum sw_tune_ended {
    SW_TUNE_THROUGH,   /* nothing is left to do */
    SW_TUNE_STOPPED,   /* a signal came, or the budget is spent */
    SW_TUNE_IMPOSSIBLE /* `reason` says why */
};

/* Runs the variants of a worklist and stores what they do. Results of the present sources are not
 * measured again, unless asked for. A line on stdout for each variant. `began`: of sw_study_clock,
 * what the budget counts from. */
enum sw_tune_ended sw_tune_measure(struct sw_tune_worklist *worklist,
                                   const struct sw_tune_search_options *options,
                                   struct sw_tune_store *store, struct sw_tune_interrupt *interrupt,
                                   double began, struct sw_tune_reason *reason);

#endif
