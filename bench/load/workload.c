/* SPDX-License-Identifier: MIT
 *
 * workload.c - keys and values as pure functions (see workload.h).
 *
 * mix64 is that of random.h, mix32 the "lowbias32" finalizer: xor-shifts and odd multiplications,
 * each invertible.
 */
#include "bench/load/workload.h"

#include "bench/load/limits.h"
#include "bench/load/random.h"
#include "bench/load/value_bytes.h"

/* Wide multiplications are faster on machines that have them. The start-up code of the sanitizers
 * cannot run the function that selects the version. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FAST \
    __attribute__((target_clones("arch=skylake-avx512", "avx2", "default"), optimize("O3")))
#else
#define FAST
#endif

#define VALUE_SALT 0x5bd1e9955bd1e995ULL

static inline uint32_t mix32(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352dU;
    x = (x ^ (x >> 15)) * 0x846ca68bU;
    return x ^ (x >> 16);
}

static inline uint64_t key_salt(const struct sw_load_workload *workload)
{
    return sw_load_mix64(workload->seed);
}

static inline uint64_t value_salt(const struct sw_load_workload *workload)
{
    return sw_load_mix64(workload->seed ^ VALUE_SALT);
}

/* Returns the key with this number, among all keys of the width. */
static uint64_t key_of_number(const struct sw_load_workload *workload, uint64_t number)
{
    uint64_t salted = number ^ key_salt(workload);
    return workload->key_bytes == 4 ? mix32((uint32_t)salted) : sw_load_mix64(salted);
}

uint64_t sw_load_key(const struct sw_load_workload *workload, uint64_t index)
{
    return key_of_number(workload, workload->first + index);
}

uint64_t sw_load_absent_key(const struct sw_load_workload *workload, uint64_t index)
{
    return key_of_number(workload, ~(workload->first + index));
}

uint64_t sw_load_value(const struct sw_load_workload *workload, uint64_t key)
{
    uint64_t salted = key ^ value_salt(workload);
    if (workload->format != SW_LOAD_VALUES_INTEGER) {
        char element[SW_LOAD_VALUE_BYTES_MAX];
        sw_load_bytes_put(workload, sw_load_mix64(salted), element);
        return sw_load_bytes_shown(workload, element);
    }
    return workload->value_bytes == 4 ? mix32((uint32_t)(salted ^ salted >> 32))
                                      : sw_load_mix64(salted);
}

FAST static void fill_keys_32(uint32_t salt, uint32_t first, size_t count, uint32_t *keys)
{
    for (size_t i = 0; i < count; i++) {
        keys[i] = mix32((first + (uint32_t)i) ^ salt);
    }
}

FAST static void fill_keys_64(uint64_t salt, uint64_t first, size_t count, uint64_t *keys)
{
    for (size_t i = 0; i < count; i++) {
        keys[i] = sw_load_mix64((first + i) ^ salt);
    }
}

void sw_load_fill_keys(const struct sw_load_workload *workload, uint64_t first, size_t count,
                       void *keys)
{
    first += workload->first;
    if (workload->key_bytes == 4) {
        fill_keys_32((uint32_t)key_salt(workload), (uint32_t)first, count, keys);
    } else {
        fill_keys_64(key_salt(workload), first, count, keys);
    }
}

/* The i-th draw is sw_load_mix64(state + i * odd): splitmix64, whose draws do not depend on each
 * other. */
void sw_load_fill_random(const struct sw_load_workload *workload, uint64_t *random, size_t count,
                         void *keys)
{
    const uint64_t salt = key_salt(workload), population = workload->keys, first = workload->first;
    uint64_t state = *random;
    if (workload->key_bytes == 4) {
        uint32_t *out = keys;
        for (size_t i = 0; i < count; i++) {
            state += SW_LOAD_RANDOM_STEP;
            out[i] =
                mix32((uint32_t)((first + sw_load_scale(sw_load_mix64(state), population)) ^ salt));
        }
    } else {
        uint64_t *out = keys;
        for (size_t i = 0; i < count; i++) {
            state += SW_LOAD_RANDOM_STEP;
            out[i] =
                sw_load_mix64((first + sw_load_scale(sw_load_mix64(state), population)) ^ salt);
        }
    }
    *random = state;
}

FAST static void fill_values_32(uint32_t salt, const uint32_t *keys, size_t count, uint32_t *values)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = mix32(keys[i] ^ salt);
    }
}

FAST static void fill_values_64(uint64_t salt, const uint64_t *keys, size_t count, uint64_t *values)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = sw_load_mix64(keys[i] ^ salt);
    }
}

/* Computes `salted ^ salted >> 32` for a 32-bit key. */
static uint32_t value_salt_32(const struct sw_load_workload *workload)
{
    uint64_t salt = value_salt(workload);
    return (uint32_t)(salt ^ salt >> 32);
}

void sw_load_fill_values(const struct sw_load_workload *workload, const void *keys, size_t count,
                         void *values)
{
    if (workload->format != SW_LOAD_VALUES_INTEGER) {
        for (size_t i = 0; i < count; i++) {
            uint64_t key = sw_load_element(keys, workload->key_bytes, i);
            sw_load_bytes_put(workload, sw_load_mix64(key ^ value_salt(workload)),
                              (char *)values + i * workload->value_bytes);
        }
    } else if (workload->key_bytes == 4 && workload->value_bytes == 4) {
        fill_values_32(value_salt_32(workload), keys, count, values);
    } else if (workload->key_bytes == 8 && workload->value_bytes == 8) {
        fill_values_64(value_salt(workload), keys, count, values);
    } else {
        for (size_t i = 0; i < count; i++) {
            uint64_t key = sw_load_element(keys, workload->key_bytes, i);
            uint64_t value = sw_load_value(workload, key);
            if (workload->value_bytes == 4) {
                ((uint32_t *)values)[i] = (uint32_t)value;
            } else {
                ((uint64_t *)values)[i] = value;
            }
        }
    }
}

FAST static size_t count_wrong_32(uint32_t salt, const uint32_t *keys, const uint32_t *values,
                                  size_t count)
{
    uint32_t differences = 0;
    for (size_t i = 0; i < count; i++) {
        differences += mix32(keys[i] ^ salt) != values[i];
    }
    return differences;
}

FAST static size_t count_wrong_64(uint64_t salt, const uint64_t *keys, const uint64_t *values,
                                  size_t count)
{
    uint64_t differences = 0;
    for (size_t i = 0; i < count; i++) {
        differences += sw_load_mix64(keys[i] ^ salt) != values[i];
    }
    return differences;
}

bool sw_load_is_right(const struct sw_load_workload *workload, const void *keys, const void *values,
                      size_t i)
{
    uint64_t key = sw_load_element(keys, workload->key_bytes, i);
    if (workload->format != SW_LOAD_VALUES_INTEGER) {
        return sw_load_bytes_are(workload, sw_load_mix64(key ^ value_salt(workload)),
                                 (const char *)values + i * workload->value_bytes);
    }
    return sw_load_value(workload, key) == sw_load_element(values, workload->value_bytes, i);
}

uint64_t sw_load_shown(const struct sw_load_workload *workload, const void *values, size_t i)
{
    if (workload->format != SW_LOAD_VALUES_INTEGER) {
        return sw_load_bytes_shown(workload, (const char *)values + i * workload->value_bytes);
    }
    return sw_load_element(values, workload->value_bytes, i);
}

size_t sw_load_count_wrong(const struct sw_load_workload *workload, const void *keys,
                           const void *values, size_t count)
{
    const bool is_integer = workload->format == SW_LOAD_VALUES_INTEGER;
    if (is_integer && workload->key_bytes == 4 && workload->value_bytes == 4) {
        return count_wrong_32(value_salt_32(workload), keys, values, count);
    }
    if (is_integer && workload->key_bytes == 8 && workload->value_bytes == 8) {
        return count_wrong_64(value_salt(workload), keys, values, count);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        wrong += !sw_load_is_right(workload, keys, values, i);
    }
    return wrong;
}
