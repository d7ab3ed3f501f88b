/* SPDX-License-Identifier: MIT
 *
 * files.h - results as files that other programs read: raw.csv and summary.csv.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_FILES_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_FILES_H

#include "bench/tune/analyze/load.h"

/* Writes both into options->files, which is made if it is not there. raw.csv has a row a variant
 * and point; summary.csv, in the columns of all studies, the coverage, the best variants
 * (options->top of them, 5 if that is 0), base, and what --export chooses. */
bool sw_tune_write_files(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                         const struct sw_tune_analyze_options *options,
                         struct sw_tune_reason *reason);

#endif
