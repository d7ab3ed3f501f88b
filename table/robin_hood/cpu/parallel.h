/* SPDX-License-Identifier: MIT
 *
 * parallel.h - large batches on all threads.
 *
 * Threads: the caller holds the pool and is in the phase the batch needs.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_PARALLEL_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_PARALLEL_H

#include "table/robin_hood/cpu/cpu.h"

/* Smaller batches are done by the submitting thread. Measured with 128-bit slots on a table of
 * 2^24: two threads gain 1.4 to 2 times from 2^13 operations on where both cores are free, and lose
 * up to 15 % where one is not; more threads gain from 2^12 on. */
#define SW_PARALLEL_GETS_MIN (1U << 14)
#define SW_PARALLEL_WRITES_MIN (1U << 14)

/* Bytes of the scratch's records and index for one operation. */
uint64_t sw_parallel_record_bytes(uint32_t slot_bits);
#define SW_PARALLEL_INDEX_BYTES (4 * sizeof(uint32_t))

/* Reads only. */
void sw_parallel_get_s64(struct sw_cpu *cpu, const struct sw_work_s64 *work,
                         struct sw_counters *counters);
void sw_parallel_get_s128(struct sw_cpu *cpu, const struct sw_work_s128 *work,
                          struct sw_counters *counters);

/* How many operations are on keys that are absent now. Loads the keys, once and for all: work->keys
 * becomes a copy, in the scratch. */
uint64_t sw_parallel_absent_s64(struct sw_cpu *cpu, struct sw_work_s64 *work);
uint64_t sw_parallel_absent_s128(struct sw_cpu *cpu, struct sw_work_s128 *work);

/* Carries out a batch without DELETE of which nothing may be refused: there is room for every
 * absent key. What meets the cap is in the stash afterwards, or in work->leftovers (which is the
 * scratch's entries). Answers, counters and layout are those of execute_in_order, except
 * `probes`. */
void sw_parallel_upsert_s64(struct sw_cpu *cpu, struct sw_work_s64 *work,
                            struct sw_counters *counters);
void sw_parallel_upsert_s128(struct sw_cpu *cpu, struct sw_work_s128 *work,
                             struct sw_counters *counters);

#endif
