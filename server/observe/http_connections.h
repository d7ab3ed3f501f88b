/* SPDX-License-Identifier: MIT
 *
 * http_connections.h - the open HTTP connections, their deadlines and their limit.
 *
 * Two rules keep /healthz and /readyz reachable whatever other clients do. First, a deadline covers
 * a request and its reply as a whole, so a client gains nothing by sending a byte now and then. A
 * first request has its time from the start of the connection, a later one from its request line.
 * The wait between a reply and the next request line has the same limit. Second, a new connection
 * is accepted even at the limit of connections: the connection that has used the most of its time
 * is closed instead.
 *
 * This module ends a connection by shutting down its socket. The owner, libmicrohttpd, notices
 * that, closes the descriptor and frees its memory. Threads: the HTTP thread.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_CONNECTIONS_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/observe/counters.h"

struct sw_http_connection {
    uint64_t since_ms; /* start of its current deadline */
    int fd;            /* -1: this entry is free */
    bool ended;        /* shut down here, not yet closed by its owner */
    bool has_served;   /* a reply was sent, and no request line has come since */
    bool has_nul;      /* a NUL byte has come since the last reply */
};

struct sw_http_connections {
    struct sw_http_connection *entries;
    uint32_t entry_count;
    uint32_t limit; /* most connections that are not ended */
    uint32_t open;  /* connections that are not ended */
    uint64_t timeout_ms;
    struct sw_loop_counters *counters; /* borrowed */
};

/* Returns the number of entries: `limit`, and some for connections that are ended but not closed.
 * The owner accepts ten connections and then closes the ended ones, so a few dozen are enough. The
 * owner must never reach a limit of its own, because it would then stop listening. */
static inline uint32_t sw_http_connections_room(uint32_t limit)
{
    return limit + 64;
}

/* Returns 0, or -1 if there is no memory. */
int sw_http_connections_init(struct sw_http_connections *connections, uint32_t limit,
                             uint64_t timeout_ms, struct sw_loop_counters *counters);
void sw_http_connections_fini(struct sw_http_connections *connections);

/* Adds an accepted connection. At the limit, ends the one that has waited longest. Returns its
 * entry, borrowed until sw_http_connection_closed. Returns NULL if no entry is free. */
struct sw_http_connection *sw_http_connection_opened(struct sw_http_connections *connections,
                                                     int fd, uint64_t now_ms);
/* Notes that a request line has arrived. */
void sw_http_connection_asked(struct sw_http_connection *connection, uint64_t now_ms);
/* Notes that a reply was sent or given up. */
void sw_http_connection_replied(struct sw_http_connection *connection, uint64_t now_ms);
void sw_http_connection_closed(struct sw_http_connections *connections,
                               struct sw_http_connection *connection);

/* Sets has_nul of connections with a NUL among their unread bytes. libmicrohttpd would take the NUL
 * for the end of a header's value. Call it before libmicrohttpd reads. */
void sw_http_connections_peek(struct sw_http_connections *connections);

/* Ends the connections that have passed their deadline. Returns the milliseconds until the next
 * deadline, at most `most_ms`. */
int sw_http_connections_expire(struct sw_http_connections *connections, uint64_t now_ms,
                               int most_ms);

#endif
