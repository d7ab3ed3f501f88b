/* SPDX-License-Identifier: MIT
 *
 * workload.h - which keys a run uses and what value each must have.
 *
 * Key number i of a run is mix((first + i) ^ seed), i of 0 .. keys-1: mix is invertible, so the
 * keys are distinct, and they are spread over the whole width. The value of a key is another mix of
 * the key and the seed. Both are pure functions, so any later run with the same --seed and --keys
 * can verify what an earlier one stored. Pure; any thread.
 */
#ifndef SHERWOOD_LOAD_WORKLOAD_H
#define SHERWOOD_LOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Formats of an element of an array of values. */
enum sw_load_values {
    SW_LOAD_VALUES_INTEGER, /* an integer of value_bytes */
    SW_LOAD_VALUES_STRING,  /* a length of 4 bytes, little-endian, then content_bytes bytes, then
                               zeros */
    SW_LOAD_VALUES_FIXED    /* value_bytes bytes */
};

struct sw_load_workload {
    uint64_t seed;
    uint64_t first;       /* number of the first key: runs of one seed may use different ranges */
    uint64_t keys;        /* number of keys; first + keys is at most 2^32 if key_bytes is 4 */
    uint32_t key_bytes;   /* 4 or 8 */
    uint32_t value_bytes; /* of an element; integers: 4 or 8; otherwise a multiple of 4 */
    enum sw_load_values format;
    uint32_t content_bytes; /* length of values that are bytes */
};

/* Returns the keys of table t of `tables`: each has the same number of them, one table after the
 * other. */
static inline struct sw_load_workload
sw_load_workload_of_table(const struct sw_load_workload *workload, uint32_t tables, uint32_t t)
{
    struct sw_load_workload own = *workload;
    own.keys /= tables;
    own.first += t * own.keys;
    return own;
}

uint64_t sw_load_key(const struct sw_load_workload *workload, uint64_t index);
/* Returns key number `index` of those that no run with this seed uses. They come from the end of
 * the width. */
uint64_t sw_load_absent_key(const struct sw_load_workload *workload, uint64_t index);
/* Returns the value of a key; for bytes, the first bytes of the value. */
uint64_t sw_load_value(const struct sw_load_workload *workload, uint64_t key);

/* Fills `keys` (elements of key_bytes) with the run's keys number first .. first+count-1. */
void sw_load_fill_keys(const struct sw_load_workload *workload, uint64_t first, size_t count,
                       void *keys);
/* Fills `keys` with random existing keys; *random is the generator's state. */
void sw_load_fill_random(const struct sw_load_workload *workload, uint64_t *random, size_t count,
                         void *keys);
/* Fills `values` (elements of value_bytes) with the values of `keys`. */
void sw_load_fill_values(const struct sw_load_workload *workload, const void *keys, size_t count,
                         void *values);
/* Returns how many of `values` are not the values of `keys`. */
size_t sw_load_count_wrong(const struct sw_load_workload *workload, const void *keys,
                           const void *values, size_t count);

/* Returns whether element i of `values` is the value of element i of `keys`. */
bool sw_load_is_right(const struct sw_load_workload *workload, const void *keys, const void *values,
                      size_t i);
/* Returns element i of an array of values, as messages show it. */
uint64_t sw_load_shown(const struct sw_load_workload *workload, const void *values, size_t i);

/* Returns element i of an array of elements of `bytes` bytes (4 or 8). */
static inline uint64_t sw_load_element(const void *array, uint32_t bytes, size_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

static inline void sw_load_put_element(void *array, uint32_t bytes, size_t i, uint64_t element)
{
    if (bytes == 4) {
        ((uint32_t *)array)[i] = (uint32_t)element;
    } else {
        ((uint64_t *)array)[i] = element;
    }
}

#endif
