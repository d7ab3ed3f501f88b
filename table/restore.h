/* SPDX-License-Identifier: MIT
 *
 * restore.h - fills an empty table with entries that are known to be distinct: those of a snapshot.
 * That needs neither look-ups nor an order.
 *
 * Entries are first written to their segment of the table, by as many threads as bring some; at the
 * end each segment is laid out, on all threads of the table. So memory is written twice in order,
 * instead of once at random.
 *
 * Threads: any number may call sw_restore_add; one calls begin and end, while no other thread adds.
 * No thread may submit a batch in between.
 */
#ifndef SHERWOOD_TABLE_RESTORE_H
#define SHERWOOD_TABLE_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

struct sw_table;

#ifdef __cplusplus
extern "C" {
#endif

struct sw_restore;

/* Reserves room for so many entries. SW_OK; SW_E_FULL: the table cannot hold so many; SW_E_NOMEM;
 * SW_E_UNSUPPORTED: it is not empty, or its engine or backend takes batches only. */
int sw_restore_begin(struct sw_table *table, uint64_t entries, struct sw_restore **out);
/* Adds entries, in arrays of any memory, of the widths of the table. SW_OK or SW_E_NOMEM. */
int sw_restore_add(struct sw_restore *restore, const void *keys, const void *values,
                   uint32_t count);
/* Ends it. The table then holds all entries; or none, if `keep` is false, or on SW_E_FULL, or on
 * SW_E_INVALID, which says that a key was added twice. The entries count as inserted, by one batch
 * without a number. */
int sw_restore_end(struct sw_restore *restore, bool keep);

#ifdef __cplusplus
}
#endif

#endif
