/* SPDX-License-Identifier: MIT
 *
 * snapshot_send.h - a snapshot as a stream: the bytes that sw_snapshot_write puts into a file, in
 * order, while writes go on.
 */
#ifndef SHERWOOD_SERVER_REPL_SNAPSHOT_SEND_H
#define SHERWOOD_SERVER_REPL_SNAPSHOT_SEND_H

#include "server/log/snapshot_take.h"

/* Calls `send` for each part in order. `send` returns 0, or -1 to end. Sets *sequence to the last
 * write in the snapshot. Returns 0; or -1, with an error in `reason` unless `send` failed. */
int sw_snapshot_send(struct sw_table *table, const struct sw_config *config,
                     bool (*waits)(void *context),
                     int (*send)(void *context, const void *bytes, size_t size), void *context,
                     uint64_t *sequence, char reason[SW_SNAPSHOT_REASON_BYTES]);

#endif
