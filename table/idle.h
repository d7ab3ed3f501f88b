/* SPDX-License-Identifier: MIT
 *
 * idle.h - work on a table that can wait until no write arrives.
 */
#ifndef SHERWOOD_TABLE_IDLE_H
#define SHERWOOD_TABLE_IDLE_H

#include <stdbool.h>

struct sw_table;

/* Returns whether sw_table_tidy can do anything for this table, now or later. Constant. */
bool sw_table_tidies(const struct sw_table *table);

/* Closes the holes that batches of deletes left (table/robin_hood/cuda/README.md), if the table is
 * idle: no write was launched since the call before, and none waits or runs. Call it at intervals
 * of at least the time that a table should be idle. It does not wait. A batch that is submitted
 * meanwhile waits for at most one pass over the table. Threads: one at a time, beside any others
 * that use the table. */
void sw_table_tidy(struct sw_table *table);

#endif
