/* SPDX-License-Identifier: MIT
 *
 * snapshot_send.h - a snapshot as a stream: the bytes that sw_snapshot_write puts into a file, in
 * order, while writes go on.
 */
#ifndef SHERWOOD_SERVER_REPL_SNAPSHOT_SEND_H
#define SHERWOOD_SERVER_REPL_SNAPSHOT_SEND_H

#include "server/log/snapshot_take.h"

/* What is sent, and how. */
struct sw_snapshot_sending {
    struct sw_table *table;
    const struct sw_config *config; /* options of the table */
    uint32_t id;                    /* of the table; 0: the first one */
    /* Called while it waits for the image. Returns false to give up; NULL: waits without limit. */
    bool (*waits)(void *context);
    /* Called before each block. Returns true if the rest is not needed. May be NULL. */
    bool (*is_over)(void *context);
    int (*send)(void *context, const void *bytes, size_t size); /* returns 0, or -1 to end */
    void *context;
};

/* Sends each part in order. Sets *sequence to the last write in the snapshot. Returns 0; or -1,
 * with an error in `reason` unless `send` failed. */
int sw_snapshot_send(const struct sw_snapshot_sending *what, uint64_t *sequence,
                     char reason[SW_SNAPSHOT_REASON_BYTES]);

#endif
