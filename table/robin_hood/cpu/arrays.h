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

/* rebuild.inl: moves the entries of the table to `to`. */
bool sw_cpu_arrays_rebuild(const struct sw_cpu *cpu, const union sw_cpu_table *to,
                           uint64_t stash_limit);

/* Sets the guard of both arrays; NULL: none. */
void sw_cpu_arrays_guard(struct sw_cpu *cpu, struct sw_cow_guard *guard);

/* Sets the home buckets of m, which may be larger than every mixed key, in both arrays. */
void sw_cpu_arrays_home(const struct sw_cpu *cpu, uint64_t m, uint64_t *main, uint64_t *stash);

#endif
