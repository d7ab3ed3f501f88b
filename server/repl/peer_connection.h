/* SPDX-License-Identifier: MIT
 *
 * peer_connection.h - a connection to another server, with blocking calls: from a replica to its
 * primary, between members, or between the nodes of a migration. One thread uses it. Another thread
 * ends a wait by writing to the eventfd `wake_fd`; every later call then fails.
 */
#ifndef SHERWOOD_SERVER_REPL_PEER_CONNECTION_H
#define SHERWOOD_SERVER_REPL_PEER_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/types.h>

#include "server/repl/lookup.h"
#include "server/repl/peer_socket.h"
#include "server/repl/state.h"

struct sw_peer_connection {
    struct sw_peer_socket socket;
    int wake_fd;
    struct sw_lookups *lookups; /* borrowed; NULL: hosts are addresses */
    uint64_t timeout_ms;        /* longest wait for a byte */
    /* Called several times a second during a wait. Returns true to end the wait. May be NULL. */
    bool (*is_over)(const void *context);
    const void *context;
    char reason[SW_REPL_REASON_BYTES]; /* why the last call failed */
};

/* Connects to a host and port; or, where port is 0, to a Unix socket. Returns 0, or -1. */
int sw_peer_connection_open(struct sw_peer_connection *connection, const char *host, uint16_t port);
/* Starts TLS. `name`: the name that the primary's certificate must have. Returns 0, or -1. */
int sw_peer_connection_secure(struct sw_peer_connection *connection, SSL_CTX *context,
                              const char *name);
/* Closes the connection, if there is one. */
void sw_peer_connection_close(struct sw_peer_connection *connection);

/* Receives between `least` and `room` bytes. Returns their number, or -1. */
int64_t sw_peer_connection_receive(struct sw_peer_connection *connection, void *out, size_t least,
                                   size_t room);
int sw_peer_connection_send(struct sw_peer_connection *connection, const void *bytes, size_t size);
/* Receives a line, without its line end. Reads byte by byte, so that the bytes after the line stay
 * in the socket. Returns 0, or -1. */
int sw_peer_connection_read_line(struct sw_peer_connection *connection, char *line, size_t room);

#endif
