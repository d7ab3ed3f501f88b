/* SPDX-License-Identifier: MIT
 *
 * peer_socket.h - a socket to another server, with or without TLS. Threads: one.
 */
#ifndef SHERWOOD_SERVER_REPL_PEER_SOCKET_H
#define SHERWOOD_SERVER_REPL_PEER_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "proto/tls/stream.h"

struct sw_peer_tls {
    struct sw_tls_scratch scratch;
    struct sw_tls_stream stream;
};

struct sw_peer_socket {
    int fd;                  /* non-blocking; -1: no socket */
    struct sw_peer_tls *tls; /* NULL: plain bytes */
};

/* Allocates memory for a socket with TLS. The caller opens its stream, or moves one there. Returns
 * NULL if memory is short. */
struct sw_peer_tls *sw_peer_tls_new(void);
void sw_peer_tls_free(struct sw_peer_tls *tls);

/* Behave as recv and sendmsg on a non-blocking socket, and set errno. After a partial send, the
 * next send must begin with the first unsent byte. */
ssize_t sw_peer_socket_receive(struct sw_peer_socket *socket, void *out, size_t room);
ssize_t sw_peer_socket_send(struct sw_peer_socket *socket, struct iovec *pieces, int count);
/* Why the last call failed: a phrase. */
const char *sw_peer_socket_trouble(const struct sw_peer_socket *socket, int error);

void sw_peer_close_fd(int fd); /* named in tests/thread_suppressions.txt */
/* Does nothing if `fd` is -1. */
void sw_peer_socket_close(struct sw_peer_socket *socket);

#endif
