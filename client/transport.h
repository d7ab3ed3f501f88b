/* SPDX-License-Identifier: MIT
 *
 * transport.h - the seam between the library and what carries the bytes of a connection. The rest
 * of the library uses only this; transport_socket.c is the transport of sockets, and
 * transport_tls.c that of TLS.
 *
 * A transport belongs to one connection, and is used by the thread that uses the handle. Its
 * functions never block and never raise SIGPIPE. They count bytes of frames, whatever is on the
 * wire.
 */
#ifndef SHERWOOD_CLIENT_TRANSPORT_H
#define SHERWOOD_CLIENT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "client/sherwood.h"

struct sw_client_transport;

struct sw_client_transport_calls {
    /* Receives into the parts. Returns bytes, 0 at the end of the stream, or -1 and errno (EAGAIN
     * where there is nothing now). */
    int64_t (*read)(struct sw_client_transport *transport, struct iovec *parts, int count);
    /* Sends from the parts; `more` follows at once. Returns bytes, or -1 and errno (EAGAIN where
     * nothing can be taken now). */
    int64_t (*write)(struct sw_client_transport *transport, struct iovec *parts, int count,
                     bool more);
    /* Optional (NULL): sends memory that never changes, without copying it. The result is that of
     * write, or -1 and ENOTSUP: this transport cannot, use write. Until `held` is 0 again, go on
     * with this call, at the first byte that was not reported as sent. */
    int64_t (*write_pages)(struct sw_client_transport *transport, const void *data, size_t bytes,
                           bool more);
    /* Optional (NULL): do not report the descriptor as readable before this many bytes are there.
     * Returns the number now in effect. */
    uint32_t (*low_water)(struct sw_client_transport *transport, uint32_t bytes);
    /* Optional (NULL): has the transport buffered input, received together with earlier input? The
     * descriptor does not become readable for it. */
    bool (*pending)(const struct sw_client_transport *transport);
    /* Ends the connection and frees the transport. */
    void (*close)(struct sw_client_transport *transport);
};

/* The first member of each transport's own struct. */
struct sw_client_transport {
    const struct sw_client_transport_calls *calls;
    int fd;                           /* to poll; the transport's */
    short read_events, write_events;  /* what to poll for to go on reading, to go on writing */
    uint32_t held;                    /* bytes that write_pages has taken and not sent yet */
    const char *trouble;              /* why a call has failed; NULL: see errno */
    struct sherwood_traffic *traffic; /* borrowed: system calls are counted there */
};

/* How a handle gets the transports of its connections. Any thread. */
struct sw_client_dialer {
    /* Connects within `timeout_ms`. NULL with a code in *status and a sentence in `text`. */
    struct sw_client_transport *(*open)(const struct sw_client_dialer *dialer, const char *address,
                                        const struct sherwood_options *options, int timeout_ms,
                                        int *status, char *text, size_t text_bytes);
    void *user; /* the dialer's own */
};

/* Sockets, TCP and Unix (transport_socket.c). */
extern const struct sw_client_dialer sw_client_socket_dialer;

#endif
