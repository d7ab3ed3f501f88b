/* SPDX-License-Identifier: MIT
 *
 * cache.h - what all files of the cache share: sizes, elements of values, results of operations,
 * counters. For host and device.
 */
#ifndef SHERWOOD_TABLE_CACHE_CACHE_H
#define SHERWOOD_TABLE_CACHE_CACHE_H

#include "table/table.h"

#define SW_CACHE_BUCKET_SLOTS 128
#define SW_CACHE_VALUE_BYTES_MAX 1024

/* The numbers that a value consists of, where values are added; integers wrap around. */
enum sw_cache_element { SW_CACHE_F32, SW_CACHE_U32, SW_CACHE_U64 };

/* The result of an operation. */
enum sw_cache_result {
    SW_CACHE_MISS = 0,     /* the key was absent and still is */
    SW_CACHE_HIT = 1,      /* it was present */
    SW_CACHE_INSERTED = 2, /* it was absent and is present now, in a slot that was empty */
    SW_CACHE_REPLACED = 3, /* the same, in the slot of an evicted entry */
    SW_CACHE_REFUSED = 4   /* it was not admitted: every resident's score was higher */
};

struct sw_cache_counters {
    uint64_t hits;
    uint64_t misses;   /* absent, whatever happened then */
    uint64_t inserted; /* new entries: results INSERTED and REPLACED */
    uint64_t erased;
    uint64_t evicted;      /* entries evicted to make room */
    uint64_t not_admitted; /* results REFUSED */
};

#endif
