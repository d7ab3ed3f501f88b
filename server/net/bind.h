/* SPDX-License-Identifier: MIT
 *
 * bind.h - makes listening sockets. Errors are logged as sentences that say what to do. Functions
 * may be called from any thread; the caller owns the descriptors.
 */
#ifndef SHERWOOD_SERVER_NET_BIND_H
#define SHERWOOD_SERVER_NET_BIND_H

#include <stdint.h>
#include <sys/types.h>

/* The file of a Unix socket that this process has bound. */
struct sw_bound_file {
    dev_t device;
    ino_t inode; /* 0: none */
};

/* The options that set an address, as error texts name them. */
struct sw_bind_names {
    const char *host, *port; /* without the dashes */
};

/* Makes a listening, non-blocking TCP socket on a numeric IPv4 or IPv6 address; names are not
 * looked up. If `port` is 0, the kernel chooses one. Returns the descriptor, or -1. */
int sw_bind_tcp(const char *host, uint16_t port, const struct sw_bind_names *names);

/* Makes a listening, non-blocking Unix stream socket whose file has this mode. A socket file that
 * no server listens on is replaced; any other file is an error. Returns the descriptor and sets
 * `file` for sw_unbind_unix, or returns -1. */
int sw_bind_unix(const char *path, uint32_t mode, struct sw_bound_file *file);

/* Removes the file at `path` if it still is `file`: another server may have replaced it. Call it
 * while the socket is open. Until then the kernel gives the inode to no other file. */
void sw_unbind_unix(const char *path, struct sw_bound_file *file);

/* The port that a TCP socket is bound to; 0 if the socket is of another kind. */
uint16_t sw_bound_port(int fd);

#endif
