/* SPDX-License-Identifier: MIT
 *
 * expiry_removal.h - finds and removes expired entries: sweeps, and searches for room.
 *
 * A sweep visits all entries with a time, piece by piece (struct sw_expiry_pass). A write that is
 * short of room searches only the parts that may have expired entries (due.h). So a search visits
 * few entries, however many the table has. It ends if it has found enough expired entries, or if
 * no other is left.
 *
 * Threads: the caller is in a write phase of the table.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRY_REMOVAL_H
#define SHERWOOD_TABLE_ROBIN_HOOD_CPU_EXPIRY_REMOVAL_H

#include "table/robin_hood/cpu/expiry.h"

/* Removes an entry that has a time, and reports its key to the batch that wants expired keys. If
 * memory for the report is short, sets expiry->failed and leaves the entry. */
void sw_expiry_remove(struct sw_cpu *cpu, uint64_t key);

/* Sweeps the next entries, at most `count`, and removes at most `most` expired ones. Returns the
 * number of entries visited; 0: the sweep has reached its end. */
uint32_t sw_expiry_sweep_piece(struct sw_cpu *cpu, uint64_t clock_ms, uint32_t count,
                               uint32_t most);

/* Removes expired entries until it removed `most` or all of them. */
void sw_expiry_remove_for_room(struct sw_cpu *cpu, uint64_t clock_ms, uint32_t most);

#endif
