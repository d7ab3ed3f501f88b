/* SPDX-License-Identifier: MIT
 *
 * plot.h - how the times of variants are spread, drawn by gnuplot.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_PLOT_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_PLOT_H

#include "bench/tune/analyze/load.h"

/* Variants of one plot. */
#define SW_TUNE_PLOT_VARIANTS_MAX 16

/* One file for each of the results of which a variant matches; says its name on stdout. With
 * script_only the script goes to stdout instead. False with a reason if nothing matches or gnuplot
 * fails. */
bool sw_tune_plot(struct sw_tune_store *store, const struct sw_tune_loaded *loaded,
                  const struct sw_tune_analyze_options *options, struct sw_tune_reason *reason);

#endif
