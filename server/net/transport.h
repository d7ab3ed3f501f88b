/* SPDX-License-Identifier: MIT
 *
 * transport.h - the socket of one connection, behind an interface.
 *
 * A connection reads, writes and closes through these functions only, and the transport calls the
 * connection back through its events. No other module knows how bytes travel: tls.c has another set
 * of sw_transport_functions, and the tests have one without a socket. All byte counts are of plain
 * bytes. Neither direction copies: a read goes to the memory that the connection names, and a write
 * sends, or encrypts from, the caller's memory.
 *
 * Everything runs on the loop's thread. Functions return 0 or a negative error of libuv. Once
 * sw_transport_open was called, even if it failed, the memory of the transport must stay until its
 * `closed` event.
 */
#ifndef SHERWOOD_SERVER_NET_TRANSPORT_H
#define SHERWOOD_SERVER_NET_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct sw_transport;
struct sw_tls;
struct sw_descriptors;

/* Events of TLS transports that the server counts and logs. */
enum sw_transport_news {
    SW_NEWS_SECURED,          /* the handshake is complete; the text is the version of TLS */
    SW_NEWS_HANDSHAKE_FAILED, /* such as: the peer has no TLS, or no valid certificate */
    SW_NEWS_CUT,   /* the input has ended without close_notify: something may be missing */
    SW_NEWS_BROKEN /* after the handshake: a damaged record */
};

struct sw_transport_events {
    /* Returns the memory that the next bytes are read into. A length of 0 ends this iteration's
     * reading: `received` then gets UV_ENOBUFS. */
    uv_buf_t (*room)(struct sw_transport *transport);
    /* `count` bytes were read to `bytes`; or `count` is a negative error of libuv, UV_EOF at the
     * end of the input. May close the transport. */
    void (*received)(struct sw_transport *transport, ssize_t count, uint8_t *bytes);
    /* The bytes given to sw_transport_write are sent (status 0) or lost, and the caller may reuse
     * their memory. Always comes before `closed`. */
    void (*written)(struct sw_transport *transport, int status);
    /* The transport is closed; its memory may be freed. */
    void (*closed)(struct sw_transport *transport);
    /* Optional (NULL). `text` says what has happened; it is valid during the call. It changes
     * nothing about the other events. */
    void (*news)(struct sw_transport *transport, enum sw_transport_news news, const char *text);
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
    struct sw_tls *tls;                 /* owned by tls.c; NULL: the transport does not encrypt */
    struct sw_descriptors *descriptors; /* owned by descriptors.c; NULL: it takes none */
    bool writing;                       /* between sw_transport_write and its `written` */
    bool opening; /* the handshake is not complete: nothing is sent or received yet */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_poll_t poll;
    } uv;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* The functions of an unencrypted transport. */
extern const struct sw_transport_functions sw_transport_plain;

/* Sizes in bytes of the kernel's buffers of one socket; 0 leaves the kernel's default. */
struct sw_socket_sizes {
    uint64_t tcp;         /* of both buffers of a TCP socket */
    uint64_t unix_socket; /* of the send buffer of a Unix socket */
};

/* Sets the options of a TCP socket: its sizes, no delay of small segments, probes of silent peers.
 */
void sw_socket_tune_tcp(int fd, struct sw_socket_sizes sizes);

/* Opens an unencrypted transport on a connected socket, which it owns from then on. Returns 0, or a
 * negative error: then the caller keeps `fd`, and must close the transport all the same. */
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

/* Writes the bytes that the socket accepts without waiting. Returns their number or a negative
 * error; UV_EAGAIN if the socket accepts no byte now. The next write, by either function, must
 * begin with the first byte that was not accepted: it may be encrypted already. */
static inline int sw_transport_try_write(struct sw_transport *transport, const uv_buf_t *pieces,
                                         unsigned count)
{
    return transport->functions->try_write(transport, pieces, count);
}

/* Writes all pieces, whose memory the transport uses until its `written` event. There can be one
 * such write at a time. Returns 0, or a negative error: then there is no `written` event. */
static inline int sw_transport_write(struct sw_transport *transport, const uv_buf_t *pieces,
                                     unsigned count)
{
    int error = transport->functions->write(transport, pieces, count);
    transport->writing = error == 0;
    return error;
}

/* Bytes given to sw_transport_write that the socket has not taken yet. */
static inline uint64_t sw_transport_queued_bytes(const struct sw_transport *transport)
{
    return transport->functions->queued_bytes(transport);
}

/* Shuts the write side down: the peer sees the end of its input. */
static inline void sw_transport_shutdown(struct sw_transport *transport)
{
    transport->functions->shutdown(transport);
}

/* Closes the transport. Its `closed` event follows in a later callback. */
static inline void sw_transport_close(struct sw_transport *transport)
{
    transport->functions->close(transport);
}

#endif
