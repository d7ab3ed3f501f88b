/* SPDX-License-Identifier: MIT
 *
 * parallel.h - large batches on all threads.
 *
 * Threads: the caller owns the pool and is in the phase that the batch needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_PARALLEL_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_PARALLEL_H

#include "table/robin_hood/cpu/cpu.h"

/* The submitting thread carries out smaller batches alone. Measured with 128-bit slots on a table
 * of 2^24: two threads gain 1.4 to 2 times from 2^13 operations on if both cores are free, and lose
 * up to 15 % if one core is busy; more threads gain from 2^12 on. */
#define SW_PARALLEL_GETS_MIN (1U << 14)
#define SW_PARALLEL_WRITES_MIN (1U << 14)
/* From this number of operations on, a batch gains if its updates come before its inserts. Smaller
 * ones end before the second passes pay, and fresh keys lose up to 28 %. In a batch of
 * SW_PARALLEL_WRITES_MIN or more, the index of the absent keys would not fit into the cache. */
#define SW_UPDATES_FIRST_MIN 512U

/* Returns the bytes of the scratch's records and index for one operation. */
uint64_t sw_parallel_record_bytes(uint32_t slot_bits);
#define SW_PARALLEL_INDEX_BYTES (4 * sizeof(uint32_t))

/* Takes the next unit of a job's work. Relaxed: only the number matters; sw_pool_run orders the
 * data. */
static inline uint32_t sw_cpu_next_unit(uint32_t *next)
{
    return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
}

/* sw_parallel_get carries out a batch of reads.
 *
 * sw_parallel_absent counts the operations on absent keys. Copies the keys to the scratch, and sets
 * work->keys to the copy.
 *
 * sw_parallel_upsert carries out a batch without DELETE in which no operation can be refused: the
 * table has room for every absent key. Entries that meet the cap end up in the stash, or in
 * work->leftovers (which is the scratch's entries). Answers, counters and layout equal those of
 * execute_in_order, except `probes`.
 *
 * sw_upsert_alone does the same on the caller's thread, without the pool. Needs the scratch's
 * index. */
#define SW_PARALLEL(bits, word, suffix)                                                      \
    void sw_parallel_get_##suffix(struct sw_cpu *cpu, const struct sw_work_##suffix *work,   \
                                  struct sw_counters *counters);                             \
    uint64_t sw_parallel_absent_##suffix(struct sw_cpu *cpu, struct sw_work_##suffix *work); \
    void sw_parallel_upsert_##suffix(struct sw_cpu *cpu, struct sw_work_##suffix *work,      \
                                     struct sw_counters *counters);                          \
    void sw_upsert_alone_##suffix(struct sw_cpu *cpu, struct sw_work_##suffix *work,         \
                                  struct sw_counters *counters);
SW_FORMATS(SW_PARALLEL)
#undef SW_PARALLEL

#endif
