/* SPDX-License-Identifier: MIT
 *
 * expiring.h - what a table tells of its entries' times beside its batches. Threads: any.
 */
#ifndef SHERWOOD_TABLE_EXPIRING_H
#define SHERWOOD_TABLE_EXPIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "table/op.h"

struct sw_table;
struct sw_batch;
struct sw_image;

/* Whether some entry may have a time: a batch has given one, or somebody has said that one will. */
bool sw_table_may_expire(const struct sw_table *table);
void sw_table_will_expire(struct sw_table *table);

/* The table's clock, in milliseconds since 1970, where the system's is at wall_ms: not before any
 * that a batch had (sw_batch.clock_ms). */
uint64_t sw_table_clock(const struct sw_table *table, uint64_t wall_ms);

/* Entries whose keys `holds` has, a pure function, are another table's, whose writes come here: a
 * sweep, and a batch that is short of room, leave them when their time has come, so that they are
 * there if that table gives them another time. Whoever carries these writes out removes them by
 * `bury`, in batches without a clock. NULL: none is held. Waits for the batches that run; then what
 * was held before is not asked any more. A table whose entries do not expire does nothing. */
void sw_table_hold(struct sw_table *table, bool (*holds)(const void *context, uint64_t key),
                   const void *context);

/* Whether operation i of a batch that is done, `op`, which is EXPIRE or one of its kind, is known
 * to have left the key's time as it was. A pure function. */
bool sw_expire_was_idle(const struct sw_batch *batch, enum sw_op op, uint32_t i);

/* Whether entries of an image expire. Then `scores` of sw_image_read are their times, 0: never. */
bool sw_image_expires(const struct sw_image *image);

#endif
