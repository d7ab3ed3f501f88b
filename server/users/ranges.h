/* SPDX-License-Identifier: MIT
 *
 * ranges.h - sets of integer keys as ranges, and whether arrays of keys lie in one. Pure functions,
 * for any thread.
 */
#ifndef SHERWOOD_SERVER_USERS_RANGES_H
#define SHERWOOD_SERVER_USERS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most ranges that do not touch each other. */
#define SW_RANGES_MAX 64

struct sw_range {
    uint64_t first, last; /* both belong to it */
};

/* Sorted; ranges neither meet nor touch. All zeros: empty. */
struct sw_ranges {
    uint32_t count;
    struct sw_range at[SW_RANGES_MAX];
};

/* Adds a range, and joins it with those that it meets. Returns false, with nothing changed, if
 * there would be more than SW_RANGES_MAX. */
bool sw_ranges_add(struct sw_ranges *ranges, uint64_t first, uint64_t last);

/* Parses "N" or "N-M", with N <= M. */
bool sw_range_parse(const char *text, size_t size, struct sw_range *out);

/* Do all of the `count` keys, of 4 or 8 bytes, lie in the ranges? One pass that the compiler makes
 * vector instructions of: it looks at every key, whatever the first one says. `keys` may have any
 * alignment. */
bool sw_ranges_hold(const struct sw_ranges *ranges, const void *keys, uint32_t key_bytes,
                    uint64_t count);

#endif
