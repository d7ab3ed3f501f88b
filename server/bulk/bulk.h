/* SPDX-License-Identifier: MIT
 *
 * bulk.h - the bulk side of a loop, and of each of its connections: frames in, batches, frames out.
 *
 * A frame's body is received into the loop's arena and is the batch's key and operand arrays as it
 * lies there; the batch writes its results beside it, and these bytes are what is sent. Everything
 * belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_BULK_H
#define SHERWOOD_SERVER_BULK_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/batch/batches.h"
#include "server/bulk/frame_pool.h"
#include "server/bulk/gather.h"
#include "server/net/conn.h"
#include "server/observe/snapshot.h"

/* What the bulk side needs of the server around it. */
struct sw_bulk_owner {
    void *server;
    void (*snapshot)(void *server, struct sw_snapshot *snapshot);
};

struct sw_bulk {
    struct sw_net *net;
    struct sw_batches *batches;
    struct sw_bulk_owner owner;
    uint64_t operations; /* those the engine has: bit 1 << enum sw_operation */
    struct sw_frame_pool pool;
    struct sw_gather gather; /* small writes that wait for each other */
    struct sw_list ready;    /* connections with replies to send */
};

/* Replies of a connection that the socket has not taken yet. */
struct sw_bulk_unsent {
    struct sw_list frames; /* oldest first; conn->unsent_replies of them */
    uint64_t sent;         /* bytes of the first that are gone */
    uint64_t handed;       /* bytes after these that the transport is writing */
};

/* What the bulk side keeps of a connection, in conn->protocol_state. */
struct sw_bulk_conn {
    struct sw_bulk *bulk;
    struct sw_conn *conn;
    struct sw_list ready; /* link: it has replies to send, and may */
    struct sw_bulk_unsent unsent;
    struct sw_bulk_frame *receiving; /* its body is being received; NULL: none */
    uint32_t gathered;               /* its frames that wait in the loop's gathering of writes */
    uint64_t discard_bytes;          /* of a refused body, still to drop */
};

static inline struct sw_bulk_conn *sw_bulk_of(struct sw_conn *conn)
{
    return (struct sw_bulk_conn *)(void *)conn->protocol_state;
}

extern const struct sw_protocol sw_bulk_protocol;

/* Returns 0, or -1 (memory); fini is allowed after both. */
int sw_bulk_init(struct sw_bulk *bulk, struct sw_net *net, struct sw_batches *batches,
                 const struct sw_bulk_owner *owner);
void sw_bulk_fini(struct sw_bulk *bulk);

/* Asserts what holds between two events. */
void sw_bulk_check(const struct sw_bulk *bulk);

#endif
