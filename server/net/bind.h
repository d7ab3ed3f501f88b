/* SPDX-License-Identifier: MIT
 *
 * bind.h - listening sockets from addresses. Errors are logged as sentences that say what to do.
 */
#ifndef SHERWOOD_SERVER_NET_BIND_H
#define SHERWOOD_SERVER_NET_BIND_H

#include <stdint.h>

/* A listening, non-blocking TCP socket on a numeric IPv4 or IPv6 address (names are not looked up);
 * port 0: the kernel chooses one. Returns the descriptor, or -1. */
int sw_bind_tcp(const char *host, uint16_t port);

/* A listening, non-blocking Unix stream socket with this file mode. A socket file nobody listens on
 * is replaced; any other file, or a living server, is an error. Returns the descriptor, or -1. */
int sw_bind_unix(const char *path, uint32_t mode);

/* The port a TCP socket is bound to; 0 if it has none. */
uint16_t sw_bound_port(int fd);

#endif
