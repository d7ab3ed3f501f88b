/* SPDX-License-Identifier: MIT
 *
 * resize.h - the CPU table grows and shrinks: all entries move to new arrays.
 *
 * Threads: any may call sw_cpu_facts; the other functions run in a write phase, unless they say
 * otherwise.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESIZE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_RESIZE_H

#include "table/robin_hood/cpu/cpu.h"

/* True if the table may be larger than it is, and the last attempt did not fail too short a time
 * ago (sw_cpu_retry_pause_ns). One that failed because too many entries would meet the probe cap is
 * repeated only once the capacity or the stash has changed, or there are fewer entries. */
bool sw_cpu_may_grow(const struct sw_cpu *cpu);

/* How long none is tried after an attempt that took this long and failed: a second, and 20 times as
 * long as it took, so that attempts that fail cost at most a twentieth of the time. */
uint64_t sw_cpu_retry_pause_ns(uint64_t took_ns);

/* Grows so that `entries` fit, or as far as it may. The stash is merged and ends with at most
 * stash_slots entries. Where that fails nothing changes. The pool must be free. */
void sw_cpu_grow(struct sw_cpu *cpu, uint64_t entries);

/* Carries out a batch of SW_BATCH_RESIZE, in a write phase of its own. */
void sw_cpu_run_resize(struct sw_cpu *cpu, struct sw_batch *batch);

/* Publishes the geometry the table has now. */
void sw_cpu_publish(struct sw_cpu *cpu);

/* sw_backend.facts. */
void sw_cpu_facts(void *table, struct sw_backend_facts *facts);

#endif
