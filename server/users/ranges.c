/* SPDX-License-Identifier: MIT
 *
 * ranges.c - ranges of keys.
 */
#include "server/users/ranges.h"

#include <string.h>

#include "proto/decimal.h"

/* Keys that are looked at together: with their marks they stay in the first cache. */
#define BLOCK_KEYS 512

bool sw_ranges_add(struct sw_ranges *ranges, uint64_t first, uint64_t last)
{
    struct sw_ranges out = {0};
    bool is_in = false;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const struct sw_range *old = &ranges->at[i];
        bool before = old->last < first && old->last + 1 < first;
        bool behind = old->first > last && old->first - 1 > last;
        if (!before && !behind) { /* they meet or touch: one */
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
 * one subtraction and one comparison without a branch, for keys of each width. */
#define HOLDS(bits)                                                                                \
    static bool holds_##bits(const struct sw_ranges *ranges, const uint8_t *bytes, uint64_t count) \
    {                                                                                              \
        uint##bits##_t keys[BLOCK_KEYS];                                                           \
        uint##bits##_t is_in[BLOCK_KEYS];                                                          \
        uint##bits##_t all = 1;                                                                    \
        for (uint64_t at = 0; at < count; at += BLOCK_KEYS) {                                      \
            size_t n = (size_t)(count - at < BLOCK_KEYS ? count - at : BLOCK_KEYS);                \
            memcpy(keys, bytes + at * sizeof(keys[0]), n * sizeof(keys[0]));                       \
            memset(is_in, 0, n * sizeof(is_in[0]));                                                \
            for (uint32_t r = 0; r < ranges->count; r++) {                                         \
                if (ranges->at[r].first > UINT##bits##_MAX) {                                      \
                    break; /* they are sorted: no key of this width is so large */                 \
                }                                                                                  \
                uint##bits##_t first = (uint##bits##_t)ranges->at[r].first;                        \
                uint64_t last = ranges->at[r].last;                                                \
                last = last < UINT##bits##_MAX ? last : UINT##bits##_MAX;                          \
                uint##bits##_t length = (uint##bits##_t)(last - first);                            \
                for (size_t i = 0; i < n; i++) {                                                   \
                    is_in[i] |= (uint##bits##_t)(keys[i] - first) <= length;                       \
                }                                                                                  \
            }                                                                                      \
            for (size_t i = 0; i < n; i++) {                                                       \
                all &= is_in[i];                                                                   \
            }                                                                                      \
        }                                                                                          \
        return all != 0;                                                                           \
    }
HOLDS(32)
HOLDS(64)

bool sw_ranges_hold(const struct sw_ranges *ranges, const void *keys, uint32_t key_bytes,
                    uint64_t count)
{
    return key_bytes == sizeof(uint32_t) ? holds_32(ranges, keys, count)
                                         : holds_64(ranges, keys, count);
}
