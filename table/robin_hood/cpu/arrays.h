/* SPDX-License-Identifier: MIT
 *
 * arrays.h - the slots of a CPU table: main array and stash in one mapping.
 *
 * Threads: any, on arrays that no other thread uses; on the arrays of the table in a write phase.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_ARRAYS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_ARRAYS_H

#include "table/robin_hood/cpu/cpu.h"

/* Maps slots of this geometry, without setting them to EMPTY. Returns NULL if the system refuses;
 * if the slots need more than 95 % of the memory available now (sw_memory_available); or if the
 * slots and `bytes_more`, the other memory of the table, exceed the memory of this machine. Free
 * with sw_memory_unmap(slots, geometry->bytes_total). */
void *sw_cpu_arrays_map(const struct sw_geometry *geometry, uint64_t bytes_more);

/* Sets every slot to EMPTY; on all threads if the pool is free. */
void sw_cpu_arrays_empty(struct sw_cpu *cpu, const struct sw_geometry *geometry, void *slots);

/* Describes the table in these arrays. The result borrows slots and state. */
union sw_cpu_table sw_cpu_arrays_table(const struct sw_cpu *cpu, const struct sw_geometry *geometry,
                                       void *slots, struct sw_state *state);

#endif
