/* SPDX-License-Identifier: MIT
 *
 * snapshot_take.h - the beginning of a snapshot: an image of the table, and its header.
 *
 * Threads: any without a batch of its own queue in flight.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_TAKE_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_TAKE_H

#include "server/config/config.h"
#include "server/log/snapshot_write.h"
#include "table/image.h"

/* Calls sw_image_take with a queue of its own. A table has one image at a time. While another
 * caller has it, calls `waits` (NULL: always true), and returns SW_E_BUSY if that returns false.
 * `first`: takes precedence over other callers. So every holder of an image calls
 * sw_image_is_claimed (table/image.h) several times a second, and drops the image if that returns
 * true. */
int sw_snapshot_image(struct sw_table *table, bool first, bool borrow, bool (*waits)(void *context),
                      void *context, struct sw_image **out);

/* Takes the image, which the caller drops. Fills in the header, except entries and incarnation.
 * While another caller has the image, calls write->waits to decide whether to wait on. `borrow`:
 * see sw_image_take. Returns 0; or -1 and an error in `reason`. */
int sw_snapshot_take(struct sw_snapshot_write *write, struct sw_table *table,
                     const struct sw_config *config, bool borrow,
                     char reason[SW_SNAPSHOT_REASON_BYTES]);

#endif
