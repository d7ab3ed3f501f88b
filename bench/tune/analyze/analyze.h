/* SPDX-License-Identifier: MIT
 *
 * analyze.h - the command line of analyze, and the functions of its files.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_ANALYZE_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_ANALYZE_H

#include "bench/study/options.h"
#include "bench/tune/results.h"

struct sw_tune_analyze_options {
    struct sw_tune_selection select; /* variants: of the plots */
    char db[SW_TUNE_PATH_MAX];
    char device[SW_TUNE_TEXT_MAX]; /* part of its name, or "": all */
    bool coverage;
    uint32_t top;                  /* 0: not asked for */
    char folder[SW_TUNE_PATH_MAX]; /* where plots go */
    bool script_only;              /* the plots' script on stdout */
    bool exports;
    char files[SW_TUNE_PATH_MAX];   /* where raw.csv and summary.csv go, or "": nowhere */
    char headers[SW_TUNE_PATH_MAX]; /* where policies go */
    double loss_max; /* percent that a choice may be slower than base on a workload */
    double gain_min; /* percent; with a smaller gain base stays */
};

/* On DONE the text was printed on stdout, on WRONG one sentence on stderr; only RUN leaves
 * something to free: the selection. */
enum sw_study_parsed sw_tune_analyze_options_parse(struct sw_tune_analyze_options *options,
                                                   int argc, char **argv);

/* The part of the variants of which everything is known. */
double sw_tune_coverage(const struct sw_tune_results *results);

/* The variant to export, NULL for base. With `tells` the refused ones with a higher score are named
 * on stdout. False with a reason if base was not measured on every workload. */
bool sw_tune_choose(const struct sw_tune_results *results,
                    const struct sw_tune_analyze_options *options, bool tells,
                    const struct sw_tune_result **out, struct sw_tune_reason *reason);

/* Writes FOLDER/policy_<arch>.h for each GPU architecture. False with a reason if a choice is
 * impossible, or a file cannot be written; a file is replaced as a whole or not at all. */
bool sw_tune_export(const struct sw_tune_loaded *loaded,
                    const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason);

/* Writes raw.csv and summary.csv. */
bool sw_tune_write_files(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                         const struct sw_tune_analyze_options *options,
                         struct sw_tune_reason *reason);

/* Plots how the times of base and of the variants that match are spread: FOLDER/<workload>.svg, by
 * gnuplot, or the script on stdout. */
bool sw_tune_plot(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                  const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason);

#endif
