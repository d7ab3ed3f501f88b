/* SPDX-License-Identifier: MIT
 *
 * cpu.h - a cache in host memory.
 *
 * Threads: any number may call sw_cache_cpu_find and sw_cache_cpu_touch at once. Every other call
 * needs exclusive access.
 */
#ifndef SHERWOOD_TABLE_CACHE_CPU_H
#define SHERWOOD_TABLE_CACHE_CPU_H

#include "table/cache/score.h"
#include "table/cache/slots.h"
#include "table/growth.h"

/* Allocates the arrays of an empty cache with the sizes in `slots`; sets *bytes to their size.
 * Returns NULL, with an error text in `reason`, if memory is short. Free them with
 * sw_memory_unmap. `owner` decides about the memory; NULL: nobody does. The caller calls
 * sw_growth_settled with *bytes when its old memory is unmapped. */
void *sw_cache_cpu_allocate(struct sw_cache_slots *slots, uint64_t *bytes, struct sw_growth *owner,
                            char *reason, size_t reason_size);
/* Cuts the arrays out of memory of that size. */
void sw_cache_cpu_carve(struct sw_cache_slots *slots, void *memory);
/* Removes all entries. */
void sw_cache_cpu_empty(const struct sw_cache_slots *slots);

/* Returns the slot of a key, or SW_CACHE_NOWHERE. */
uint64_t sw_cache_cpu_find(const struct sw_cache_slots *slots, uint64_t key);

/* Counts a use of the entry at `slot`, concurrently with other uses; returns the new score. */
uint64_t sw_cache_cpu_touch(const struct sw_cache_slots *slots, const struct sw_cache_time *time,
                            uint64_t index, uint64_t given, uint64_t slot);

/* Copies all entries, with their scores, to an empty cache with another number of buckets. Returns
 * the number of entries that were not admitted there or were evicted by others. */
uint64_t sw_cache_cpu_move(const struct sw_cache_slots *from, const struct sw_cache_slots *to);

#endif
