/* SPDX-License-Identifier: MIT
 *
 * snapshot_fits.h - whether a table can hold the entries of a snapshot, the slots for them, and
 * what to do about a table that is full.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_FITS_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_FITS_H

#include "server/log/snapshot_load.h"

struct sw_account;
struct sw_queue;
struct sw_table;
struct sw_table_info;

/* Compares the header in `load`, of the file `name`, with the table. Returns false and an error in
 * `reason` if the table cannot hold the entries. */
bool sw_snapshot_fits(const struct sw_load *load, const struct sw_table_info *info,
                      const char *name, char reason[SW_LOAD_REASON_BYTES]);

/* Gives an empty table the slots for the entries of `header`, before batches load them. Blocks have
 * their entries in the order of slots. A smaller table with the same seed would put the first
 * blocks into its first slots, and move entries until it grows. If there is no room for these slots
 * beside those that the table has, it gives its own back first. Without memory for them it grows
 * while it is loaded. The queue must be idle. */
void sw_snapshot_reserve(struct sw_queue *queue, const struct sw_table_info *info,
                         const struct sw_snapshot_header *header);

/* Returns whether the table chooses the values of its keys (--ids). */
bool sw_table_gives_ids(const struct sw_table_info *info);

/* Returns what to do about a table that cannot take the entries of a log or of a primary.
 * `account`: of its memory; NULL: none. */
const char *sw_table_remedy(const struct sw_account *account, const struct sw_table_info *info);

/* Gives a table only the slots that its entries need, by a RESIZE, which takes a number. A cache
 * would evict entries. No batch of the table is in flight. Returns whether it has fewer slots then.
 */
bool sw_table_shrink(struct sw_table *table);

#endif
