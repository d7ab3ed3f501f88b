/* SPDX-License-Identifier: MIT
 *
 * protocol.h - the interface between a connection and the protocol that it speaks.
 *
 * There are two instances: sw_resp_protocol in resp/ and sw_bulk_protocol in bulk/. The first byte
 * that a peer sends selects one of them for the life of the connection. The connection owns the
 * socket, the input and the deadlines. The protocol owns its state of each connection (state_bytes
 * bytes behind the connection, zeroed at first), turns input into requests, and sends the replies.
 * All functions are called on the connection's loop. A request that is wrong gets an error as its
 * reply; a connection that cannot go on is drained or aborted.
 */
#ifndef SHERWOOD_SERVER_NET_PROTOCOL_H
#define SHERWOOD_SERVER_NET_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_conn;

/* Reasons for which the server closes a connection with an error as its last reply. */
enum sw_refusal {
    SW_REFUSAL_NONE,
    SW_REFUSAL_TIMED_OUT,            /* a request did not arrive within request-timeout */
    SW_REFUSAL_TOO_MANY_CONNECTIONS, /* connections-max is reached */
    SW_REFUSAL_INPUT_MEMORY,         /* input-bytes-max is reached, or there is no memory */
    SW_REFUSAL_PROTECTED,            /* protected-mode, and a peer on another machine */
    SW_REFUSAL_BEFORE_LOGIN,         /* connections-before-login-max is reached */
    SW_REFUSAL_LOGIN_TIMED_OUT       /* login-timeout-ms have passed */
};

struct sw_protocol {
    const char *name;
    size_t state_bytes; /* size of its state of a connection */
    /* Does a connection that begins with this byte speak this protocol? */
    bool (*claims)(uint8_t first);
    /* A connection is not paused for unsent replies before it has more than this many. 0: only
     * their bytes decide. */
    uint32_t unsent_replies_min;

    /* Initialises the state of a connection that has just selected this protocol. `loop_state` is
     * the protocol's state of the loop. */
    void (*open)(struct sw_conn *conn, void *loop_state);
    /* Parses requests from `bytes` and accepts them. Returns the number of bytes consumed. The rest
     * is an incomplete request (conn->input.need says how many bytes it needs at least), or the
     * connection is stalled (conn->stall). */
    size_t (*feed)(struct sw_conn *conn, const uint8_t *bytes, size_t size);
    /* Optional (NULL). Does a connection that is stalled for memory of a RESP batch still wait? It
     * is asked often: a loop may have a thousand such connections. */
    bool (*must_wait)(const struct sw_conn *conn);
    /* Optional (NULL). A stall has ended, and what it held back was fed; the connection may have
     * stalled again. */
    void (*resumed)(struct sw_conn *conn);
    /* While conn->receives_body: body_room returns where the next bytes go, and body_received tells
     * that this many have been written there. */
    uv_buf_t (*body_room)(struct sw_conn *conn);
    void (*body_received)(struct sw_conn *conn, size_t bytes);
    /* Queues an error behind the replies to accepted requests; the caller then drains the
     * connection. Returns false, with nothing done, if there is no room for the error now. */
    bool (*refuse)(struct sw_conn *conn, enum sw_refusal why);
    /* The bytes given to sw_transport_write have been sent (status 0) or are lost. */
    void (*written)(struct sw_conn *conn, int status);
    /* Discards an incomplete request. */
    void (*drop_input)(struct sw_conn *conn);
    /* Discards unsent replies; the connection is CLOSED. */
    void (*drop_output)(struct sw_conn *conn);
    /* Frees what the state owns; no request is in flight any more. */
    void (*close)(struct sw_conn *conn);
    /* Asserts the invariants of the state that hold between two events. */
    void (*check)(const struct sw_conn *conn);
};

#endif
