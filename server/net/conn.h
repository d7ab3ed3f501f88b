/* SPDX-License-Identifier: MIT
 *
 * conn.h - one client connection: its state, its input and its output.
 *
 *     OPEN -> DRAINING -> LINGERING -> CLOSED          (and from each straight to CLOSED)
 *
 * OPEN reads and accepts requests. DRAINING reads no more; requests already received are still
 * answered (end of input, QUIT, a protocol error, shutdown). LINGERING has sent everything and shut
 * its write side; it drops input until the peer closes. CLOSED has given its handle back to libuv.
 * The memory goes when the handle is closed and no request is in flight; answers that come later
 * find CLOSED and are dropped. Everything here runs on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_NET_CONN_H
#define SHERWOOD_SERVER_NET_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "server/observe/text.h"
#include "server/resp/session.h"

struct sw_loop;
struct sw_frame;

enum sw_conn_state { SW_CONN_OPEN, SW_CONN_DRAINING, SW_CONN_LINGERING, SW_CONN_CLOSED };

/* Decided by the first byte. */
enum sw_conn_protocol { SW_PROTOCOL_UNKNOWN, SW_PROTOCOL_RESP, SW_PROTOCOL_BULK };

/* Why a connection's received bytes wait; it is not read while it is stalled. */
enum sw_stall {
    SW_STALL_NONE,
    SW_STALL_ROUND,     /* the loop's round is full */
    SW_STALL_BARRIER,   /* the next command waits for those before it */
    SW_STALL_ARENA,     /* no arena memory for the next frame */
    SW_STALL_IN_FLIGHT, /* frames-in-flight-max */
    SW_STALL_OUTPUT     /* output-bytes-pause: what was read before goes on when it is sent */
};

/* Bytes received and not consumed yet. Memory only while there are any. */
struct sw_conn_input {
    uint8_t *bytes;
    size_t start; /* first unconsumed byte */
    size_t end;
    size_t capacity;
    size_t need;     /* the parser asked for at least this many from start */
    size_t reparsed; /* bytes parsed in vain on behalf of the request at start */
};

/* Answers to bulk frames, oldest first, that the socket has not taken yet. */
struct sw_conn_answers {
    struct sw_frame *first, *last;
    unsigned count;
    uint64_t sent;   /* bytes of the first that are gone */
    uint64_t handed; /* bytes after these that libuv is writing */
    uint64_t bytes;  /* bytes after these */
};

struct sw_conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    struct sw_loop *loop;
    struct sw_conn *previous, *next;                 /* the loop's connections */
    struct sw_conn *stalled_previous, *stalled_next; /* its stalled connections, oldest first */
    struct sw_conn *ready_previous, *ready_next;     /* those with bulk answers to send */

    enum sw_conn_state state;
    enum sw_conn_protocol protocol;
    enum sw_stall stall;
    bool reading;
    bool ended; /* the peer will send no more */
    bool handle_closed;
    bool retried;   /* input is being tried again: the connection has its turn for memory */
    bool exclusive; /* a control command is under way: nothing else is accepted */
    bool output_paused;
    bool ready; /* on the loop's list of those with bulk answers to send */

    uint64_t turn;           /* of the loop, when .. */
    uint64_t turn_bytes;     /* .. so many bytes were received */
    uint32_t in_flight;      /* requests accepted and not answered */
    uint32_t data_in_flight; /* of these, those that touch the table */
    struct sw_conn_input input;

    /* RESP answers the socket did not take: one buffer is being written, one gathers. */
    struct sw_text unsent[2];
    unsigned gathering;
    struct sw_conn_answers answers;
    bool writing; /* `write` is in use */
    uv_write_t write;
    uv_shutdown_t shutdown;

    /* Bulk: whether the last frame was large, the frame whose body is being received, and bytes of
     * a refused body still to drop. */
    bool large_frames;
    struct sw_frame *receiving;
    uint32_t gathered; /* of its frames, those that wait in the loop's gathering of writes */
    uint64_t discard_bytes;

    uint64_t request_since_ms; /* when the request being received began; 0: none */
    uint64_t input_at_ms;      /* last byte received */
    uint64_t output_at_ms;     /* last time unsent answers shrank or began */
    uint64_t output_bytes;     /* unsent at that time */
    uint64_t linger_since_ms;

    struct sw_session session;
};

/* Takes a connected socket. On failure it is closed. */
void sw_conn_open(struct sw_loop *loop, int fd, bool is_unix);

/* Sends bytes (copied if the socket does not take them at once). Nothing happens on CLOSED. */
void sw_conn_send(struct sw_conn *conn, const void *bytes, size_t size);

/* No more requests: what was accepted is answered, then the connection closes. Unconsumed input is
 * kept only if `keep_input`. */
void sw_conn_drain(struct sw_conn *conn, bool keep_input);

/* Closes now, answers in flight are dropped. */
void sw_conn_abort(struct sw_conn *conn);

/* A request has been accepted / answered (or dropped). */
void sw_conn_accept(struct sw_conn *conn, bool data);
void sw_conn_answered(struct sw_conn *conn, bool data);

/* The rest of the input waits until the loop retries it. */
void sw_conn_stall(struct sw_conn *conn, enum sw_stall reason);
/* Tries the waiting input again. The loop has taken the connection off its list. */
void sw_conn_resume(struct sw_conn *conn);

/* Closes what has waited too long. Called every SW_SWEEP_MS. */
void sw_conn_sweep(struct sw_conn *conn, uint64_t now_ms);

/* Unsent bytes grew or shrank: pauses or goes on reading, and closes if that was the last to do. */
void sw_conn_output_changed(struct sw_conn *conn);

/* Bytes of answers the peer has not taken. */
uint64_t sw_conn_unsent_bytes(const struct sw_conn *conn);

#endif
