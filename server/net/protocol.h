/* SPDX-License-Identifier: MIT
 *
 * protocol.h - what a connection asks of the protocol that it speaks.
 *
 * There is one instance in resp/ and one in bulk/. The first byte that a peer sends chooses, and
 * the choice stays. The connection owns the socket, the input and the deadlines; the protocol owns
 * its own state of each connection (state_bytes behind the connection, zeroed), turns input into
 * requests, and sends the replies. All functions are called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_NET_PROTOCOL_H
#define SHERWOOD_SERVER_NET_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct sw_conn;

/* Why a connection is told that it will be closed. */
enum sw_refusal {
    SW_REFUSAL_TIMED_OUT,            /* request-timeout */
    SW_REFUSAL_TOO_MANY_CONNECTIONS, /* connections-max */
    SW_REFUSAL_INPUT_MEMORY          /* input-bytes-max, or no memory at all */
};

struct sw_protocol {
    const char *name;
    size_t state_bytes;
    /* Does a connection that begins with this byte speak this protocol? */
    bool (*claims)(uint8_t first);
    /* Do connections in this protocol share a turn's bytes when single requests are about? */
    bool shares_turn;
    /* A connection is not paused for unsent replies before it has more than this many. 0: bytes
     * alone decide. */
    uint32_t unsent_replies_min;

    /* The connection has just chosen this protocol; `side` is the protocol's side of the loop. */
    void (*open)(struct sw_conn *conn, void *side);
    /* Takes requests from `bytes`. Returns the bytes consumed. What is left is the beginning of a
     * request (conn->input.need says how much is wanted), or waits (conn->stall). */
    size_t (*feed)(struct sw_conn *conn, const uint8_t *bytes, size_t size);
    /* While conn->receives_body: where the next bytes go, and that so many have come there. */
    uv_buf_t (*body_room)(struct sw_conn *conn);
    void (*body_received)(struct sw_conn *conn, size_t bytes);
    /* Queues an error behind the replies to what was accepted; the connection drains afterwards.
     * Returns false, with nothing done, if there is no room for it now. */
    bool (*refuse)(struct sw_conn *conn, enum sw_refusal why);
    /* What was given to sw_transport_write has left, or is lost. */
    void (*written)(struct sw_conn *conn, int status);
    /* Forgets a request that has only partly arrived. */
    void (*drop_input)(struct sw_conn *conn);
    /* Forgets replies that are not sent; the connection is CLOSED. */
    void (*drop_output)(struct sw_conn *conn);
    /* Gives back what the state owns; nothing is in flight any more. */
    void (*close)(struct sw_conn *conn);
    /* Asserts what holds of the state between two events. */
    void (*check)(const struct sw_conn *conn);
};

#endif
