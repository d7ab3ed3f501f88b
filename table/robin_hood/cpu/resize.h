/* SPDX-License-Identifier: MIT
 *
 * resize.h - the CPU table grows and shrinks: all entries move to new arrays.
 *
 * Threads: any thread may call sw_cpu_facts. The other functions run in a write phase, unless
 * stated otherwise.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESIZE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESIZE_H

#include "table/robin_hood/cpu/cpu.h"

/* Returns true if the table may grow and the pause after the last failed attempt is over
 * (sw_cpu_retry_pause_ns), or the owner would permit the arrays now. After a failure
 * because of the probe cap, the capacity or the stash must also have changed, or the table must
 * have fewer entries. */
bool sw_cpu_may_grow(const struct sw_cpu *cpu);

/* Returns the pause after a failed attempt of this duration: one second, or 20 times the duration
 * if that is longer. So failed attempts take at most a twentieth of the time. */
uint64_t sw_cpu_retry_pause_ns(uint64_t took_ns);

/* Returns whether a pass over the slots makes a phase long. */
static inline bool sw_cpu_pass_is_long(const struct sw_cpu *cpu)
{
    return sw_pass_is_long(cpu->geometry.bytes_total, &cpu->config.tuning);
}

/* Grows until `entries` fit, or to the maximum capacity. Merges the stash, which ends with at most
 * stash_slots entries. On failure the entries do not change. The pool must be free. */
void sw_cpu_grow(struct sw_cpu *cpu, uint64_t entries);
/* Does the same; or, if cpu->postpones is set and growth is long, sets cpu->postponed and returns
 * false. */
bool sw_cpu_grow_or_postpone(struct sw_cpu *cpu, uint64_t entries);

/* Carries out a batch of SW_BATCH_RESIZE. `table` is a struct sw_cpu. */
void sw_cpu_run_resize(void *table, struct sw_batch *batch);

/* Publishes the current geometry. */
void sw_cpu_publish(struct sw_cpu *cpu);

/* Implements sw_backend.facts. */
void sw_cpu_facts(void *table, struct sw_backend_facts *facts);

#endif
