/* SPDX-License-Identifier: MIT
 *
 * cpu_table.h - the cache as a table's engine on the CPU, shared by its files.
 */
#ifndef SHERWOOD_TABLE_CACHE_CPU_TABLE_H
#define SHERWOOD_TABLE_CACHE_CPU_TABLE_H

#include "table/cache/growth.h"
#include "table/cache/ids.h"
#include "table/cache/slots.h"
#include "table/host/long_phase.h"

struct sw_cache_cpu_table {
    struct sw_cache_slots slots;
    struct sw_phase_lock phases;
    void *memory;
    uint64_t bytes;
    uint64_t clock;  /* atomic */
    uint64_t rounds; /* atomic: batches of this epoch */
    uint64_t epoch;  /* atomic; changes in write phases */
    uint32_t key_bytes;
    struct sw_cache_counters counters; /* of writes; under the lock */
    struct sw_cache_growth growth;
    struct sw_cache_loaded_ids loaded;
    struct sw_table_tuning tuning;
    struct sw_long_phase long_phase;
};

/* The functions below are in cpu.c, and are called in a write phase. */

/* Returns the number of entries. */
uint64_t sw_cache_cpu_held(const struct sw_cache_cpu_table *table);
/* Returns whether the cache grows for a batch of operations. Sets batch->_upserts. */
bool sw_cache_cpu_grows_for(const struct sw_cache_cpu_table *table, struct sw_batch *batch);
/* Grows the cache if more than half of its slots may be occupied after the batch, which has its
 * `_upserts`. */
void sw_cache_cpu_grow_for(struct sw_cache_cpu_table *table, struct sw_batch *batch);
/* Prepares a cache of ids for a batch of operations: loads the ids of a batch that restores, and
 * settles a load before others. Returns false, and the status, if the batch must not be carried
 * out. */
bool sw_cache_cpu_prepare_ids(struct sw_cache_cpu_table *table, struct sw_batch *batch);
/* Carries out SW_BATCH_RESIZE. */
void sw_cache_cpu_resize(struct sw_cache_cpu_table *table, struct sw_batch *batch);

#endif
