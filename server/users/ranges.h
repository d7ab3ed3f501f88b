/* SPDX-License-Identifier: MIT
 *
 * ranges.h - sets of integer keys as ranges, and a test of arrays of keys. Pure functions. Threads:
 * any.
 */
#ifndef SHERWOOD_SERVER_USERS_RANGES_H
#define SHERWOOD_SERVER_USERS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most ranges that do not touch each other. */
#define SW_RANGES_MAX 64

struct sw_range {
    uint64_t first, last; /* inclusive */
};

/* Sorted; ranges neither meet nor touch. All zeros: empty. */
struct sw_ranges {
    uint32_t count;
    struct sw_range at[SW_RANGES_MAX];
};

/* Adds a range, and joins it with those that it meets. If there would be more than SW_RANGES_MAX,
 * changes nothing and returns false. */
bool sw_ranges_add(struct sw_ranges *ranges, uint64_t first, uint64_t last);

/* Parses "N" or "N-M", with N <= M. */
bool sw_range_parse(const char *text, size_t size, struct sw_range *out);

/* Returns true if all `count` keys, of 4 or 8 bytes, lie in the ranges. One pass reads every key,
 * so that the compiler can use vector instructions. `keys` may have any alignment. */
bool sw_ranges_hold(const struct sw_ranges *ranges, const void *keys, uint32_t key_bytes,
                    uint64_t count);

#endif
