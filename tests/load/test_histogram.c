/* SPDX-License-Identifier: MIT
 *
 * test_histogram.c - the log-linear histogram against sorted arrays.
 */
#include "bench/load/histogram.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VALUES_MAX 20000

static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

static uint64_t seed(const char *test)
{
    const char *given = getenv("SHERWOOD_TEST_SEED");
    uint64_t value = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    fprintf(stderr, "%s: SHERWOOD_TEST_SEED=%llu\n", test, (unsigned long long)value);
    return value;
}

static struct sw_load_histogram *create(void)
{
    struct sw_load_histogram *histogram = calloc(1, sizeof(*histogram));
    cr_assert(histogram);
    return histogram;
}

/* Values of every magnitude: a random number of leading zeros. */
static uint64_t any_magnitude(uint64_t *state)
{
    uint64_t shift = draw(state) % 64;
    return draw(state) >> shift;
}

/* Latencies as they come: around one size, with a tail. */
static uint64_t like_latency(uint64_t *state)
{
    uint64_t tail = draw(state) % 100 == 0 ? 50 : 1;
    return (20000 + draw(state) % 15000) * tail;
}

static uint64_t all_equal(uint64_t *state)
{
    (void)state;
    return 1234567;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(histogram, every_bucket_is_where_it_says)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < SW_LOAD_HISTOGRAM_BUCKETS; i++) {
        uint64_t high = sw_load_bucket_high(i, SW_LOAD_HISTOGRAM_BITS);
        uint64_t low = next; /* where the bucket before it ends */
        cr_assert_geq(high, low);
        cr_assert_eq(sw_load_bucket(low, SW_LOAD_HISTOGRAM_BITS), i);
        cr_assert_eq(sw_load_bucket(high, SW_LOAD_HISTOGRAM_BITS), i);
        cr_assert_leq((high - low) * 1024, low, "bucket %u is wider than 1/1024", i);
        next = high + 1;
    }
    cr_assert_eq(next, 0, "the last bucket ends at UINT64_MAX");
}

Test(histogram, empty)
{
    struct sw_load_histogram *histogram = create();
    cr_assert_eq(sw_load_histogram_percentile(histogram, 50), 0);
    cr_assert_eq(sw_load_histogram_percentile(histogram, 100), 0);
    cr_assert_float_eq(sw_load_histogram_mean(histogram), 0.0, 0.0);
    free(histogram);
}

Test(histogram, extremes)
{
    struct sw_load_histogram *histogram = create();
    sw_load_histogram_record(histogram, UINT64_MAX);
    sw_load_histogram_record(histogram, 0);
    cr_assert_eq(histogram->min, 0);
    cr_assert_eq(histogram->max, UINT64_MAX);
    cr_assert_eq(sw_load_histogram_percentile(histogram, 0), 0);
    cr_assert_eq(sw_load_histogram_percentile(histogram, 50), 0);
    cr_assert_eq(sw_load_histogram_percentile(histogram, 51), UINT64_MAX);
    sw_load_histogram_reset(histogram);
    cr_assert_eq(histogram->count, 0);
    cr_assert_eq(sw_load_histogram_percentile(histogram, 50), 0);
    free(histogram);
}

static void check_against_sorted(uint64_t (*next)(uint64_t *), size_t count, uint64_t *state)
{
    static const double percents[] = {0,  0.01, 1,  10,   25,    50,     75,
                                      90, 95,   99, 99.9, 99.99, 99.999, 100};
    struct sw_load_histogram *histogram = create();
    uint64_t *values = malloc(count * sizeof(*values));
    long double sum = 0;
    cr_assert(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = next(state) >> 8; /* so that the sum of all fits */
        sum += values[i];
        sw_load_histogram_record(histogram, values[i]);
    }
    qsort(values, count, sizeof(*values), compare);
    cr_assert_eq(histogram->count, count);
    cr_assert_eq(histogram->min, values[0]);
    cr_assert_eq(histogram->max, values[count - 1]);
    if (sum < 0x1p63L) {
        cr_assert_eq(histogram->sum, (uint64_t)sum);
    }
    for (size_t p = 0; p < sizeof(percents) / sizeof(percents[0]); p++) {
        double rank = ceil(percents[p] / 100.0 * (double)count);
        uint64_t exact = values[rank < 1 ? 0 : (size_t)rank - 1];
        uint64_t told = sw_load_histogram_percentile(histogram, percents[p]);
        cr_assert_geq(told, exact, "p%g of %zu: %lu is below %lu", percents[p], count, told, exact);
        cr_assert_leq(told - exact, exact / 1024, "p%g of %zu: %lu, not %lu", percents[p], count,
                      told, exact);
    }
    free(values);
    free(histogram);
}

Test(histogram, percentiles_against_sorted_arrays)
{
    static const size_t counts[] = {1, 2, 3, 10, 99, 100, 101, 1000, VALUES_MAX};
    uint64_t state = seed("percentiles_against_sorted_arrays");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        check_against_sorted(any_magnitude, counts[i], &state);
        check_against_sorted(like_latency, counts[i], &state);
        check_against_sorted(all_equal, counts[i], &state);
    }
}

/* (a + b) + c, a + (b + c), c + b + a and one histogram of everything are the same bytes. */
Test(histogram, merge_is_associative_and_loses_nothing)
{
    uint64_t state = seed("merge_is_associative_and_loses_nothing");
    struct sw_load_histogram *part[3], *all = create(), *left = create(), *right = create(),
                                       *back = create(), *inner = create();
    for (int p = 0; p < 3; p++) {
        part[p] = create();
        size_t count = p == 1 ? 0 : draw(&state) % VALUES_MAX + 1; /* one of them is empty */
        for (size_t i = 0; i < count; i++) {
            uint64_t value = any_magnitude(&state);
            sw_load_histogram_record(part[p], value);
            sw_load_histogram_record(all, value);
        }
    }
    sw_load_histogram_merge(left, part[0]);
    sw_load_histogram_merge(left, part[1]);
    sw_load_histogram_merge(left, part[2]);
    sw_load_histogram_merge(inner, part[1]);
    sw_load_histogram_merge(inner, part[2]);
    sw_load_histogram_merge(right, part[0]);
    sw_load_histogram_merge(right, inner);
    for (int p = 3; p-- > 0;) {
        sw_load_histogram_merge(back, part[p]);
    }
    cr_assert(memcmp(left, all, sizeof(*all)) == 0, "(a + b) + c is not all");
    cr_assert(memcmp(right, all, sizeof(*all)) == 0, "a + (b + c) is not all");
    cr_assert(memcmp(back, all, sizeof(*all)) == 0, "c + b + a is not all");
    for (int p = 0; p < 3; p++) {
        free(part[p]);
    }
    free(all);
    free(left);
    free(right);
    free(back);
    free(inner);
}
