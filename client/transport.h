/* SPDX-License-Identifier: MIT
 *
 * transport.h - the interface of the transports, which carry the bytes of connections.
 * transport_socket.c is the transport of plain sockets, and transport_tls.c is the transport of
 * TLS.
 *
 * A transport belongs to one connection, and is used by the thread that uses the handle. Its
 * functions never block and never raise SIGPIPE. All counts are bytes of frames; TLS adds bytes on
 * the wire.
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
    /* Receives into the parts. Returns the number of bytes, 0 at the end of the stream, or -1 and
     * errno (EAGAIN: nothing has arrived). */
    int64_t (*read)(struct sw_client_transport *transport, struct iovec *parts, int count);
    /* Sends from the parts. `more`: the next write follows at once. Returns the number of bytes, or
     * -1 and errno (EAGAIN: the transport is full). */
    int64_t (*write)(struct sw_client_transport *transport, struct iovec *parts, int count,
                     bool more);
    /* Optional (NULL): sends memory that never changes, without a copy. Returns as write does, or
     * -1 and ENOTSUP: call write instead. Until `held` is 0 again, the next call must be this one,
     * from the first byte that no call has reported as sent. */
    int64_t (*write_pages)(struct sw_client_transport *transport, const void *data, size_t bytes,
                           bool more);
    /* Optional (NULL): keeps the descriptor unreadable until this many bytes have arrived. Returns
     * the number now in effect. */
    uint32_t (*low_water)(struct sw_client_transport *transport, uint32_t bytes);
    /* Optional (NULL): returns whether the transport has buffered input, received together with
     * earlier input. The descriptor does not become readable for that input. */
    bool (*pending)(const struct sw_client_transport *transport);
    /* Ends the connection and frees the transport. */
    void (*close)(struct sw_client_transport *transport);
};

/* The first member of each transport's own struct. */
struct sw_client_transport {
    const struct sw_client_transport_calls *calls;
    int fd;                          /* the descriptor to poll; the transport owns it */
    short read_events, write_events; /* the events to poll for before reading, and before writing */
    uint32_t held;                   /* bytes that write_pages has taken and not sent yet */
    const char *trouble;             /* why a call failed; NULL: errno has the reason */
    struct sherwood_traffic *traffic; /* borrowed: the transport counts its system calls here */
};

/* Opens the transports of a handle's connections. Threads: any. */
struct sw_client_connector {
    /* Connects within `timeout_ms`. Returns NULL, a code in *status and a sentence in `text` on
     * failure. */
    struct sw_client_transport *(*open)(const struct sw_client_connector *connector,
                                        const char *address, const struct sherwood_options *options,
                                        int timeout_ms, int *status, char *text, size_t text_bytes);
    void *user; /* the connector's own */
};

/* Sockets, TCP and Unix (transport_socket.c). */
extern const struct sw_client_connector sw_client_socket_connector;

#endif
