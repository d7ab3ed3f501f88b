/* SPDX-License-Identifier: MIT
 *
 * sherwood_sides.h - two tables with the same keys that take turns at the same steps.
 */
#ifndef SHERWOOD_BENCH_TIMING_SHERWOOD_SIDES_H
#define SHERWOOD_BENCH_TIMING_SHERWOOD_SIDES_H

#include "bench/timing/measure.h"
#include "bench/timing/sherwood.h"

enum { SW_TIMING_SIDES = 2, SW_TIMING_STEPS = 3 };

struct sw_timing_side {
    struct sw_timing_study study; /* shares the arrays */
    struct sw_timing_series series[SW_TIMING_STEPS];
};

struct sw_timing_turns {
    const char *operations[SW_TIMING_SIDES][SW_TIMING_STEPS];
    double load_max; /* larger loads are left out */
    /* Fills the table of a side for a load. */
    bool (*fill)(struct sw_timing_side *side, uint32_t load_index);
    /* Takes the side's steps once, with a batch of this size, and their repetitions. */
    bool (*take)(struct sw_timing_side *side, uint32_t configuration, uint64_t batch);
};

/* Measures the steps of both sides, in turn, at each load and each size of the deletes. Then closes
 * both sides. `is_open`: both sides are open; otherwise it only closes them. */
bool sw_timing_take_turns(const struct sw_timing_turns *turns, struct sw_timing_study *study,
                          struct sw_timing_side *sides, bool is_open);

#endif
