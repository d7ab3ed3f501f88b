/* SPDX-License-Identifier: MIT
 *
 * snapshot_send.h - a snapshot as a stream of bytes: what sw_snapshot_write puts into a file, in
 * order, while writes go on.
 */
#ifndef SHERWOOD_SERVER_REPL_SNAPSHOT_SEND_H
#define SHERWOOD_SERVER_REPL_SNAPSHOT_SEND_H

#include "server/log/snapshot_take.h"

/* Calls `send` for one part after the other; it returns 0, or -1 to end it. *sequence receives the
 * last write that is in it. Returns 0; or -1, with a sentence in `reason` if it was not `send` that
 * failed. */
int sw_snapshot_send(struct sw_table *table, const struct sw_config *config,
                     bool (*waits)(void *context),
                     int (*send)(void *context, const void *bytes, size_t size), void *context,
                     uint64_t *sequence, char reason[SW_SNAPSHOT_REASON_BYTES]);

#endif
