/* SPDX-License-Identifier: MIT
 *
 * handle.h - the handle. It belongs to the thread that uses it.
 */
#ifndef SHERWOOD_CLIENT_HANDLE_H
#define SHERWOOD_CLIENT_HANDLE_H

#include "client/connection.h"

struct sw_client_cluster;
struct sw_client_endpoints;

/* A table of the server, and the facts of it that the server has sent. */
struct sw_client_table {
    uint32_t number;                 /* of its place; 0: the default table */
    uint32_t id;                     /* of the table; 0: not known */
    uint32_t ring_id;                /* that records of the ring give; 0: they are for any table */
    uint32_t changes;                /* those of the handle when its facts were read */
    uint32_t scan_id;                /* that of the last scan that began */
    char name[SW_FRAME_TABLE_BYTES]; /* "": sherwood_connect made the handle */
    struct sherwood_server server;
};

/* A handle that sherwood_connect made, or, if `root` is another one, the handle of a table: then
 * only the first three fields are in use. Each public function calls sw_client_enter once. */
struct sherwood {
    struct sherwood *root;
    struct sw_client_table *table; /* that of the running call; of a table's handle: `own` */
    struct sw_client_table own;

    uint64_t body_bytes_max; /* of the replies of all tables */
    uint32_t changes;        /* records of the ring that were refused: another table lies there */
    uint32_t segments_max;   /* most segments of a frame; 0: not known, or the server has none */
    int broken; /* 0, or, once all connections have ended, the code that every further call returns
                 */
    int request_timeout_ms;
    char address[SW_CLIENT_ADDRESS_BYTES];
    char error[SW_CLIENT_ERROR_BYTES];

    uint32_t flights_max; /* of a connection; 1 until the server has sent its limit */
    uint32_t in_flight;   /* frames in flight on all connections */
    uint64_t sequence;
    uint64_t clock;     /* milliseconds spent waiting */
    uint64_t polled_ms; /* when `clock` was last brought up to date */
    int epoll;          /* the descriptor, or -1 */
    struct sherwood_traffic traffic;

    uint64_t overflows; /* of the last sherwood_run */

    struct sherwood_region *regions; /* of the first connection; NULL: none */
    struct sw_sharing sharing;       /* the server's limits, after ATTACH */
    int spin_us;

    bool has_cursors; /* a scan of this handle has not ended, or the caller vouches for cursors */
    uint32_t connections_made; /* since the handle was made */

    struct sw_client_trace trace; /* of the requests that follow */

    uint64_t last_write;  /* the highest write_sequence that the server has sent; 0: none */
    uint64_t incarnation; /* id of the server's log; 0: the server does not log writes */
    bool lost_writes;     /* a connection that has written ended since sherwood_wait_replicas */
    bool lost_durable;    /* the handle left a primary that had acknowledged writes, since
                             sherwood_wait_durable */

    struct sw_client_endpoints
        *endpoints;     /* owned; NULL: the handle has one address, or a cluster */
    bool is_fixed;      /* a call has used the facts of the server, so they no longer change */
    bool is_at_replica; /* a replica refused the last request that was refused */
    char primary[SW_CLIENT_ADDRESS_BYTES]; /* the primary that this replica named; "": none */

    /* What the last sherwood_stats received. */
    uint32_t figures_count;
    struct sw_figure figures[SW_FIGURES_MAX];

    /* Submitted requests whose reply has been received, and which no waiting call has returned yet.
     */
    struct sherwood_request *done_first, *done_last;

    struct sw_client_cluster *cluster; /* NULL: the handle is of one server */

    uint8_t scratch[SW_CLIENT_SCRATCH_BYTES];
    uint32_t next; /* the connection that the next request considers first */
    uint32_t connections_count;
    struct sw_client_connection *connections[SHERWOOD_STRIPES_MAX];
};

/* Returns the handle that has the connections, and makes the table of `handle` that of the requests
 * that follow. NULL: NULL. Functions of the library pass the result to each other: it must not be
 * entered again. */
static inline struct sherwood *sw_client_enter(const struct sherwood *handle)
{
    struct sherwood *root = handle == NULL ? NULL : handle->root;
    if (root != NULL) {
        root->table =
            (struct sw_client_table *)(uintptr_t)&handle->own; /* a const handle is not written */
    }
    return root;
}

/* Can the connection take another frame? */
static inline bool sw_client_connection_is_free(const struct sw_client_connection *connection)
{
    return connection->broken == 0 && connection->in_flight < connection->client->flights_max;
}

/* Does what sherwood_connect_text does, over transports of this connector. */
int sw_client_connect(const struct sw_client_connector *connector, const char *address,
                      const struct sherwood_options *options, struct sherwood **out, char *text,
                      size_t text_bytes);

/* Does what sherwood_wait_durable does, for the writes up to `sequence` in the log of this
 * incarnation. */
int sw_client_wait_durable(struct sherwood *client, uint64_t incarnation, uint64_t sequence,
                           int timeout_ms);

/* Lets scans go on with cursors of another handle. The caller guarantees that the server has not
 * restarted since. */
void sw_client_vouch_for_cursors(struct sherwood *client);

#endif
