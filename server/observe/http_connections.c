/* SPDX-License-Identifier: MIT
 *
 * http_connections.c - deadlines of HTTP requests, and the limit of connections.
 */
#include "server/observe/http_connections.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define PEEK_BYTES (16U << 10)

int sw_http_connections_init(struct sw_http_connections *connections, uint32_t limit,
                             uint64_t timeout_ms, struct sw_loop_counters *counters)
{
    *connections = (struct sw_http_connections){
        .entry_count = sw_http_connections_room(limit),
        .limit = limit,
        .timeout_ms = timeout_ms,
        .counters = counters,
    };
    connections->entries = calloc(connections->entry_count, sizeof(*connections->entries));
    if (connections->entries == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < connections->entry_count; i++) {
        connections->entries[i].fd = -1;
    }
    return 0;
}

void sw_http_connections_fini(struct sw_http_connections *connections)
{
    free(connections->entries);
    connections->entries = NULL;
}

static bool is_open(const struct sw_http_connection *entry)
{
    return entry->fd >= 0 && !entry->ended;
}

/* Shuts the socket down. Its owner notices that and closes it. */
static void end(struct sw_http_connections *connections, struct sw_http_connection *entry)
{
    assert(is_open(entry) && connections->open > 0);
    shutdown(entry->fd, SHUT_RDWR);
    entry->ended = true;
    connections->open--;
}

static void end_longest(struct sw_http_connections *connections)
{
    struct sw_http_connection *longest = NULL;
    for (uint32_t i = 0; i < connections->entry_count; i++) {
        struct sw_http_connection *entry = &connections->entries[i];
        if (is_open(entry) && (longest == NULL || entry->since_ms < longest->since_ms)) {
            longest = entry;
        }
    }
    if (longest != NULL) {
        end(connections, longest);
        SW_COUNT(connections->counters, http_evictions, 1);
    }
}

struct sw_http_connection *sw_http_connection_opened(struct sw_http_connections *connections,
                                                     int fd, uint64_t now_ms)
{
    if (connections->open == connections->limit) {
        end_longest(connections);
    }
    for (uint32_t i = 0; i < connections->entry_count; i++) {
        if (connections->entries[i].fd < 0) {
            connections->entries[i] = (struct sw_http_connection){.since_ms = now_ms, .fd = fd};
            connections->open++;
            return &connections->entries[i];
        }
    }
    return NULL;
}

void sw_http_connection_asked(struct sw_http_connection *connection, uint64_t now_ms)
{
    /* The time of a first request began with the connection. */
    if (connection->has_served) {
        connection->since_ms = now_ms;
        connection->has_served = false;
    }
}

void sw_http_connection_replied(struct sw_http_connection *connection, uint64_t now_ms)
{
    connection->since_ms = now_ms;
    connection->has_served = true;
    connection->has_nul = false;
}

void sw_http_connection_closed(struct sw_http_connections *connections,
                               struct sw_http_connection *connection)
{
    assert(connection->fd >= 0);
    if (!connection->ended) {
        connections->open--;
    }
    *connection = (struct sw_http_connection){.fd = -1};
}

void sw_http_connections_peek(struct sw_http_connections *connections)
{
    uint8_t bytes[PEEK_BYTES];
    for (uint32_t i = 0; i < connections->entry_count; i++) {
        struct sw_http_connection *entry = &connections->entries[i];
        if (is_open(entry) && !entry->has_nul) {
            const ssize_t size = recv(entry->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
            entry->has_nul = size > 0 && memchr(bytes, '\0', (size_t)size) != NULL;
        }
    }
}

int sw_http_connections_expire(struct sw_http_connections *connections, uint64_t now_ms,
                               int most_ms)
{
    uint64_t least_ms = (uint64_t)most_ms;
    for (uint32_t i = 0; i < connections->entry_count; i++) {
        struct sw_http_connection *entry = &connections->entries[i];
        if (!is_open(entry)) {
            continue;
        }
        uint64_t age_ms = now_ms - entry->since_ms;
        if (age_ms >= connections->timeout_ms) {
            end(connections, entry);
            SW_COUNT(connections->counters, http_timeouts, 1);
        } else if (connections->timeout_ms - age_ms < least_ms) {
            least_ms = connections->timeout_ms - age_ms;
        }
    }
    return (int)least_ms;
}
