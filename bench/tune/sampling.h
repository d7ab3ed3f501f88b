/* SPDX-License-Identifier: MIT
 *
 * sampling.h - how often a point is timed, and the median of its times.
 */
#ifndef SHERWOOD_BENCH_TUNE_SAMPLING_H
#define SHERWOOD_BENCH_TUNE_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#define SW_TUNE_SAMPLES_MAX 4096

/* When a point has been timed often enough. */
struct sw_tune_stop_rule {
    uint32_t samples_min;
    double interval_max; /* half the width of the median's interval, as a part of the median */
    double seconds_max;  /* of timing one point */
};

struct sw_tune_samples {
    double seconds[SW_TUNE_SAMPLES_MAX];
    uint32_t count;
};

struct sw_tune_summary {
    double median;
    double low; /* the median lies in [low, high] with a confidence of 95 % */
    double high;
    uint32_t count;
    double bytes; /* of a pass; 0: the program does not say */
};

/* At least one sample. Sorts them. The interval is that of order statistics: nothing is assumed of
 * how times are spread. Fewer than 6 samples have no such interval; theirs is from the least to the
 * greatest. */
void sw_tune_summarize(struct sw_tune_samples *samples, struct sw_tune_summary *out);

/* Whether the times so far will do. */
bool sw_tune_is_enough(const struct sw_tune_stop_rule *rule, const struct sw_tune_summary *summary,
                       double seconds_spent);

/* How many samples to ask for next: as many as there are, within limits. */
uint32_t sw_tune_next_samples(const struct sw_tune_stop_rule *rule,
                              const struct sw_tune_samples *samples, double seconds_spent);

#endif
