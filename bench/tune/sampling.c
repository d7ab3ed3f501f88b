/* SPDX-License-Identifier: MIT
 *
 * sampling.c - medians with intervals, and when to stop.
 */
#include "bench/tune/sampling.h"

#include <math.h>
#include <stdlib.h>

/* Two-sided, 95 %, of a normal distribution. */
#define Z_95 1.96
#define ASKED_MAX 256

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void sw_tune_summarize(struct sw_tune_samples *samples, struct sw_tune_summary *out)
{
    uint32_t n = samples->count;
    const double *sorted = samples->seconds;
    qsort(samples->seconds, n, sizeof(samples->seconds[0]), compare);
    /* the number of samples below the median is binomial; here by its normal limit */
    double spread = Z_95 * sqrt((double)n) / 2;
    double first = floor((double)n / 2 - spread);
    double last = ceil((double)n / 2 + spread);
    out->count = n;
    out->median = n % 2 != 0 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    out->low = sorted[first >= 1 ? (uint32_t)first - 1 : 0];
    out->high = sorted[last < n ? (uint32_t)last : n - 1];
}

bool sw_tune_is_enough(const struct sw_tune_stop_rule *rule, const struct sw_tune_summary *summary,
                       double seconds_spent)
{
    if (summary->count == SW_TUNE_SAMPLES_MAX || seconds_spent >= rule->seconds_max) {
        return true;
    }
    return summary->count >= rule->samples_min &&
           (summary->high - summary->low) / 2 <= rule->interval_max * summary->median;
}

uint32_t sw_tune_next_samples(const struct sw_tune_stop_rule *rule,
                              const struct sw_tune_samples *samples, double seconds_spent)
{
    uint32_t count = samples->count;
    if (count == 0) { /* one may take long */
        return 1;
    }
    double each = seconds_spent / count;
    double room = (rule->seconds_max - seconds_spent) / (each > 1e-9 ? each : 1e-9);
    uint32_t wanted = count < rule->samples_min ? rule->samples_min - count : count;
    wanted = wanted < ASKED_MAX ? wanted : ASKED_MAX;
    wanted = room < wanted ? (uint32_t)room : wanted;
    wanted = wanted < SW_TUNE_SAMPLES_MAX - count ? wanted : SW_TUNE_SAMPLES_MAX - count;
    return wanted > 0 ? wanted : 1;
}
