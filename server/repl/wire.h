/* SPDX-License-Identifier: MIT
 *
 * wire.h - the socket between a primary and a replica, which may speak TLS. One thread uses it.
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

/* Memory for a wire that speaks TLS; its stream is to be opened, or moved there. Returns NULL if
 * there is none. */
struct sw_wire_tls *sw_wire_tls_new(void);
void sw_wire_tls_free(struct sw_wire_tls *tls);

/* As recv and sendmsg of a socket that does not block, with errno; but that a send which was not
 * taken whole goes on with the first byte that was not taken. */
ssize_t sw_wire_receive(struct sw_wire *wire, void *out, size_t room);
ssize_t sw_wire_send(struct sw_wire *wire, struct iovec *pieces, int count);
/* Why the last call failed: a phrase. */
const char *sw_wire_trouble(const struct sw_wire *wire, int error);

void sw_wire_close_socket(int fd); /* named in tests/thread_suppressions.txt */
/* A wire without a socket is allowed. */
void sw_wire_close(struct sw_wire *wire);

#endif
