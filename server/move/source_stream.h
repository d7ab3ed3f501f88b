/* SPDX-License-Identifier: MIT
 *
 * source_stream.h - the messages of a migration source: entries of its table, then the parts of
 * later writes that concern the slots.
 *
 * Functions return 0, or -1 and set the mover's reason. Threads: the mover's.
 */
#ifndef SHERWOOD_SERVER_MOVE_SOURCE_STREAM_H
#define SHERWOOD_SERVER_MOVE_SOURCE_STREAM_H

#include "server/move/mover_parts.h"

struct source {
    struct sw_mover *mover;
    const struct sw_move_hello *hello;
    struct sw_peer_connection connection;
    uint64_t salt;
    uint32_t most; /* operations of a message */
    uint64_t sent; /* writes up to here were sent, or concern other slots only */
    uint64_t of;   /* the write that is being sent */
};

/* Columns of a message; NULL: the message lacks this column. */
struct giving_columns {
    const void *keys, *operands, *operations;
    const uint64_t *times;
};

int sw_move_source_connection_failed(struct source *source);
/* Sends a message; `columns` NULL: the message has only a head. */
int sw_move_source_send(struct source *source, const struct sw_move_head *head,
                        const struct giving_columns *columns);
/* Sends entries from the mover's memory. A callback for sw_mover_each. */
int sw_move_source_send_entries(struct sw_mover *mover, uint32_t count, void *user);
/* Sends expired keys, which the target removes before the operations of the write `source->of`. */
int sw_move_source_send_expired(struct source *source, const uint8_t *keys, uint32_t count);
/* Sends exactly the writes after *at up to `through`. Waits for writes that the backlog lacks
 * still. */
int sw_move_source_send_through(struct source *source, uint64_t *at, uint64_t through);

#endif
