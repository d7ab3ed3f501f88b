/* SPDX-License-Identifier: MIT
 *
 * restore.h - fills an empty table with entries that are known to be distinct, which needs neither
 * look-ups nor an order: those of a snapshot.
 *
 * Entries are first put where their part of the table is, by as many threads as bring some; in the
 * end each part is laid out, on all threads of the table. So memory is gone through twice in
 * order, instead of once at random.
 *
 * Threads: sw_restore_add from any number; begin and end from one, when nobody adds. No batch may
 * be submitted in between, from any thread.
 */
#ifndef SHERWOOD_TABLE_RESTORE_H
#define SHERWOOD_TABLE_RESTORE_H

#include "table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_restore;

/* Makes room for so many entries. SW_OK; SW_E_FULL: the table cannot have so many; SW_E_NOMEM;
 * SW_E_UNSUPPORTED: it is not empty, or of an engine or a backend that takes batches only. */
int sw_restore_begin(struct sw_table *table, uint64_t entries, struct sw_restore **out);
/* Adds entries, in arrays of any memory, of the widths of the table. SW_OK or SW_E_NOMEM. */
int sw_restore_add(struct sw_restore *restore, const void *keys, const void *values,
                   uint32_t count);
/* Ends it. The table has all entries then; or none: if `keep` is false, or on SW_E_FULL and on
 * SW_E_INVALID, if a key was added twice. What is added counts as inserted, by one batch without a
 * number. */
int sw_restore_end(struct sw_restore *restore, bool keep);

#ifdef __cplusplus
}
#endif

#endif
