/* SPDX-License-Identifier: MIT
 *
 * cpu.h - a cache in host memory.
 *
 * Threads: any number at a time that find and touch; one that does anything else, alone.
 */
#ifndef SHERWOOD_TABLE_CACHE_CPU_H
#define SHERWOOD_TABLE_CACHE_CPU_H

#include "table/cache/score.h"
#include "table/cache/slots.h"

/* Allocates the arrays of an empty cache, whose sizes `slots` gives; *bytes receives how much.
 * NULL, with a sentence in `reason`, if there is no memory for them. sw_memory_unmap gives them
 * back. */
void *sw_cache_cpu_allocate(struct sw_cache_slots *slots, uint64_t *bytes, char *reason,
                            size_t reason_size);
/* Cuts the arrays out of memory of that size. */
void sw_cache_cpu_carve(struct sw_cache_slots *slots, void *memory);
/* Removes everything. */
void sw_cache_cpu_empty(const struct sw_cache_slots *slots);

/* The slot of a key, or SW_CACHE_NOWHERE. */
uint64_t sw_cache_cpu_find(const struct sw_cache_slots *slots, uint64_t key);

/* A use of the entry at `slot` beside others; returns its score then. */
uint64_t sw_cache_cpu_touch(const struct sw_cache_slots *slots, const struct sw_cache_time *time,
                            uint64_t index, uint64_t given, uint64_t slot);

/* Copies all entries to an empty cache, of another number of buckets, with their scores. Returns
 * how many found no room there, or had to leave for others. */
uint64_t sw_cache_cpu_move(const struct sw_cache_slots *from, const struct sw_cache_slots *to);

#endif
