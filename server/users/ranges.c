/* SPDX-License-Identifier: MIT
 *
 * ranges.c - ranges of keys.
 */
#include "server/users/ranges.h"

#include <string.h>

#include "proto/decimal.h"

/* Keys of a block. The keys and their marks fit into the L1 cache. */
#define BLOCK_KEYS 512

bool sw_ranges_add(struct sw_ranges *ranges, uint64_t first, uint64_t last)
{
    struct sw_ranges out = {0};
    bool is_in = false;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const struct sw_range *old = &ranges->at[i];
        bool before = old->last < first && old->last + 1 < first;
        bool behind = old->first > last && old->first - 1 > last;
        if (!before && !behind) { /* they overlap or touch: join them */
            first = old->first < first ? old->first : first;
            last = old->last > last ? old->last : last;
            continue;
        }
        if (behind && !is_in) {
            if (out.count == SW_RANGES_MAX) {
                return false;
            }
            out.at[out.count++] = (struct sw_range){first, last};
            is_in = true;
        }
        if (out.count == SW_RANGES_MAX) {
            return false;
        }
        out.at[out.count++] = *old;
    }
    if (!is_in) {
        if (out.count == SW_RANGES_MAX) {
            return false;
        }
        out.at[out.count++] = (struct sw_range){first, last};
    }
    *ranges = out;
    return true;
}

bool sw_range_parse(const char *text, size_t size, struct sw_range *out)
{
    const char *dash = size > 0 ? memchr(text, '-', size) : NULL;
    size_t head = dash == NULL ? size : (size_t)(dash - text);
    if (!sw_decimal_parse((const uint8_t *)text, head, UINT64_MAX, &out->first)) {
        return false;
    }
    out->last = out->first;
    return dash == NULL ||
           (sw_decimal_parse((const uint8_t *)dash + 1, size - head - 1, UINT64_MAX, &out->last) &&
            out->first <= out->last);
}

/* A key lies in a range if its distance from the first one is no more than that of the last one:
 * one subtraction and one comparison without a branch, for keys of each width. If there is only one
 * range, as for most users, the keys are read in place. No range of a width begins behind its
 * largest key: those are left out. */
#define HOLDS(bits)                                                                            \
    static bool one_holds_##bits(const struct sw_range *range, const uint8_t *bytes,           \
                                 uint64_t count)                                               \
    {                                                                                          \
        const uint##bits##_t first = (uint##bits##_t)range->first;                             \
        const uint64_t last = range->last < UINT##bits##_MAX ? range->last : UINT##bits##_MAX; \
        const uint##bits##_t length = (uint##bits##_t)(last - range->first);                   \
        uint##bits##_t outside = 0;                                                            \
        for (uint64_t i = 0; i < count; i++) {                                                 \
            uint##bits##_t key;                                                                \
            memcpy(&key, bytes + i * sizeof(key), sizeof(key));                                \
            outside |= (uint##bits##_t)(key - first) > length;                                 \
        }                                                                                      \
        return outside == 0;                                                                   \
    }                                                                                          \
    static bool block_holds_##bits(const struct sw_range *ranges, uint32_t n,                  \
                                   const uint8_t *bytes, size_t count)                         \
    {                                                                                          \
        uint##bits##_t keys[BLOCK_KEYS], is_in[BLOCK_KEYS], all = 1;                           \
        memcpy(keys, bytes, count * sizeof(keys[0]));                                          \
        memset(is_in, 0, count * sizeof(is_in[0]));                                            \
        for (uint32_t r = 0; r < n; r++) {                                                     \
            const uint##bits##_t first = (uint##bits##_t)ranges[r].first;                      \
            const uint64_t last =                                                              \
                ranges[r].last < UINT##bits##_MAX ? ranges[r].last : UINT##bits##_MAX;         \
            const uint##bits##_t length = (uint##bits##_t)(last - ranges[r].first);            \
            for (size_t i = 0; i < count; i++) {                                               \
                is_in[i] |= (uint##bits##_t)(keys[i] - first) <= length;                       \
            }                                                                                  \
        }                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                   \
            all &= is_in[i];                                                                   \
        }                                                                                      \
        return all != 0;                                                                       \
    }                                                                                          \
    static bool holds_##bits(const struct sw_range *ranges, uint32_t n, const uint8_t *bytes,  \
                             uint64_t count)                                                   \
    {                                                                                          \
        bool all = true;                                                                       \
        if (n == 1) {                                                                          \
            return one_holds_##bits(ranges, bytes, count);                                     \
        }                                                                                      \
        for (uint64_t at = 0; at < count; at += BLOCK_KEYS) {                                  \
            size_t here = (size_t)(count - at < BLOCK_KEYS ? count - at : BLOCK_KEYS);         \
            all &= block_holds_##bits(ranges, n, bytes + at * sizeof(uint##bits##_t), here);   \
        }                                                                                      \
        return all;                                                                            \
    }
HOLDS(32)
HOLDS(64)

bool sw_ranges_hold(const struct sw_ranges *ranges, const void *keys, uint32_t key_bytes,
                    uint64_t count)
{
    uint32_t n = ranges->count;
    if (key_bytes == sizeof(uint64_t)) {
        return holds_64(ranges->at, n, keys, count);
    }
    while (n > 0 && ranges->at[n - 1].first > UINT32_MAX) {
        n--;
    }
    return holds_32(ranges->at, n, keys, count);
}
