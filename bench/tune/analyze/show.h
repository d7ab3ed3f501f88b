/* SPDX-License-Identifier: MIT
 *
 * show.h - results as text on stdout.
 */
#ifndef SHERWOOD_BENCH_TUNE_ANALYZE_SHOW_H
#define SHERWOOD_BENCH_TUNE_ANALYZE_SHOW_H

#include "bench/tune/analyze/load.h"

/* The part of the variants of which everything is known. */
double sw_tune_coverage(const struct sw_tune_results *results);
void sw_tune_show_coverage(const struct sw_tune_results *results);
void sw_tune_show_top(const struct sw_tune_results *results, uint32_t top);

#endif
