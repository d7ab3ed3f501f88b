/* SPDX-License-Identifier: MIT
 *
 * cache_backend.h - the cache as an engine of a table: its backends.
 *
 * Nothing is ever refused with SW_E_FULL: what has to leave leaves.
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
/* .. and what no other engine has. */
#define SW_CACHE_ALL_OPERATIONS SW_OPS_CACHE
#define SW_CACHE_ALL_KINDS                                                        \
    (SW_CACHE_KINDS | 1U << SW_BATCH_COUNT_SCORES | 1U << SW_BATCH_ERASE_SCORES | \
     1U << SW_BATCH_EPOCH)

extern const struct sw_engine_parts sw_cache_engine;
extern const struct sw_backend sw_cache_backend_cpu;
/* NULL if this build has no CUDA backend (cuda/absent.c). */
const struct sw_backend *sw_cache_backend_cuda(void);

/* The sizes of a table's cache, without its arrays. */
struct sw_cache_slots sw_cache_slots_of(const struct sw_table_config *config);
/* All but the epoch and what is counted of growth. */
void sw_cache_facts(uint64_t buckets, uint64_t buckets_max, uint64_t bytes,
                    struct sw_backend_facts *facts);

/* Buckets of a table that has so many slots at least; of one that has grown as far as it may. */
uint64_t sw_cache_buckets_of(const struct sw_table_config *config, uint64_t capacity);
uint64_t sw_cache_buckets_max(const struct sw_table_config *config);
/* `buckets`, doubled until half of their slots are enough for so many entries, but `most` at most:
 * of a bucket's 128 slots hardly ever more than 100 are held then, in either mode. */
uint64_t sw_cache_buckets_grown(uint64_t buckets, uint64_t most, uint64_t entries);

#ifdef __cplusplus
}
#endif

#endif
