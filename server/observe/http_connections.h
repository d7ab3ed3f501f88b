/* SPDX-License-Identifier: MIT
 *
 * http_connections.h - which HTTP connections are open, and which of them have to go.
 *
 * Two rules keep /healthz and /readyz within reach whatever other clients do. A request has a
 * deadline as a whole, from the connection's beginning (or the reply before) to its last byte sent,
 * so that it does not help to send a byte now and then. And at the limit of connections a new one
 * is accepted all the same: the one that has used the most of its time is closed for it.
 *
 * Used by the HTTP thread alone. A connection is closed by shutting down its socket, which its
 * owner, libmicrohttpd, then notices; no memory or descriptor is given back here.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_CONNECTIONS_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/observe/counters.h"

struct sw_http_connection {
    uint64_t since_ms; /* its time for a request and the reply began */
    int fd;            /* -1: this entry is free */
    bool ended;        /* shut down by us; not yet closed by its owner */
    bool has_served;   /* a reply was sent, so that since_ms may be that of an idle connection */
    bool has_nul;      /* a NUL byte has come since the last reply */
};

struct sw_http_connections {
    struct sw_http_connection *entries;
    uint32_t entry_count;
    uint32_t limit; /* of connections that are not ended */
    uint32_t open;  /* the number of these */
    uint64_t timeout_ms;
    struct sw_loop_counters *counters; /* borrowed */
};

/* The most connections there may be at once: `limit`, and those that are ended. Their owner accepts
 * ten at a time and then sees which have ended, so that a few dozen suffice; it must never meet a
 * limit of its own, for it would stop listening. */
static inline uint32_t sw_http_connections_room(uint32_t limit)
{
    return limit + 64;
}

/* Returns 0, or -1 if there is no memory. */
int sw_http_connections_init(struct sw_http_connections *connections, uint32_t limit,
                             uint64_t timeout_ms, struct sw_loop_counters *counters);
void sw_http_connections_fini(struct sw_http_connections *connections);

/* A connection was accepted. At the limit the one that has waited longest is ended. Returns its
 * entry, borrowed until sw_http_connection_closed; NULL if there are more than the room. */
struct sw_http_connection *sw_http_connection_opened(struct sw_http_connections *connections,
                                                     int fd, uint64_t now_ms);
/* Its request line has arrived. */
void sw_http_connection_asked(struct sw_http_connection *connection, uint64_t now_ms);
/* A reply was sent, or given up. */
void sw_http_connection_replied(struct sw_http_connection *connection, uint64_t now_ms);
void sw_http_connection_closed(struct sw_http_connections *connections,
                               struct sw_http_connection *connection);

/* Sets has_nul of the connections among whose unread bytes is a NUL, which libmicrohttpd takes for
 * the end of a header's value. Call it before libmicrohttpd reads. */
void sw_http_connections_peek(struct sw_http_connections *connections);

/* Ends the connections whose time is over. Returns the milliseconds until that of the next one is,
 * at most `most_ms`. */
int sw_http_connections_expire(struct sw_http_connections *connections, uint64_t now_ms,
                               int most_ms);

#endif
