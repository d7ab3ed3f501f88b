/* SPDX-License-Identifier: MIT
 *
 * bulk.h - the protocol of bulk frames: its state of a loop, and of each connection.
 *
 * The body of a frame is received into the loop's arena, where it is the key and operand arrays of
 * the batch. The batch writes its results behind the body, and the server sends them from there.
 * Only bytes of a body that arrive in one read with a head are copied. Everything belongs to the
 * loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_BULK_H
#define SHERWOOD_SERVER_BULK_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/operation.h"
#include "server/batch/batches.h"
#include "server/bulk/frame_pool.h"
#include "server/bulk/frame_table.h"
#include "server/bulk/permit.h"
#include "server/net/conn.h"
#include "server/observe/server_stats.h"
#include "server/observe/timings.h"
#include "server/repl/last_write.h"

struct sw_bulk_shared;
struct sw_change_run;
struct sw_region_budget;
struct sw_repl;
struct sw_saver;
struct sw_span_queue;
struct sw_tracer;

/* The functions of the server that this protocol uses; see struct sw_loop_owner. */
struct sw_bulk_owner {
    void *server; /* argument of the functions */
    void (*snapshot)(void *server, struct sw_server_stats *snapshot);
    const struct sw_saver *saver;           /* NULL: there is no data directory */
    struct sw_repl *repl;                   /* NULL: no replication */
    struct sw_timings *timings;             /* NULL: nothing is timed */
    struct sw_region_budget *region_budget; /* NULL: no memory is shared */
    struct sw_tracer *tracer;               /* NULL: nothing is traced */
    struct sw_span_queue *spans;            /* the loop's; NULL: nothing is traced */
    uint32_t run;                           /* random number of this start of the server */
};

struct sw_bulk {
    struct sw_net *net;
    struct sw_bulk_table *table; /* in place 0 now */
    uint32_t table_id;           /* of this table */
    uint64_t body_bytes_max;     /* of a request, to the widest table */
    /* batches of the loop's first seat, which lives as long as the loop: its arena, log, obstacles,
     * and the table that allocates and imports memory */
    struct sw_batches *first;
    struct sw_bulk_owner owner;
    struct sw_bulk_rights rights;
    struct sw_bulk_pool pool;
    struct sw_list waits;   /* frames of WAIT_DURABLE, WAIT and DIGEST */
    struct sw_list rings;   /* of connections; struct sw_bulk_shared */
    struct sw_list copying; /* frames whose regions the device copies: region_copies.h */
    struct sw_list ready;   /* connections that have replies to send and are not writing */
};

/* Replies of a connection that the socket has not taken yet. */
struct sw_bulk_unsent {
    struct sw_list frames; /* the frames of the replies, oldest first */
    uint64_t sent;         /* bytes of the first frame that have been sent */
    uint64_t handed;       /* bytes after these that the transport is writing */
};

/* The state of a connection, in conn->protocol_state. */
struct sw_bulk_conn {
    struct sw_bulk *bulk; /* the state of its loop; borrowed */
    struct sw_conn *conn; /* the connection that this state is part of */
    struct sw_list ready; /* link in bulk->ready */
    struct sw_bulk_unsent unsent;
    struct sw_bulk_frame *receiving; /* the frame whose body is being received; NULL: none */
    struct sw_bulk_frame *held;      /* a complete frame that CLIENT PAUSE holds back; NULL: none */
    struct sw_bulk_shared *shared;   /* what it shares with its client, owned; NULL: nothing */
    struct sw_last_write last_write;
    struct sw_change_run *change; /* of a TABLE whose frame starts next, owned; NULL: none */
    uint64_t view;                /* number of the loop's view of the tables when it began */
    uint32_t frozen;              /* replies SLOT_FROZEN that were sent */
    uint64_t discard_bytes;       /* rest of the body of a refused frame, to be discarded */
};

/* The state of a connection that speaks this protocol. */
static inline struct sw_bulk_conn *sw_bulk_of(struct sw_conn *conn)
{
    return (struct sw_bulk_conn *)(void *)conn->protocol_state;
}

extern const struct sw_protocol sw_bulk_protocol;

/* Borrows `net` and `first`, the table of the loop's first seat, until sw_bulk_fini; `owner` is
 * copied. */
void sw_bulk_init(struct sw_bulk *bulk, struct sw_net *net, struct sw_bulk_table *first,
                  const struct sw_bulk_owner *owner);
/* Do requests of this protocol use these batches, beside those in their lists of flights? */
bool sw_bulk_uses(const struct sw_bulk *bulk, const struct sw_batches *batches);
/* Frees the pool. May also be called for a struct that is all zeros. */
void sw_bulk_fini(struct sw_bulk *bulk);

/* Call it when the server has become a replica. Drains the connections that have written: the
 * numbers of their writes are of another history than the later ones. */
void sw_bulk_close_writers(struct sw_bulk *bulk);

/* Asserts the invariants that hold between two events. */
void sw_bulk_check(const struct sw_bulk *bulk);

#endif
