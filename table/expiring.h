/* SPDX-License-Identifier: MIT
 *
 * expiring.h - the expiry clock and expiry settings of a table. Threads: any.
 */
#ifndef SHERWOOD_TABLE_EXPIRING_H
#define SHERWOOD_TABLE_EXPIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "table/op.h"

struct sw_table;
struct sw_batch;
struct sw_image;

/* Returns whether some entry may have an expiry time: a batch has given one, or
 * sw_table_will_expire was called. */
bool sw_table_may_expire(const struct sw_table *table);
void sw_table_will_expire(struct sw_table *table);
/* Returns a number that has increased when a batch gives the first expiry time in one of the tables
 * that share this table's sequencer (sequencer.h). So a caller learns by one load that no other
 * table has become one whose entries may expire. */
uint64_t sw_table_expiring_tables(const struct sw_table *table);

/* Returns the table's clock, in milliseconds since 1970: the later of wall_ms, the system's clock,
 * and the latest clock of a batch (sw_batch.clock_ms). */
uint64_t sw_table_clock(const struct sw_table *table, uint64_t wall_ms);

/* Suspends expiry for the keys for which is_suspended(), a pure function, returns true. Another
 * table decides when they expire, and its writes are repeated here. A sweep, or a batch that is
 * short of room, does not remove these entries even if they have expired: the other table may still
 * give them another time. The caller that repeats the writes removes them by `remove_keys`, in
 * batches without a clock. NULL: suspends no key. The function waits for the batches that run;
 * afterwards the table no longer calls the previous function. Does nothing if entries of the table
 * cannot expire. */
void sw_table_suspend_expiry(struct sw_table *table,
                             bool (*is_suspended)(const void *context, uint64_t key),
                             const void *context);

/* Returns whether operation i of a completed batch is known to have left the key's time as it was.
 * `op` is that operation: EXPIRE or one of its conditional forms. A pure function. */
bool sw_expire_was_idle(const struct sw_batch *batch, enum sw_op op, uint32_t i);

/* Returns whether entries of an image may expire. If so, sw_image_read returns their times in
 * `scores`; 0: never. */
bool sw_image_expires(const struct sw_image *image);

#endif
