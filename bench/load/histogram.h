/* SPDX-License-Identifier: MIT
 *
 * histogram.h - counts of unsigned values in log-linear buckets: fixed memory, three digits.
 *
 * Values below 2048 have a bucket each. Above, every power of two is cut into 1024 equal buckets,
 * so a bucket [low, high] has (high - low) / low < 1/1024: a percentile is at most 0.1 % above the
 * true one and never below it. All of uint64_t is covered: nothing is clamped.
 *
 *     2048 + 53 powers * 1024 buckets * 8 bytes = 450,560 bytes a histogram
 *
 * Plain storage, no pointers: zero bytes are an empty histogram. One thread at a time; merge the
 * histograms of several threads once they have ended.
 */
#ifndef SHERWOOD_LOAD_HISTOGRAM_H
#define SHERWOOD_LOAD_HISTOGRAM_H

#include <stdint.h>

#define SW_LOAD_HISTOGRAM_BITS 10 /* buckets a power of two: 2^10 */
#define SW_LOAD_HISTOGRAM_LINEAR (2U << SW_LOAD_HISTOGRAM_BITS)
#define SW_LOAD_HISTOGRAM_BUCKETS \
    (SW_LOAD_HISTOGRAM_LINEAR + (63U - SW_LOAD_HISTOGRAM_BITS) * (1U << SW_LOAD_HISTOGRAM_BITS))

/* The bucket of a value, and its upper end, with 2^bits buckets a power of two: a value of more
 * than bits + 1 digits keeps its leading ones. */
static inline uint32_t sw_load_bucket(uint64_t value, uint32_t bits)
{
    if (value < 2ULL << bits) {
        return (uint32_t)value;
    }
    uint32_t shift = 63U - (uint32_t)__builtin_clzll(value) - bits;
    return (shift << bits) + (uint32_t)(value >> shift);
}

static inline uint64_t sw_load_bucket_high(uint32_t bucket, uint32_t bits)
{
    uint32_t shift = bucket < 2U << bits ? 0 : (bucket >> bits) - 1;
    uint64_t mantissa = bucket - ((uint64_t)shift << bits);
    return ((mantissa + 1) << shift) - 1;
}

struct sw_load_histogram {
    uint64_t count;
    uint64_t sum; /* modulo 2^64: 584 years of nanoseconds */
    uint64_t min; /* meaningless while count is 0 */
    uint64_t max;
    uint64_t buckets[SW_LOAD_HISTOGRAM_BUCKETS];
};

void sw_load_histogram_reset(struct sw_load_histogram *histogram);
void sw_load_histogram_record(struct sw_load_histogram *histogram, uint64_t value);
/* Adds `other` to `histogram`. Associative and commutative. */
void sw_load_histogram_merge(struct sw_load_histogram *histogram,
                             const struct sw_load_histogram *other);

/* The value at or below which `percent` (0..100) of the recorded values lie: the one of rank
 * max(1, ceil(percent / 100 * count)), given as the upper end of its bucket, at most the maximum.
 * 0 if nothing was recorded. */
uint64_t sw_load_histogram_percentile(const struct sw_load_histogram *histogram, double percent);
/* 0 if nothing was recorded. */
double sw_load_histogram_mean(const struct sw_load_histogram *histogram);

#endif
