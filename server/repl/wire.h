/* SPDX-License-Identifier: MIT
 *
 * wire.h - the socket between a primary and a replica, with or without TLS. Threads: one.
 */
#ifndef SHERWOOD_SERVER_REPL_WIRE_H
#define SHERWOOD_SERVER_REPL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "proto/tls/stream.h"

struct sw_wire_tls {
    struct sw_tls_scratch scratch;
    struct sw_tls_stream stream;
};

struct sw_wire {
    int fd;                  /* -1: none; does not block */
    struct sw_wire_tls *tls; /* NULL: plain bytes */
};

/* Allocates memory for a wire with TLS. The caller opens its stream, or moves one there. Returns
 * NULL if memory is short. */
struct sw_wire_tls *sw_wire_tls_new(void);
void sw_wire_tls_free(struct sw_wire_tls *tls);

/* Behave as recv and sendmsg on a non-blocking socket, and set errno. After a partial send, the
 * next send must begin with the first unsent byte. */
ssize_t sw_wire_receive(struct sw_wire *wire, void *out, size_t room);
ssize_t sw_wire_send(struct sw_wire *wire, struct iovec *pieces, int count);
/* Why the last call failed: a phrase. */
const char *sw_wire_trouble(const struct sw_wire *wire, int error);

void sw_wire_close_socket(int fd); /* named in tests/thread_suppressions.txt */
/* A wire without a socket is allowed. */
void sw_wire_close(struct sw_wire *wire);

#endif
