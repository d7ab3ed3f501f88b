/* SPDX-License-Identifier: MIT
 *
 * logging.h - handing the writes of batches that are done to the write-ahead log.
 */
#ifndef SHERWOOD_SERVER_BATCH_LOGGING_H
#define SHERWOOD_SERVER_BATCH_LOGGING_H

#include <stdbool.h>
#include <stdint.h>

#include "server/log/wal.h"
#include "server/repl/backlog.h"

struct sw_batch;

/* Bytes of the elements of a batch, and its table. */
struct sw_logged_widths {
    uint32_t key, value;
    uint32_t text;  /* of the key string, at the end of a value; 0: there is none */
    uint32_t table; /* id of the table; 0: the first one */
};

/* Adds the effects of a completed batch, which has a write_sequence, to the log. Leaves out refused
 * groups. If the log has no room now, does nothing and returns false.
 *
 * `copies`: the columns are copied, without operations that only read, and the batch may go at
 * once. Otherwise it has one group, which is written from where the caller's keys and operands lie:
 * they stay until sw_wal_answerable has reached the batch, or the log is hopeless.
 *
 * *bytes, which other threads may read, grows by the bytes of the record; NULL: not counted. */
bool sw_logging_hand_in(struct sw_wal *wal, const struct sw_batch *batch,
                        struct sw_logged_widths widths, bool copies, uint64_t *bytes);

/* Adds the batch to the replication backlog, always as a copy. Skips it as a write of unknown
 * effect (sw_backlog_skip) if a client may have changed its memory meanwhile (batch->shared), or if
 * there is no memory for the copy. */
void sw_logging_add_to_backlog(struct sw_backlog *backlog, const struct sw_batch *batch,
                               struct sw_logged_widths widths, bool copies);

#endif
