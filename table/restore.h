/* SPDX-License-Identifier: MIT
 *
 * restore.h - fills an empty table with entries that are known to be distinct: those of a snapshot.
 * This needs no look-ups and no order of the entries.
 *
 * The threads that call sw_restore_add first write each entry to its segment of the table. At the
 * end all threads of the table lay out the segments. So the threads write memory twice in order
 * instead of once at random.
 *
 * Threads: any number may call sw_restore_add. One thread calls begin and end, while no other
 * thread adds. No thread may submit a batch between begin and end.
 */
#ifndef SHERWOOD_TABLE_RESTORE_H
#define SHERWOOD_TABLE_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "table/status.h"

struct sw_table;

#ifdef __cplusplus
extern "C" {
#endif

struct sw_restore;

/* Reserves room for `entries` entries. SW_OK; SW_E_FULL: the table has no room for them;
 * SW_E_NOMEM; SW_E_UNSUPPORTED: the table is not empty, or its engine or backend cannot restore. */
SW_MUST_CHECK int sw_restore_begin(struct sw_table *table, uint64_t entries,
                                   struct sw_restore **out);
/* Adds entries from arrays in any memory, with the table's widths. SW_OK or SW_E_NOMEM. */
SW_MUST_CHECK int sw_restore_add(struct sw_restore *restore, const void *keys, const void *values,
                                 uint32_t count);
/* Ends the restore. The table then has all entries. It is empty if `keep` is false, on SW_E_FULL,
 * or on SW_E_INVALID: a key was added twice. The entries count as inserted by one batch without a
 * number. */
SW_MUST_CHECK int sw_restore_end(struct sw_restore *restore, bool keep);

#ifdef __cplusplus
}
#endif

#endif
