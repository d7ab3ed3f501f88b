/* SPDX-License-Identifier: MIT
 *
 * http_tls.h - HTTP over TLS, between the port and libmicrohttpd. libmicrohttpd has its own TLS,
 * but it can neither reload certificates as this server does, nor apply its access rules.
 *
 * When a handshake is complete, this module makes a pair of sockets and gives one end to
 * libmicrohttpd, which treats it as any other connection, with its deadlines and its limit. The
 * module moves bytes between the other end and the TLS stream. Connections in their handshake, and
 * connections about to end, have the same deadline and a limit of their own. At the limit the
 * oldest of them is closed.
 *
 * Threads: the HTTP thread.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_TLS_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_TLS_H

#include <stdint.h>

#include "server/net/tls_credentials.h"
#include "server/observe/counters.h"

struct sw_http_tls;

struct sw_http_tls_options {
    struct sw_tls_credentials *credentials; /* borrowed */
    int listener;                           /* borrowed: a listening socket */
    uint32_t limit;
    uint64_t timeout_ms;
    struct sw_loop_counters *counters;   /* borrowed */
    void (*give)(void *context, int fd); /* receives a new connection, and owns `fd` */
    void *context;
};

/* Returns 0, or -1 if there is no memory or no descriptor. */
int sw_http_tls_create(const struct sw_http_tls_options *options, struct sw_http_tls **out);
/* Closes all connections. NULL is allowed. */
void sw_http_tls_destroy(struct sw_http_tls *tls);

/* Returns a descriptor that is readable when sw_http_tls_run has work. */
int sw_http_tls_fd(const struct sw_http_tls *tls);
void sw_http_tls_run(struct sw_http_tls *tls, uint64_t now_ms);

/* Closes connections that have passed their deadline. Returns the milliseconds until the next
 * deadline, at most `most_ms`. */
int sw_http_tls_expire(struct sw_http_tls *tls, uint64_t now_ms, int most_ms);

#endif
