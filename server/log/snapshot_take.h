/* SPDX-License-Identifier: MIT
 *
 * snapshot_take.h - the beginning of a snapshot: an image of the table, and the header that goes
 * with it.
 *
 * Threads: any, that no batch of a queue of its own is in flight of.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_TAKE_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_TAKE_H

#include "server/config/config.h"
#include "server/log/snapshot_write.h"
#include "table/image.h"

/* sw_image_take by a queue of its own, once nobody else has an image of a table that has one at a
 * time. Until then it calls `waits` (NULL: always true); if that returns false, it returns
 * SW_E_BUSY. `first`: those who have an image give it up, and those who wait for one wait on. For
 * the others that means: whoever has an image looks at sw_image_is_claimed (table/image.h) several
 * times a second, and drops the image if it is. */
int sw_snapshot_image(struct sw_table *table, bool first, bool borrow, bool (*waits)(void *context),
                      void *context, struct sw_image **out);

/* Takes the image, which the caller drops, and fills in the header but for entries and incarnation.
 * While somebody else has it, write->waits is asked whether to go on waiting.
 * `borrow` is that of sw_image_take. Returns 0; or -1 with a sentence in `reason`. */
int sw_snapshot_take(struct sw_snapshot_write *write, struct sw_table *table,
                     const struct sw_config *config, bool borrow,
                     char reason[SW_SNAPSHOT_REASON_BYTES]);

#endif
