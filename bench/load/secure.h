/* SPDX-License-Identifier: MIT
 *
 * secure.h - connections of the RESP clients: plain sockets, or libsherwood's transport for TLS.
 */
#ifndef SHERWOOD_BENCH_LOAD_SECURE_H
#define SHERWOOD_BENCH_LOAD_SECURE_H

#include "bench/load/options.h"
#include "client/transport_tls.h"

/* State shared by the TLS connections of a thread. All zeros: no TLS. */
struct sw_load_secure {
    struct sw_client_connector connector;
    struct sherwood_options options;
    bool is_on; /* the address begins with tls:// */
};

/* A connection with or without TLS. */
struct sw_load_link {
    int fd;                                /* -1: none */
    struct sw_client_transport *transport; /* NULL: a plain socket */
    struct sherwood_traffic traffic;       /* the transport counts its system calls here */
};

/* Returns the options of TLS and login in libsherwood's struct. */
struct sherwood_options sw_load_tls_options(const struct sw_load_options *options);

/* Return 0, or an error with a sentence. */
int sw_load_secure_init(struct sw_load_secure *secure, const struct sw_load_options *options,
                        char *error);
void sw_load_secure_fini(struct sw_load_secure *secure);
int sw_load_link_open(struct sw_load_link *link, const struct sw_load_secure *secure,
                      const char *address, char *error);
/* Sends AUTH on a link just opened, if the options name a user or a password, and waits for the
 * answer. Returns 0, or an error with a sentence. */
int sw_load_link_login(struct sw_load_link *link, const struct sw_load_options *options,
                       char *error);
void sw_load_link_close(struct sw_load_link *link);

/* Return the number of bytes, or -1 with errno (EAGAIN: nothing possible now). receive returns 0 at
 * the end. */
int64_t sw_load_link_send(struct sw_load_link *link, const void *bytes, size_t size);
int64_t sw_load_link_receive(struct sw_load_link *link, void *bytes, size_t size);
/* Returns whether the link has input for which the descriptor does not become readable. */
bool sw_load_link_pending(const struct sw_load_link *link);

#endif
