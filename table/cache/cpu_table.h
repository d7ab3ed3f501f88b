/* SPDX-License-Identifier: MIT
 *
 * cpu_table.h - the cache as a table's engine on the CPU, shared by its files.
 */
#ifndef SHERWOOD_TABLE_CACHE_CPU_TABLE_H
#define SHERWOOD_TABLE_CACHE_CPU_TABLE_H

#include "table/cache/growth.h"
#include "table/cache/slots.h"
#include "table/host/phase_lock.h"

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
};

#endif
