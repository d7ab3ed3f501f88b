/* SPDX-License-Identifier: MIT
 *
 * growth.h - when a table's cache grows, and the facts that depend on it.
 *
 * Threads: any thread may read the facts at any time. Every other call needs exclusive access to
 * the table.
 */
#ifndef SHERWOOD_TABLE_CACHE_GROWTH_H
#define SHERWOOD_TABLE_CACHE_GROWTH_H

#include "table/cache/cache_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_cache_growth {
    uint64_t buckets; /* atomic, as are the fields down to resize_failed */
    uint64_t bytes;
    uint64_t grown;
    uint64_t resized;
    uint64_t resize_failed;
    uint64_t moves;
    uint64_t most;     /* buckets */
    uint64_t retry_ns; /* monotonic time of the next attempt to grow; 0: the last did not fail */
    bool two;          /* the cache has at least two buckets */
    struct sw_growth *owner; /* decides about more memory; borrowed; NULL: nobody does */
};

/* Returns the number of buckets that the cache should have for `entries` entries: the current
 * number or more. Stops at the slots that the owner permits. */
uint64_t sw_cache_growth_wanted(const struct sw_cache_growth *growth, uint64_t entries);
/* Returns the number of buckets for a RESIZE to `capacity` slots. */
uint64_t sw_cache_growth_buckets(const struct sw_cache_growth *growth, uint64_t capacity);

/* The cache was created with these buckets and bytes. */
void sw_cache_growth_begin(struct sw_cache_growth *growth, uint64_t buckets, uint64_t bytes);
/* Call these after all entries were moved (reports `bytes` to the owner), after an attempt to grow,
 * and after a RESIZE. */
void sw_cache_growth_moved(struct sw_cache_growth *growth, uint64_t buckets, uint64_t bytes);
void sw_cache_growth_tried(struct sw_cache_growth *growth, bool done);
void sw_cache_growth_resized(struct sw_cache_growth *growth, bool done);

/* The cursor of a scan has the next slot and the layout of the arrays: after a move the scan
 * restarts at slot 0. A cursor below 2^48 has no layout: it is a slot of the current layout, modulo
 * the number of slots. */
uint64_t sw_cache_growth_cursor(const struct sw_cache_growth *growth, uint64_t slot);
uint64_t sw_cache_growth_slot(const struct sw_cache_growth *growth, uint64_t cursor);

/* Sets all facts except the epoch and the limits of the combiner. */
void sw_cache_growth_facts(const struct sw_cache_growth *growth, struct sw_backend_facts *facts);

/* Sets batch->_upserts. */
void sw_cache_count_upserts(struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
