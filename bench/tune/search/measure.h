/* SPDX-License-Identifier: MIT
 *
 * measure.h - runs the variants of a plan, and stores what they do.
 */
#ifndef SHERWOOD_BENCH_TUNE_SEARCH_MEASURE_H
#define SHERWOOD_BENCH_TUNE_SEARCH_MEASURE_H

#include "bench/tune/interrupt.h"
#include "bench/tune/search/plan.h"
#include "bench/tune/store.h"

enum sw_tune_ended {
    SW_TUNE_THROUGH,   /* nothing is left to do */
    SW_TUNE_STOPPED,   /* a signal came, or the budget is spent */
    SW_TUNE_IMPOSSIBLE /* `reason` says why */
};

/* What is stored of the present sources is not measured again, unless asked for. A line on stdout
 * for each variant. `began`: of sw_tune_clock, what the budget counts from. */
enum sw_tune_ended sw_tune_measure(const struct sw_tune_plan *plan,
                                   const struct sw_tune_search_options *options,
                                   struct sw_tune_store *store, struct sw_tune_interrupt *interrupt,
                                   double began, struct sw_tune_reason *reason);

#endif
