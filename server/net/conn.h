/* SPDX-License-Identifier: MIT
 *
 * conn.h - one client connection: its state, its input and its deadlines.
 *
 *     OPEN -> DRAINING -> LINGERING -> CLOSED          (and from each straight to CLOSED)
 *
 * OPEN reads and accepts requests. DRAINING reads no more; requests already received are still
 * answered (end of input, QUIT, a protocol error, shutdown). LINGERING has sent everything and shut
 * its write side; it drops input until the peer closes. CLOSED has given its transport back.
 * The memory goes when the transport is closed and no request is in flight; replies that come later
 * find CLOSED and are dropped. Everything here runs on the connection's loop.
 *
 * What only one protocol needs is in that protocol's state, behind the connection. Fields are
 * written in net/ alone, but for those that the protocol is said to write.
 */
#ifndef SHERWOOD_SERVER_NET_CONN_H
#define SHERWOOD_SERVER_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/net/input.h"
#include "server/net/net.h"
#include "server/net/transport.h"

enum sw_conn_state { SW_CONN_OPEN, SW_CONN_DRAINING, SW_CONN_LINGERING, SW_CONN_CLOSED };

/* Why a connection's received bytes wait; it is not read while it is stalled. */
enum sw_stall {
    SW_STALL_NONE,
    SW_STALL_ROUND,     /* the loop's round is full */
    SW_STALL_BARRIER,   /* the next command waits for those before it */
    SW_STALL_ARENA,     /* no arena memory for the next frame */
    SW_STALL_IN_FLIGHT, /* frames-in-flight-max */
    SW_STALL_OUTPUT,    /* output-bytes-pause: what was read before goes on when it is sent */
    SW_STALL_TURN       /* its replies have taken their share of this turn */
};

/* Who is at the other end. */
struct sw_peer {
    uint64_t id;         /* of the connection; unique in the process, from 1 */
    uint64_t open_at_ms; /* of the loop's clock */
    char address[64];    /* "ip:port", "[ip6]:port" or "unix:0" */
};

/* Deadlines are counted from these, in milliseconds of the loop's clock. */
struct sw_conn_times {
    uint64_t request_since; /* when the request being received began; 0: none */
    uint64_t input_at;      /* last byte received */
    uint64_t output_at;     /* last time unsent replies became fewer, or began */
    uint64_t output_bytes;  /* unsent at that time */
    uint64_t linger_since;
};

struct sw_conn {
    struct sw_transport transport;
    struct sw_net *net;
    struct sw_list link;                /* the loop's connections */
    struct sw_list stalled;             /* those whose input waits */
    const struct sw_protocol *protocol; /* NULL: not a byte has come */
    struct sw_peer peer;

    enum sw_conn_state state;
    enum sw_stall stall;
    bool reading;
    bool ended; /* the peer will send no more */
    bool transport_closed;
    bool is_refused; /* it is only told that there are too many connections */
    bool retried;    /* its input is being tried again: it has its turn for memory */
    bool output_paused;

    uint64_t turn;           /* number of the turn in which .. */
    uint64_t turn_bytes;     /* .. it received so many bytes */
    uint32_t in_flight;      /* requests accepted and not answered */
    uint32_t data_in_flight; /* of these, those that touch the table */
    struct sw_input input;
    struct sw_conn_times times;

    /* Written by the protocol. */
    bool receives_body;      /* the next bytes go to protocol->body_room */
    uint32_t read_bytes;     /* what one read into the shared buffer may bring */
    uint32_t unsent_replies; /* counted only where protocol->unsent_replies_min is not 0 */
    uint64_t unsent_bytes;   /* of replies, not yet given to the transport */

    _Alignas(max_align_t) unsigned char protocol_state[];
};

/* --- conn_open.c --- */

/* Takes a connected socket; `is_refused`: only to say that connections-max is reached. On failure
 * the socket is closed. */
void sw_conn_open(struct sw_net *net, int fd, bool is_unix, bool is_refused);

/* The same in two steps, for a transport that is not a socket: a connection in its loop's lists,
 * whose transport the caller fills in; then reading begins. NULL if there is no memory. */
struct sw_conn *sw_conn_create(struct sw_net *net, bool is_refused);
void sw_conn_start(struct sw_conn *conn);
extern const struct sw_transport_events sw_conn_events;

/* --- conn.c --- */

/* The connection speaks this protocol from now on, unless it has chosen already. */
void sw_conn_choose(struct sw_conn *conn, const struct sw_spoken *spoken);

/* No more requests: what was accepted is answered, then the connection closes. Unconsumed input is
 * kept only if `keep_input`. */
void sw_conn_drain(struct sw_conn *conn, bool keep_input);

/* Closes now; replies to what is in flight are dropped. */
void sw_conn_abort(struct sw_conn *conn);

/* Says why, in the protocol's words, and drains. Returns false, with nothing done, if that cannot
 * be said now. */
bool sw_conn_refuse(struct sw_conn *conn, enum sw_refusal why);

/* A request has been accepted / answered (or dropped). The second may free the connection. */
void sw_conn_accept(struct sw_conn *conn, bool data);
void sw_conn_answered(struct sw_conn *conn, bool data);

/* The rest of the input waits until the loop tries it again. */
void sw_conn_stall(struct sw_conn *conn, enum sw_stall reason);
/* Unsent bytes grew or shrank: pauses or goes on reading, and closes if that was the last to do. */
void sw_conn_output_changed(struct sw_conn *conn);

/* Bytes of replies that the peer has not taken. */
uint64_t sw_conn_unsent_bytes(const struct sw_conn *conn);

/* Must the connection leave arena memory to others, which have waited for some longer? */
static inline bool sw_conn_memory_is_others(const struct sw_conn *conn)
{
    return conn->net->arena_closed || (conn->net->arena_waiters > 0 && !conn->retried);
}

/* Asserts what holds of a connection between two events. */
void sw_conn_check(const struct sw_conn *conn);

/* Called in net/ alone: reads exactly when there is use for what comes; closes a connection that
 * drains once nothing is left to answer or send; frees one that is closed and awaits nothing. */
void sw_conn_update_reading(struct sw_conn *conn);
void sw_conn_settle(struct sw_conn *conn);
void sw_conn_free_if_done(struct sw_conn *conn);

/* --- conn_read.c --- */

/* The transport's events. */
uv_buf_t sw_conn_room(struct sw_transport *transport);
void sw_conn_received(struct sw_transport *transport, ssize_t count, uint8_t *bytes);

/* Tries the waiting input of a stalled connection again. */
void sw_conn_resume(struct sw_conn *conn);

/* --- conn_timeouts.c --- */

/* Closes what has waited too long. */
void sw_conn_sweep(struct sw_conn *conn, uint64_t now_ms);

#endif
