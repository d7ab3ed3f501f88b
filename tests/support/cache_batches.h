/* SPDX-License-Identifier: MIT
 *
 * cache_batches.h - random batches of a cache, and the arrays they point into.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CACHE_BATCHES_H
#define SHERWOOD_TESTS_SUPPORT_CACHE_BATCHES_H

#include "table/cache/cache.h"
#include "tests/support/random.h"

/* The arrays of one batch, all in one piece of memory. */
struct cache_arrays {
    uint8_t *memory;
    size_t bytes;
    uint64_t *keys;
    uint64_t *scores;
    uint64_t *scores_out;
    uint64_t *evicted_keys;
    uint64_t *evicted_scores;
    uint64_t *evicted_count;
    struct sw_cache_counters *counters;
    void **places;
    uint8_t *values;
    uint8_t *values_out;
    uint8_t *evicted_values;
    uint8_t *accumulate;
    uint8_t *results;
};

size_t cache_arrays_bytes(uint32_t ops_max, uint32_t value_bytes);
/* `memory` has so many bytes, aligned to 16. */
void cache_arrays_cut(struct cache_arrays *arrays, void *memory, uint32_t ops_max,
                      uint32_t value_bytes);

/* What batches are drawn from. */
struct cache_draw {
    struct random random;
    struct sw_cache_config config;
    uint32_t ops_max;   /* operations of a batch, at most; at least 1 */
    uint64_t key_count; /* keys there are: small numbers, and two of the largest */
    bool distinct;      /* no key twice in a batch; key_count is far above ops_max */
};

/* Fills the inputs and points the batch at them. Values are floats that sums of keep exact. */
void cache_draw_batch(struct cache_draw *draw, struct cache_arrays *in,
                      struct sw_cache_batch *batch, enum sw_cache_op op);

/* Points a batch at outputs, which are set to 0xa5 all over before; `all`: also at those that may
 * be left out. */
void cache_aim(struct sw_cache_batch *batch, const struct cache_arrays *out, bool all);

#endif
