/* SPDX-License-Identifier: MIT
 *
 * growth.h - when a table's cache grows, and the facts that depend on it.
 *
 * Threads: facts may be asked for at any time; everything else only by a thread that is alone with
 * the table.
 */
#ifndef SHERWOOD_TABLE_CACHE_GROWTH_H
#define SHERWOOD_TABLE_CACHE_GROWTH_H

#include "table/cache/cache_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_cache_growth {
    uint64_t buckets; /* atomic, as what follows down to resize_failed */
    uint64_t bytes;
    uint64_t grown;
    uint64_t resized;
    uint64_t resize_failed;
    uint64_t moves;
    uint64_t most;     /* buckets */
    uint64_t retry_ns; /* of the monotonic clock: no growth is tried before; 0: none has failed */
    bool two;          /* two buckets at least */
};

/* The buckets that the cache should have before so many entries are held: those that it has, or
 * more. */
uint64_t sw_cache_growth_wanted(const struct sw_cache_growth *growth, uint64_t entries);
/* The buckets of a RESIZE to so many slots. */
uint64_t sw_cache_growth_buckets(const struct sw_cache_growth *growth, uint64_t capacity);

/* After everything was moved; after growth was tried; after a RESIZE. */
void sw_cache_growth_moved(struct sw_cache_growth *growth, uint64_t buckets, uint64_t bytes);
void sw_cache_growth_tried(struct sw_cache_growth *growth, bool done);
void sw_cache_growth_resized(struct sw_cache_growth *growth, bool done);

/* The cursor of a scan names the layout of the slot at which it goes on: after a move the scan
 * begins anew. A number below 2^48 is a slot, modulo their number, of any layout. */
uint64_t sw_cache_growth_cursor(const struct sw_cache_growth *growth, uint64_t slot);
uint64_t sw_cache_growth_slot(const struct sw_cache_growth *growth, uint64_t cursor);

/* All but the epoch and the limits of the combiner. */
void sw_cache_growth_facts(const struct sw_cache_growth *growth, struct sw_backend_facts *facts);

/* Sets batch->_upserts. */
void sw_cache_count_upserts(struct sw_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
