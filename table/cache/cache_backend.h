/* SPDX-License-Identifier: MIT
 *
 * cache_backend.h - the cache as an engine of a table: its backends.
 *
 * The cache never returns SW_E_FULL: it evicts entries instead.
 */
#ifndef SHERWOOD_TABLE_CACHE_CACHE_BACKEND_H
#define SHERWOOD_TABLE_CACHE_CACHE_BACKEND_H

#include "table/cache/slots.h"
#include "table/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SW_CACHE_OPERATIONS (SW_OPS_CACHE & SW_OPS_INTEGERS)
#define SW_CACHE_KINDS (1U << SW_BATCH_OPERATIONS | 1U << SW_BATCH_CLEAR | 1U << SW_BATCH_SCAN)
/* The operations and kinds of the cache, including those that only the cache has. */
#define SW_CACHE_ALL_OPERATIONS SW_OPS_CACHE
#define SW_CACHE_ALL_KINDS                                                        \
    (SW_CACHE_KINDS | 1U << SW_BATCH_COUNT_SCORES | 1U << SW_BATCH_ERASE_SCORES | \
     1U << SW_BATCH_EPOCH)

extern const struct sw_engine_parts sw_cache_engine;
extern const struct sw_backend sw_cache_backend_cpu;
/* Returns NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_cache_backend_cuda(void);

/* Returns the sizes of a table's cache, without its arrays. */
struct sw_cache_slots sw_cache_slots_of(const struct sw_table_config *config);
/* Sets all facts except the epoch and the counters of growth. */
void sw_cache_facts(uint64_t buckets, uint64_t buckets_max, uint64_t bytes,
                    struct sw_backend_facts *facts);

/* Return the buckets of a table with at least `capacity` slots, and of a table at its maximum
 * capacity. A cache of ids has at most rows_max slots. */
uint64_t sw_cache_buckets_of(const struct sw_table_config *config, uint64_t capacity);
uint64_t sw_cache_buckets_max(const struct sw_table_config *config);
/* Doubles `buckets` until half of their slots are enough for `entries` entries; at most `most`. At
 * that load a bucket of 128 slots rarely has more than 100 entries, in either mode. */
uint64_t sw_cache_buckets_grown(uint64_t buckets, uint64_t most, uint64_t entries);

#ifdef __cplusplus
}
#endif

#endif
