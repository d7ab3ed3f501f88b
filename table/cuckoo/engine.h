/* SPDX-License-Identifier: MIT
 *
 * engine.h - the cuckoo table as an engine of table.h: one source for CPU and CUDA, both widths
 * (names end in _s64 and _s128), and the limits that both backends share.
 *
 * README.md describes its operations and the rules that keep it correct.
 */
#ifndef SHERWOOD_TABLE_CUCKOO_ENGINE_H
#define SHERWOOD_TABLE_CUCKOO_ENGINE_H

#include <string.h>

#include "table/cuckoo/cuckoo.h"
#include "table/load_once.h"
#include "table/operation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Highest accepted max_load. The limits of cuckoo hashing with one entry a cell are a load of 0.5
 * with two functions and 0.917 with three; near them inserts fail. */
#define SW_CUCKOO_LOAD_MAX_2 0.45
#define SW_CUCKOO_LOAD_MAX_3 0.88

/* Without max_probe, the chain bound is this factor times log2(capacity): twice the largest factor
 * in the report that bench/cuckoo reproduces. */
#define SW_CUCKOO_CHAIN_FACTOR 38.4

/* Seed sets tried in one rehash (CPU). If all fail, the entries stay in the stash. */
#define SW_CUCKOO_REHASH_MAX 8

/* Prefetch distance of first cells, in reads (CPU). */
#define SW_CUCKOO_AHEAD 16U

/* The geometry of a valid configuration. */
struct sw_cuckoo_geometry {
    struct sw_cuckoo_shape shape; /* without seeds */
    uint64_t cells;
    uint64_t occupied_max;
    uint64_t stash_max;
    uint64_t stash_most;
    uint64_t stash_room; /* maximum entries of the stash */
};

struct sw_table_config;

/* Returns ceil(l * log2(n)), at least 1. */
uint32_t sw_cuckoo_chain_bound(double l, uint64_t n);

void sw_cuckoo_geometry_compute(const struct sw_table_config *config,
                                struct sw_cuckoo_geometry *geometry);

/* Sets the seeds to seed set `number` (from 0 on) of a table with the configured `seed`. */
SW_CUCKOO_INLINE void sw_cuckoo_engine_seeds(struct sw_cuckoo_shape *shape, uint64_t seed,
                                             uint32_t number)
{
    uint32_t stir = (uint32_t)(sw_mix_64(seed, 0) >> 16);
    for (uint32_t i = 0; i < SW_CUCKOO_FUNCTIONS_MAX; i++) {
        shape->seeds[i] = sw_cuckoo_seed_of(number + 1, i) ^ stir;
    }
}

/* Returns whether an operation inserts an absent key. */
SW_CUCKOO_INLINE bool sw_cuckoo_may_insert(uint32_t op)
{
    return SW_OPS_HAS(SW_OPS_INSERT, op);
}

SW_CUCKOO_INLINE void sw_cuckoo_add_counters(struct sw_counters *to, const struct sw_counters *from)
{
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *words = (const uint64_t *)from;
    for (unsigned i = 0; i < sizeof(*to) / sizeof(uint64_t); i++) {
        sums[i] += words[i];
    }
}

/* All engines share the effects of operations. */
#define sw_cuckoo_decide_s64 sw_decide_s64
#define sw_cuckoo_decide_s128 sw_decide_s128
#define sw_cuckoo_decide_any_s64 sw_decide_any_s64
#define sw_cuckoo_decide_any_s128 sw_decide_any_s128
#define sw_cuckoo_decide_pair_s64 sw_decide_pair_s64
#define sw_cuckoo_decide_pair_s128 sw_decide_pair_s128
#define SW_WIDTH_BODY "table/cuckoo/engine.inl"
#include "table/each_width.inl"

#ifdef __cplusplus
}
#endif

#endif
