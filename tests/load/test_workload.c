/* SPDX-License-Identifier: MIT
 *
 * test_workload.c - keys are a bijection, values a function of them, verification finds each fault.
 */
#include "bench/load/workload.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 300000
/* Not a multiple of any vector width. */
#define CHUNK 1021

static const struct sw_load_workload workloads[] = {
    {.seed = 1, .keys = KEYS, .key_bytes = 4, .value_bytes = 4},
    {.seed = 1, .keys = KEYS, .key_bytes = 8, .value_bytes = 8},
    {.seed = 0, .keys = KEYS, .key_bytes = 4, .value_bytes = 8},
    {.seed = UINT64_MAX, .keys = KEYS, .key_bytes = 8, .value_bytes = 4},
    {.seed = 1, .first = 1000 * KEYS, .keys = KEYS, .key_bytes = 4, .value_bytes = 4},
    {.seed = 7, .first = 1ULL << 33, .keys = KEYS, .key_bytes = 8, .value_bytes = 8},
};
#define WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t *sorted_keys(const struct sw_load_workload *workload)
{
    uint64_t *keys = malloc(KEYS * sizeof(*keys));
    cr_assert(keys);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = sw_load_key(workload, i);
    }
    qsort(keys, KEYS, sizeof(*keys), compare);
    return keys;
}

Test(workload, keys_are_distinct_and_fit_the_width)
{
    for (size_t w = 0; w < WORKLOADS; w++) {
        uint64_t *keys = sorted_keys(&workloads[w]);
        for (size_t i = 1; i < KEYS; i++) {
            cr_assert_neq(keys[i], keys[i - 1], "workload %zu: key %lu twice", w, keys[i]);
        }
        if (workloads[w].key_bytes == 4) {
            cr_assert_leq(keys[KEYS - 1], UINT32_MAX);
        } else {
            cr_assert_gt(keys[KEYS - 1], UINT64_MAX / 1000 * 999, "not spread over the width");
        }
        free(keys);
    }
}

Test(workload, another_seed_gives_other_keys_and_values)
{
    struct sw_load_workload one = workloads[1], two = workloads[1];
    two.seed = 2;
    size_t same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        same += sw_load_key(&one, i) == sw_load_key(&two, i);
        same += sw_load_value(&one, i) == sw_load_value(&two, i);
    }
    cr_assert_eq(same, 0);
}

/* The filling functions, which are written for speed, against the single ones. */
Test(workload, fills_agree_with_the_functions)
{
    uint64_t keys[CHUNK], values[CHUNK];
    for (size_t w = 0; w < WORKLOADS; w++) {
        const struct sw_load_workload *workload = &workloads[w];
        for (uint64_t first = 0; first < 5 * CHUNK; first += CHUNK) {
            sw_load_fill_keys(workload, first, CHUNK, keys);
            sw_load_fill_values(workload, keys, CHUNK, values);
            for (size_t i = 0; i < CHUNK; i++) {
                uint64_t key = sw_load_element(keys, workload->key_bytes, i);
                cr_assert_eq(key, sw_load_key(workload, first + i));
                cr_assert_eq(sw_load_element(values, workload->value_bytes, i),
                             sw_load_value(workload, key));
            }
            cr_assert_eq(sw_load_count_wrong(workload, keys, values, CHUNK), 0);
        }
    }
}

Test(workload, one_changed_bit_is_found_wherever_it_is)
{
    uint64_t keys[CHUNK], values[CHUNK];
    for (size_t w = 0; w < WORKLOADS; w++) {
        const struct sw_load_workload *workload = &workloads[w];
        sw_load_fill_keys(workload, 0, CHUNK, keys);
        sw_load_fill_values(workload, keys, CHUNK, values);
        uint8_t *bytes = (uint8_t *)values;
        for (size_t at = 0; at < CHUNK * workload->value_bytes; at++) {
            bytes[at] ^= (uint8_t)(1U << at % 8);
            cr_assert_eq(sw_load_count_wrong(workload, keys, values, CHUNK), 1,
                         "workload %zu, byte %zu", w, at);
            bytes[at] ^= (uint8_t)(1U << at % 8);
        }
    }
}

Test(workload, random_keys_are_existing_ones)
{
    for (size_t w = 0; w < WORKLOADS; w++) {
        uint64_t state = w, keys[CHUNK], *sorted = sorted_keys(&workloads[w]);
        size_t repeated = 0;
        uint64_t previous = 0;
        for (size_t round = 0; round < 20; round++) {
            sw_load_fill_random(&workloads[w], &state, CHUNK, keys);
            for (size_t i = 0; i < CHUNK; i++) {
                uint64_t key = sw_load_element(keys, workloads[w].key_bytes, i);
                cr_assert(bsearch(&key, sorted, KEYS, sizeof(key), compare));
                repeated += key == previous;
                previous = key;
            }
        }
        cr_assert_lt(repeated, 10, "the draws hardly change");
        free(sorted);
    }
}

Test(workload, a_single_key_is_always_drawn)
{
    struct sw_load_workload workload = workloads[0];
    uint64_t state = 7;
    uint32_t keys[CHUNK];
    workload.keys = 1;
    sw_load_fill_random(&workload, &state, CHUNK, keys);
    for (size_t i = 0; i < CHUNK; i++) {
        cr_assert_eq(keys[i], sw_load_key(&workload, 0));
    }
}

/* Runs of one seed whose numbers do not overlap share no key, and keys of misses belong to none. */
Test(workload, ranges_of_keys_are_disjoint)
{
    struct sw_load_workload low = {.seed = 9, .keys = 1000, .key_bytes = 4, .value_bytes = 4};
    struct sw_load_workload high = low;
    high.first = 1000;
    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert_eq(sw_load_key(&high, i), sw_load_key(&low, 1000 + i));
        for (uint64_t k = 0; k < 1000; k++) {
            cr_assert_neq(sw_load_key(&high, i), sw_load_key(&low, k));
            cr_assert_neq(sw_load_absent_key(&high, i), sw_load_key(&low, k));
            cr_assert_neq(sw_load_absent_key(&high, i), sw_load_key(&high, k));
        }
    }
}

/* Values that are bytes: the check sees every byte of an element, also its length and its padding.
 */
Test(workload, values_of_bytes)
{
#define SAMPLE(key, value, kind, content)                                    \
    {                                                                        \
        .seed = 1, .keys = KEYS, .key_bytes = (key), .value_bytes = (value), \
        .format = SW_LOAD_VALUES_##kind, .content_bytes = (content)          \
    }
    static const struct sw_load_workload samples[] = {
        SAMPLE(8, 64, STRING, 60), SAMPLE(4, 20, STRING, 13), SAMPLE(8, 8, FIXED, 8),
        SAMPLE(8, 12, FIXED, 12)};
    for (size_t w = 0; w < sizeof(samples) / sizeof(samples[0]); w++) {
        const struct sw_load_workload *workload = &samples[w];
        uint64_t keys[8] = {0};
        uint8_t values[8 * 64] = {0};
        sw_load_fill_keys(workload, 0, 8, keys);
        sw_load_fill_values(workload, keys, 8, values);
        cr_assert_eq(sw_load_count_wrong(workload, keys, values, 8), 0);
        for (size_t at = 0; at < 8 * (size_t)workload->value_bytes; at++) {
            values[at] ^= (uint8_t)(1U << at % 8);
            cr_assert_eq(sw_load_count_wrong(workload, keys, values, 8), 1, "%zu, byte %zu", w, at);
            cr_assert_not(sw_load_is_right(workload, keys, values, at / workload->value_bytes));
            values[at] ^= (uint8_t)(1U << at % 8);
        }
        uint32_t length = 0;
        memcpy(&length, values, sizeof(length));
        cr_assert(workload->format == SW_LOAD_VALUES_FIXED || length == workload->content_bytes);
        cr_assert_eq(sw_load_shown(workload, values, 1),
                     sw_load_value(workload, sw_load_element(keys, workload->key_bytes, 1)));
        cr_assert_neq(sw_load_shown(workload, values, 1), sw_load_shown(workload, values, 2));
    }
}
