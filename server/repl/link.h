/* SPDX-License-Identifier: MIT
 *
 * link.h - a replica's connection to its primary. One thread uses it. Another thread ends a wait by
 * writing to the eventfd `wake_fd`; every later call then fails.
 */
#ifndef SHERWOOD_SERVER_REPL_LINK_H
#define SHERWOOD_SERVER_REPL_LINK_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "server/repl/lookup.h"
#include "server/repl/state.h"
#include "server/repl/wire.h"

struct sw_link_to {
    struct sw_wire wire;
    int wake_fd;
    struct sw_lookups *lookups; /* borrowed; NULL: hosts are addresses */
    uint64_t timeout_ms;        /* without a byte */
    /* Called several times a second during a wait. Returns true to end the wait. May be NULL. */
    bool (*is_over)(const void *context);
    const void *context;
    char reason[SW_REPL_REASON_BYTES]; /* why the last call failed */
};

/* Connects to a host and port; or, where port is 0, to a Unix socket. Returns 0, or -1. */
int sw_link_dial(struct sw_link_to *link, const char *host, uint16_t port);
/* Starts TLS. `name`: the name that the primary's certificate must have. Returns 0, or -1. */
int sw_link_secure(struct sw_link_to *link, SSL_CTX *context, const char *name);
/* Closes the connection, if there is one. */
void sw_link_close(struct sw_link_to *link);

/* Receives between `least` and `room` bytes. Returns their number, or -1. */
int64_t sw_link_receive(struct sw_link_to *link, void *out, size_t least, size_t room);
int sw_link_send(struct sw_link_to *link, const void *bytes, size_t size);
/* Receives a line, without its line end. Reads byte by byte, so that the bytes after the line stay
 * in the socket. Returns 0, or -1. */
int sw_link_line(struct sw_link_to *link, char *line, size_t room);

#endif
