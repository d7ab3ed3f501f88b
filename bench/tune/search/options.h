/* SPDX-License-Identifier: MIT
 *
 * options.h - what a search is asked to do: its command line.
 */
#ifndef SHERWOOD_BENCH_TUNE_SEARCH_OPTIONS_H
#define SHERWOOD_BENCH_TUNE_SEARCH_OPTIONS_H

#include <regex.h>

#include "bench/tune/build.h"
#include "bench/tune/sampling.h"
#include "bench/tune/space.h"

#define SW_TUNE_FILTERS_MAX 16
#define SW_TUNE_KERNELS_MAX 16
#define SW_TUNE_PASSED_MAX 32

/* Strings are those of argv. */
struct sw_tune_search_options {
    const char *files[SW_TUNE_KERNELS_MAX]; /* of kernels */
    uint32_t file_count;
    struct sw_tune_filter filters[SW_TUNE_FILTERS_MAX];
    uint32_t filter_count;
    regex_t kernels; /* names that match */
    regex_t variants;
    struct sw_tune_tools tools;
    const char *db;
    const char *runner; /* of shared objects */
    struct sw_tune_stop_rule rule;
    double budget_seconds; /* infinite if there is none */
    double answer_seconds_max;
    bool builds;
    bool runs;
    bool again;
    char *passed[SW_TUNE_PASSED_MAX]; /* arguments for the variants' programs */
    uint32_t passed_count;
};

enum sw_tune_parsed { SW_TUNE_RUN_IT, SW_TUNE_HELPED, SW_TUNE_MISUSED };

/* On HELPED the text was printed on stdout, on MISUSED one sentence on stderr; only RUN_IT leaves
 * something to free. */
enum sw_tune_parsed sw_tune_search_options_parse(struct sw_tune_search_options *options, int argc,
                                                 char **argv);
void sw_tune_search_options_free(struct sw_tune_search_options *options);

#endif
