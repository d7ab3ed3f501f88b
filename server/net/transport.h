/* SPDX-License-Identifier: MIT
 *
 * transport.h - the socket of one connection, and everything that is done with it.
 *
 * A connection reads, writes and closes through these functions only, and a transport calls it back
 * through four events. Nothing above knows how bytes travel: encryption is to be another set of
 * sw_transport_functions, and the tests have one without a socket. All byte counts are of plain
 * bytes, as the connection gives and gets them. Reads land in memory that the connection names, and
 * writes leave from where the bytes lie: neither copies.
 *
 * Everything runs on the loop's thread. The memory of a transport whose open was called must stay
 * until its `closed` event.
 */
#ifndef SHERWOOD_SERVER_NET_TRANSPORT_H
#define SHERWOOD_SERVER_NET_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct sw_transport;

struct sw_transport_events {
    /* Where the next bytes go. A length of 0 ends this turn's reading: `received` gets
     * UV_ENOBUFS. */
    uv_buf_t (*room)(struct sw_transport *transport);
    /* `count` bytes have come and lie at `bytes`; or a negative error of libuv, UV_EOF at the end.
     * May close the transport. */
    void (*received)(struct sw_transport *transport, ssize_t count, uint8_t *bytes);
    /* What sw_transport_write was given is gone (status 0) or lost, and its memory is the caller's
     * again. Comes before `closed` in any case. */
    void (*written)(struct sw_transport *transport, int status);
    /* The transport is done with; its memory may go. */
    void (*closed)(struct sw_transport *transport);
};

struct sw_transport_functions {
    void (*read_start)(struct sw_transport *transport);
    void (*read_stop)(struct sw_transport *transport);
    int (*try_write)(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count);
    int (*write)(struct sw_transport *transport, const uv_buf_t *pieces, unsigned count);
    uint64_t (*queued_bytes)(const struct sw_transport *transport);
    void (*shutdown)(struct sw_transport *transport);
    void (*close)(struct sw_transport *transport);
};

struct sw_transport {
    const struct sw_transport_functions *functions;
    const struct sw_transport_events *events;
    bool writing; /* between sw_transport_write and its `written` */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* Bytes the kernel may keep of one socket, each way; 0 leaves its own default. */
struct sw_socket_sizes {
    uint64_t tcp;
    uint64_t unix_socket;
};

/* Takes a connected socket, unencrypted. Returns 0, or a negative error of libuv: then the caller
 * keeps `fd`, and closes the transport all the same. */
int sw_transport_open(struct sw_transport *transport, uv_loop_t *uv, int fd, bool is_unix,
                      struct sw_socket_sizes sizes, const struct sw_transport_events *events);

static inline void sw_transport_read_start(struct sw_transport *transport)
{
    transport->functions->read_start(transport);
}

static inline void sw_transport_read_stop(struct sw_transport *transport)
{
    transport->functions->read_stop(transport);
}

/* Writes what the socket takes at once, without waiting. Returns the bytes, or a negative error;
 * UV_EAGAIN: none now. */
static inline int sw_transport_try_write(struct sw_transport *transport, const uv_buf_t *pieces,
                                         unsigned count)
{
    return transport->functions->try_write(transport, pieces, count);
}

/* Writes all of it, as the socket takes it; `written` follows. One write at a time. Returns 0 or a
 * negative error; then `written` does not follow. */
static inline int sw_transport_write(struct sw_transport *transport, const uv_buf_t *pieces,
                                     unsigned count)
{
    int error = transport->functions->write(transport, pieces, count);
    transport->writing = error == 0;
    return error;
}

/* Bytes given to sw_transport_write that the peer's side has not taken yet. */
static inline uint64_t sw_transport_queued_bytes(const struct sw_transport *transport)
{
    return transport->functions->queued_bytes(transport);
}

/* No more will be written: the peer sees the end of its input. */
static inline void sw_transport_shutdown(struct sw_transport *transport)
{
    transport->functions->shutdown(transport);
}

/* Closes now. `closed` follows, later. */
static inline void sw_transport_close(struct sw_transport *transport)
{
    transport->functions->close(transport);
}

#endif
