/* SPDX-License-Identifier: MIT
 *
 * test_tune_sampling.c - medians, their intervals, when to stop; weights and scores.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/tune/results.h"
#include "bench/tune/sampling.h"
#include "tests/support/random.h"

static struct sw_tune_summary summarize(struct sw_tune_samples *samples, const double *values,
                                        uint32_t count)
{
    struct sw_tune_summary summary;
    memcpy(samples->seconds, values, count * sizeof(values[0]));
    samples->count = count;
    sw_tune_summarize(samples, &summary);
    return summary;
}

Test(tune_sampling, medians)
{
    static struct sw_tune_samples samples;
    const double odd[] = {3, 1, 2};
    const double even[] = {4, 1, 3, 2};
    struct sw_tune_summary summary = summarize(&samples, odd, 3);
    cr_expect_eq(summary.median, 2);
    cr_expect_eq(summary.low, 1);
    cr_expect_eq(summary.high, 3);
    summary = summarize(&samples, even, 4);
    cr_expect_eq(summary.median, 2.5);
    summary = summarize(&samples, even, 1);
    cr_expect_eq(summary.median, 4);
    cr_expect_eq(summary.low, 4);
    cr_expect_eq(summary.high, 4);
}

/* The interval has the true median nearly always: 95 % of 2000 draws, less 5 deviations. */
Test(tune_sampling, intervals_hold_the_median)
{
    static struct sw_tune_samples samples;
    struct random random = {20};
    printf("seed %llu\n", (unsigned long long)random.state);
    for (uint32_t n = 10; n <= 160; n *= 2) {
        uint32_t held = 0;
        for (uint32_t round = 0; round < 2000; round++) {
            double values[160];
            for (uint32_t i = 0; i < n; i++) { /* skewed, of median ln 2 */
                values[i] = -log(1 - (double)(random_next(&random) >> 11) / 9007199254740992.0);
            }
            struct sw_tune_summary summary = summarize(&samples, values, n);
            cr_assert(summary.low <= summary.median && summary.median <= summary.high);
            held += summary.low <= log(2) && log(2) <= summary.high;
        }
        cr_expect_geq(held, 1850, "%u samples: %u of 2000", n, held);
        cr_expect_leq(held, 1999, "%u samples: the interval says nothing", n);
    }
}

Test(tune_sampling, stop_rule)
{
    const struct sw_tune_stop_rule rule = {
        .samples_min = 10, .interval_max = 0.01, .seconds_max = 2};
    static struct sw_tune_samples samples;
    struct sw_tune_summary tight = {.median = 1, .low = 0.995, .high = 1.005, .count = 10};
    struct sw_tune_summary wide = {.median = 1, .low = 0.98, .high = 1.02, .count = 10};
    struct sw_tune_summary few = {.median = 1, .low = 1, .high = 1, .count = 9};
    cr_expect(sw_tune_is_enough(&rule, &tight, 0.1));
    cr_expect_not(sw_tune_is_enough(&rule, &wide, 0.1));
    cr_expect(sw_tune_is_enough(&rule, &wide, 2.0));
    cr_expect_not(sw_tune_is_enough(&rule, &few, 0.1));
    wide.count = SW_TUNE_SAMPLES_MAX;
    cr_expect(sw_tune_is_enough(&rule, &wide, 0.1));
    cr_expect_eq(sw_tune_next_samples(&rule, &samples, 0), 1);
    samples.count = 1;
    cr_expect_eq(sw_tune_next_samples(&rule, &samples, 0.001), 9);
    cr_expect_eq(sw_tune_next_samples(&rule, &samples, 0.5), 3); /* no time for more */
    cr_expect_eq(sw_tune_next_samples(&rule, &samples, 1.9), 1);
    samples.count = 40;
    cr_expect_eq(sw_tune_next_samples(&rule, &samples, 0.001), 40);
    samples.count = SW_TUNE_SAMPLES_MAX - 1;
    cr_expect_eq(sw_tune_next_samples(&rule, &samples, 0.001), 1);
}

static void make_space(struct sw_tune_space *space)
{
    memset(space, 0, sizeof(*space));
    space->axis_count = 3;
    space->axes[0] = (struct sw_tune_axis){"Slot", SW_TUNE_COMPILED, {"64", "128"}, 2};
    space->axes[1] = (struct sw_tune_axis){"Load", SW_TUNE_RUN, {"0.5", "0.9"}, 2};
    space->axes[2] = (struct sw_tune_axis){"Batch", SW_TUNE_ORDERED, {"1", "2", "3"}, 3};
}

Test(tune_sampling, weights)
{
    static struct sw_tune_space space;
    make_space(&space);
    for (uint32_t p = 0; p < 6; p++) {
        cr_expect_eq(sw_tune_point_weight(&space, p), p % 3 + 1);
    }
}

Test(tune_sampling, scores)
{
    static struct sw_tune_space space;
    struct sw_tune_score score;
    const double base[6] = {1, 2, 3, 4, 5, 6};
    const double same[6] = {1, 2, 3, 4, 5, 6};
    const double twice[6] = {0.5, 1, 1.5, 2, 2.5, 3};
    const double last[6] = {1, 2, 1.5, 4, 5, 6}; /* twice as fast at Load=0.5 Batch=3 */
    const double holes[6] = {0, 0, 1.5, 0, 0, 12};
    const double none[6] = {0};
    make_space(&space);
    cr_assert(sw_tune_score(&space, base, same, &score));
    cr_expect_float_eq(score.score, 1, 1e-12);
    cr_assert(sw_tune_score(&space, base, twice, &score));
    cr_expect_float_eq(score.score, 2, 1e-12);
    cr_assert(sw_tune_score(&space, base, last, &score));
    cr_expect_float_eq(score.score, (1 + 2 + 3 * 2 + 1 + 2 + 3) / 12.0, 1e-12);
    cr_expect_float_eq(score.mean, 7 / 6.0, 1e-12);
    cr_expect_float_eq(score.min, 1, 1e-12);
    cr_expect_float_eq(score.max, 2, 1e-12);
    cr_expect_eq(score.points, 6);
    cr_assert(sw_tune_score(&space, base, holes, &score));
    cr_expect_eq(score.points, 2);
    cr_expect_float_eq(score.score, (3 * 2 + 3 * 0.5) / 6, 1e-12);
    cr_expect_float_eq(score.min, 0.5, 1e-12);
    cr_expect_not(sw_tune_score(&space, base, none, &score));
}
