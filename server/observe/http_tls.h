/* SPDX-License-Identifier: MIT
 *
 * http_tls.h - HTTP by TLS: what stands between the port and libmicrohttpd, which has a TLS of its
 * own, but neither our certificates that are read again, nor our rules of who gets in.
 *
 * A connection whose handshake is complete becomes one end of a pair of sockets for libmicrohttpd,
 * to which it looks like any other, deadlines and limit included; the other end is ours, and bytes
 * are moved between that and the TLS stream. Connections that are not there yet, or are about to
 * end, have the same deadline and a limit of their own, at which the oldest of them goes.
 *
 * Used by the HTTP thread alone.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_TLS_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_TLS_H

#include <stdint.h>

#include "server/net/tls_door.h"
#include "server/observe/counters.h"

struct sw_http_tls;

struct sw_http_tls_options {
    struct sw_tls_door *door; /* borrowed */
    int listener;             /* borrowed: a listening socket */
    uint32_t limit;
    uint64_t timeout_ms;
    struct sw_loop_counters *counters;   /* borrowed */
    void (*give)(void *context, int fd); /* a connection is there; `fd` is the callee's */
    void *context;
};

/* Returns 0, or -1 if there is no memory or no descriptor. */
int sw_http_tls_create(const struct sw_http_tls_options *options, struct sw_http_tls **out);
/* Closes all connections. NULL is allowed. */
void sw_http_tls_destroy(struct sw_http_tls *tls);

/* Readable when there is something to do. */
int sw_http_tls_fd(const struct sw_http_tls *tls);
void sw_http_tls_run(struct sw_http_tls *tls, uint64_t now_ms);

/* Ends what has taken too long. Returns the milliseconds until there is more, at most `most_ms`. */
int sw_http_tls_expire(struct sw_http_tls *tls, uint64_t now_ms, int most_ms);

#endif
