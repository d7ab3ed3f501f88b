/* SPDX-License-Identifier: MIT
 *
 * histogram.c - log-linear histogram (see histogram.h).
 */
#include "bench/load/histogram.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define BITS SW_LOAD_HISTOGRAM_BITS

static_assert(sizeof(struct sw_load_histogram) == 32 + 8 * (2048 + 53 * 1024), "as documented");

void sw_load_histogram_reset(struct sw_load_histogram *histogram)
{
    memset(histogram, 0, sizeof(*histogram));
}

void sw_load_histogram_record(struct sw_load_histogram *histogram, uint64_t value)
{
    if (histogram->count == 0 || value < histogram->min) {
        histogram->min = value;
    }
    if (value > histogram->max) {
        histogram->max = value;
    }
    histogram->count++;
    histogram->sum += value;
    histogram->buckets[sw_load_bucket(value, BITS)]++;
}

void sw_load_histogram_merge(struct sw_load_histogram *histogram,
                             const struct sw_load_histogram *other)
{
    if (other->count == 0) {
        return;
    }
    if (histogram->count == 0 || other->min < histogram->min) {
        histogram->min = other->min;
    }
    if (other->max > histogram->max) {
        histogram->max = other->max;
    }
    histogram->count += other->count;
    histogram->sum += other->sum;
    for (uint32_t i = 0; i < SW_LOAD_HISTOGRAM_BUCKETS; i++) {
        histogram->buckets[i] += other->buckets[i];
    }
}

uint64_t sw_load_histogram_percentile(const struct sw_load_histogram *histogram, double percent)
{
    if (histogram->count == 0) {
        return 0;
    }
    double rank_exact = ceil(percent / 100.0 * (double)histogram->count);
    uint64_t rank = rank_exact < 1.0 ? 1 : (uint64_t)rank_exact;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < SW_LOAD_HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            uint64_t high = sw_load_bucket_high(i, BITS);
            return high < histogram->max ? high : histogram->max;
        }
    }
    return histogram->max;
}

double sw_load_histogram_mean(const struct sw_load_histogram *histogram)
{
    return histogram->count == 0 ? 0.0 : (double)histogram->sum / (double)histogram->count;
}
