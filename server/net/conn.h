/* SPDX-License-Identifier: MIT
 *
 * conn.h - one client connection: its state, its input and its deadlines.
 *
 *     OPEN -> DRAINING -> LINGERING -> CLOSED          (and from each straight to CLOSED)
 *
 * An OPEN connection reads and accepts requests. A DRAINING one reads no more, and still sends the
 * replies to the requests that it has accepted; a connection drains after the end of its input,
 * QUIT, a protocol error, or when the server shuts down. A LINGERING one has sent everything and
 * has shut down its write side; it discards its input until the peer closes. A CLOSED one has
 * called sw_transport_close.
 *
 * The memory is freed when the transport is closed and no request is in flight. Results that arrive
 * later find the state CLOSED, and their replies are dropped. Everything here runs on the
 * connection's loop. No function returns an error unless its comment says so: a connection that
 * cannot go on is closed.
 *
 * State that only one protocol needs is in protocol_state, behind the connection. Only files in
 * net/ write the fields, except those marked as written by the protocol.
 */
#ifndef SHERWOOD_SERVER_NET_CONN_H
#define SHERWOOD_SERVER_NET_CONN_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/net/client_list.h"
#include "server/net/input.h"
#include "server/net/net.h"
#include "server/net/transport.h"
#include "server/users/users.h"

enum sw_conn_state { SW_CONN_OPEN, SW_CONN_DRAINING, SW_CONN_LINGERING, SW_CONN_CLOSED };

/* Why the received bytes of a connection are not parsed now. The loop does not read from a stalled
 * connection. server/README.md lists the end of each stall. */
enum sw_stall {
    SW_STALL_NONE,
    SW_STALL_BATCH_FULL,  /* the table's RESP batch has no room for the next command */
    SW_STALL_BARRIER,     /* the next command must wait for the replies to earlier ones */
    SW_STALL_ARENA,       /* the arena has no memory for the next frame or scan */
    SW_STALL_HELD,        /* the table of either is held, and half of the arena is in use */
    SW_STALL_IN_FLIGHT,   /* the connection has frames-in-flight-max requests without a reply */
    SW_STALL_OUTPUT,      /* the connection has more unsent replies than output-bytes-pause */
    SW_STALL_LOGIN,       /* a password was wrong: the server does not read the next one yet */
    SW_STALL_LOG,         /* the write-ahead log has no room for the next write */
    SW_STALL_PAUSED,      /* CLIENT PAUSE holds the next request back */
    SW_STALL_COPIES,      /* the device copies the inputs of the next record of its ring */
    SW_STALL_FROZEN,      /* the next command has keys of a slot that is being handed over */
    SW_STALL_YIELDED,     /* the connection has used up its share of time, or of text replies */
    SW_STALL_BATCH_MEMORY /* RESP batches of other tables have all the memory for batches */
};

/* The peer of a connection. */
struct sw_peer {
    uint64_t id;         /* number of the connection: unique in the process, from 1 */
    uint64_t open_at_ms; /* when it was opened, by the loop's clock */
    char address[64];    /* "ip:port", "[ip6]:port" or "unix:0" */
};

/* Start times of deadlines, in milliseconds of the loop's clock. */
struct sw_conn_times {
    uint64_t request_since; /* when the incomplete request began to arrive; 0: there is none */
    uint64_t input_at;      /* when the last byte was received */
    uint64_t output_at;     /* when the peer last took some of its unsent replies */
    uint64_t output_bytes;  /* unsent bytes that the last sweep saw; 0: none */
    uint64_t linger_since;  /* when the state became LINGERING */
};

struct sw_conn {
    struct sw_transport transport;
    struct sw_net *net;                 /* the connections of its loop; borrowed */
    struct sw_list link;                /* link in net->conns */
    struct sw_list stalled;             /* link in net->stalled, while it is stalled */
    const struct sw_protocol *protocol; /* NULL: the peer has not sent a byte yet */
    struct sw_peer peer;
    struct sw_clients_entry shown; /* of net->clients, which other threads read */

    enum sw_conn_state state;
    enum sw_stall stall;
    bool reading;            /* the transport delivers input */
    bool ended;              /* the peer has closed its write side */
    bool transport_closed;   /* the transport's `closed` event has come */
    bool is_refused;         /* over connections-max: the listener has not counted it */
    enum sw_refusal refusal; /* it only gets this error; NONE: it is served */
    bool retried;            /* sw_conn_resume is parsing its input again */
    bool output_paused;      /* it is not read, because it has too many unsent replies */
    bool is_left_out;        /* it was not read in this iteration: other connections come first */
    bool is_socket_kept;     /* the peer sees no end when it closes: sw_conn_keep_socket */

    struct sw_iteration_share share;
    uint32_t in_flight;      /* requests that were accepted and have no reply yet */
    uint32_t data_in_flight; /* those of in_flight that access the table */
    struct sw_input input;
    struct sw_conn_times times;

    struct sw_login login;         /* its user: conn_login.c */
    bool lacks_login;              /* it is counted as one that has not logged in */
    uint8_t login_failures;        /* wrong passwords since the last right one */
    uint64_t login_since_ms;       /* when lacks_login last changed */
    uint64_t login_waits_until_ms; /* it is not read before this time; 0: no password was wrong */

    /* Written by the protocol. */
    bool receives_body;      /* the next bytes go to protocol->body_room */
    uint32_t read_bytes;     /* at most this many bytes are read at once into the shared buffer */
    uint32_t unsent_replies; /* counted only where protocol->unsent_replies_min is not 0 */
    uint64_t unsent_bytes;   /* bytes of replies that were not yet given to the transport */
    uint64_t held_bytes;     /* of replies that wait for the write-ahead log */
    uint64_t last_request;   /* for CLIENT LIST: sw_clients_command or sw_clients_frame; 0: none */
    int64_t queued_commands; /* for CLIENT LIST: commands that wait for EXEC; -1: no transaction */
    bool is_shown_commands;  /* MONITOR shows commands here: the connection is never idle */

    _Alignas(max_align_t) unsigned char protocol_state[];
};

/* --- conn_open.c --- */

/* Makes a connection of a connected socket, which it owns from then on. If it is refused, the peer
 * only gets an error that says that connections-max is reached. On failure the socket is closed. */
void sw_conn_open(struct sw_net *net, struct sw_inbox_item accepted);

/* The two steps of sw_conn_open, for a transport that is not a socket. sw_conn_create puts a new
 * connection into its loop's lists, and returns NULL if there is no memory. The caller then fills
 * in the transport, and sw_conn_start starts reading. */
struct sw_conn *sw_conn_create(struct sw_net *net, bool is_refused);
void sw_conn_start(struct sw_conn *conn);
extern const struct sw_transport_events sw_conn_events;

/* --- conn.c --- */

/* Sets the protocol of a connection that has none yet. */
void sw_conn_set_protocol(struct sw_conn *conn, const struct sw_net_protocol *entry);

/* Accepts no more requests. The connection closes when the replies to those that were accepted have
 * been sent. Input that is not consumed is kept only if `keep_input`. */
void sw_conn_drain(struct sw_conn *conn, bool keep_input);

/* Closes the connection now; replies to requests in flight are dropped. */
void sw_conn_abort(struct sw_conn *conn);

/* Returns a second descriptor of the connection's socket, which the caller closes, or -1. The peer
 * then sees the end of the connection only when both are closed. */
int sw_conn_keep_socket(struct sw_conn *conn);

/* Queues an error in the connection's protocol, and drains. Returns false, with nothing done, if
 * the protocol has no room for the error now. */
bool sw_conn_refuse(struct sw_conn *conn, enum sw_refusal why);

/* Counts a request as accepted; `data`: it accesses the table. */
static inline void sw_conn_accept(struct sw_conn *conn, bool data)
{
    assert(conn->state < SW_CONN_LINGERING);
    conn->in_flight++;
    conn->data_in_flight += data;
}
/* Notes that the replies to `requests` accepted requests have been queued or dropped. `data` of
 * these requests access the table. May free the connection. */
void sw_conn_requests_done(struct sw_conn *conn, uint32_t requests, uint32_t data);
static inline void sw_conn_request_done(struct sw_conn *conn, bool data)
{
    sw_conn_requests_done(conn, 1, data);
}

/* Stops parsing the input until sw_net_retry_stalled tries it again. */
void sw_conn_stall(struct sw_conn *conn, enum sw_stall reason);
/* To be called when unsent_bytes or unsent_replies have changed: pauses or resumes reading, and
 * closes a draining connection that has nothing left to send. */
void sw_conn_output_changed(struct sw_conn *conn);

/* Bytes of replies that the socket has not taken. */
uint64_t sw_conn_unsent_bytes(const struct sw_conn *conn);

/* Is the free arena memory reserved for connections that have waited for it longer? */
static inline bool sw_conn_arena_is_reserved(const struct sw_conn *conn)
{
    return conn->net->arena_closed || (conn->net->arena_waiters > 0 && !conn->retried);
}

/* Asserts the invariants of a connection that hold between two events. */
void sw_conn_check(const struct sw_conn *conn);

/* Functions for net/ alone. sw_conn_update_reading starts or stops reading, as the state demands.
 * sw_conn_settle closes a draining connection once no request is in flight and no reply is unsent.
 * sw_conn_free_if_done frees a closed connection that has no request in flight. sw_conn_end_stall
 * removes a connection from the list of stalled connections. */
void sw_conn_update_reading(struct sw_conn *conn);
void sw_conn_settle(struct sw_conn *conn);
void sw_conn_free_if_done(struct sw_conn *conn);
void sw_conn_end_stall(struct sw_conn *conn);

/* --- conn_read.c --- */

/* The transport's events `room` and `received`. */
uv_buf_t sw_conn_room(struct sw_transport *transport);
void sw_conn_received(struct sw_transport *transport, ssize_t count, uint8_t *bytes);

/* Ends a stall: parses the input that the connection holds. The connection may stall again. */
void sw_conn_resume(struct sw_conn *conn);

/* --- conn_timeouts.c --- */

/* Closes or drains the connection if one of its deadlines has passed. */
void sw_conn_sweep(struct sw_conn *conn, uint64_t now_ms);

#endif
