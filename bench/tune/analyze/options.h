/* SPDX-License-Identifier: MIT
 *
 * options.h - what is asked of the results: the command line of analyze.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_OPTIONS_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_OPTIONS_H

#include <regex.h>

#include "bench/tune/space.h"

#define SW_TUNE_ANALYZE_FILTERS_MAX 16

/* Strings are those of argv. */
struct sw_tune_analyze_options {
    const char *db;
    struct sw_tune_filter filters[SW_TUNE_ANALYZE_FILTERS_MAX];
    uint32_t filter_count;
    regex_t kernels;
    const char *device; /* part of its name, or NULL */
    bool coverage;
    uint32_t top; /* 0: not asked for */
    bool plots;
    regex_t variants;   /* of the plots */
    const char *folder; /* where plots go */
    bool script_only;   /* the plots' script on stdout */
    bool exports;
    const char *files;   /* where raw.csv and summary.csv go, or NULL */
    const char *headers; /* where policies go */
    double loss_max;     /* 0.02: a choice may be so much slower than base on a workload */
    double gain_min;     /* 0.03: with a smaller one base stays */
};

enum sw_tune_analyze_parsed { SW_TUNE_ANALYZE, SW_TUNE_ANALYZE_HELPED, SW_TUNE_ANALYZE_MISUSED };

/* On HELPED the text was printed on stdout, on MISUSED one sentence on stderr; only ANALYZE leaves
 * something to free. */
enum sw_tune_analyze_parsed sw_tune_analyze_options_parse(struct sw_tune_analyze_options *options,
                                                          int argc, char **argv);
void sw_tune_analyze_options_free(struct sw_tune_analyze_options *options);

#endif
