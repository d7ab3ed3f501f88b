/* SPDX-License-Identifier: MIT
 *
 * sherwood_sides.c - lets two tables take turns.
 */
#include "bench/timing/sherwood_sides.h"

static bool measure(const struct sw_timing_turns *turns, struct sw_timing_side *sides,
                    uint32_t configuration)
{
    uint64_t batch = sides[0].study.options->delete_batches[configuration];
    batch = batch < sides[0].study.distinct / 2 ? batch : sides[0].study.distinct / 2;
    for (int s = 0; s < SW_TIMING_SIDES; s++) {
        for (int step = 0; step < SW_TIMING_STEPS; step++) {
            sw_timing_study_begin(&sides[s].study, &sides[s].series[step],
                                  turns->operations[s][step], batch);
        }
    }
    const uint32_t rounds = sides[0].study.options->reps + 1; /* the first warms up */
    for (uint32_t round = 0; round < rounds; round++) {
        for (int s = 0; s < SW_TIMING_SIDES; s++) {
            if (!turns->take(&sides[s], configuration, batch)) {
                return false;
            }
        }
    }
    for (int s = 0; s < SW_TIMING_SIDES; s++) {
        for (int step = 0; step < SW_TIMING_STEPS; step++) {
            sw_timing_study_end(&sides[s].study, &sides[s].series[step]);
        }
    }
    return true;
}

bool sw_timing_take_turns(const struct sw_timing_turns *turns, struct sw_timing_study *study,
                          struct sw_timing_side *sides, bool is_open)
{
    const struct sw_timing_options *options = study->options;
    bool done = is_open;
    for (uint32_t l = 0; l < options->loads_count && done; l++) {
        if (options->loads[l] > turns->load_max) {
            continue;
        }
        for (int s = 0; s < SW_TIMING_SIDES && done; s++) {
            done = turns->fill(&sides[s], l);
        }
        for (uint32_t d = 0; d < options->delete_batches_count && done; d++) {
            done = measure(turns, sides, d);
        }
    }
    for (int s = 0; s < SW_TIMING_SIDES; s++) {
        sw_timing_sherwood_close_side(study, &sides[s].study);
    }
    return done;
}
