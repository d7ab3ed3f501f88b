/* SPDX-License-Identifier: MIT
 *
 * score.h - one number for a variant: how much faster than base it is over all run-time workloads.
 */
#ifndef SHERWOOD_BENCH_TUNE_SCORE_H
#define SHERWOOD_BENCH_TUNE_SCORE_H

#include "bench/tune/space.h"

struct sw_tune_score {
    double score; /* weighted mean of the speed-ups */
    double min;
    double mean;
    double max;
    uint32_t points; /* compared */
};

/* The weight of a run-time workload: the product over its axes. Value k of n (from 1) weighs k on
 * an axis whose values are ordered by importance, 1 on any other. */
double sw_tune_point_weight(const struct sw_tune_space *space, uint32_t point);

/* Medians are numbered as points are; 0: not measured. A speed-up is base's median / the variant's.
 * Points that one of the two lacks do not count; false if none is left. */
bool sw_tune_score(const struct sw_tune_space *space, const double *base, const double *variant,
                   struct sw_tune_score *out);

#endif
