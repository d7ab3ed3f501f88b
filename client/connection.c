/* SPDX-License-Identifier: MIT
 *
 * connection.c - the state of the connections of a handle: which one takes a frame, what the
 * descriptor waits for, and how one ends.
 */
#include "client/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/memory.h"

struct sw_client_connection *sw_client_connection_pick(struct sherwood *client)
{
    struct sw_client_connection *best = NULL;
    uint32_t at = client->next;
    for (uint32_t i = 0; i < client->connections_count; i++) {
        uint32_t n = (at + i) % client->connections_count;
        struct sw_client_connection *connection = client->connections[n];
        if (sw_client_connection_is_free(connection) &&
            (best == NULL || connection->in_flight < best->in_flight)) {
            best = connection;
            client->next = (n + 1) % client->connections_count;
        }
    }
    return best;
}

void sw_client_connection_watch(struct sw_client_connection *connection)
{
    bool wants_write = connection->queue_count > 0 && connection->send_errno == 0;
    if (connection->client->epoll < 0) {
        return;
    }
    const struct sw_client_transport *transport = connection->transport;
    if (connection->broken != 0) {
        (void)epoll_ctl(connection->client->epoll, EPOLL_CTL_DEL, transport->fd, NULL);
    } else if (wants_write != connection->watches_write) {
        int events = transport->read_events | (wants_write ? transport->write_events : 0);
        struct epoll_event event = {.events = (uint32_t)events};
        (void)epoll_ctl(connection->client->epoll, EPOLL_CTL_MOD, transport->fd, &event);
        connection->watches_write = wants_write;
    }
}

uint32_t sherwood_stripes(const struct sherwood *client)
{
    const struct sherwood *root = client == NULL ? NULL : client->root;
    uint32_t alive = 0;
    for (uint32_t i = 0; root != NULL && i < root->connections_count; i++) {
        alive += root->connections[i]->broken == 0;
    }
    return alive;
}

int sw_client_break(struct sw_client_connection *connection, int status, const char *format, ...)
{
    struct sherwood *client = connection->client;
    assert(status != SHERWOOD_OK);
    if (connection->broken != 0) {
        return connection->broken;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(client->error, sizeof(client->error), format, arguments);
    va_end(arguments);
    connection->broken = status;
    if (connection->ring.in_flight > 0 && !sw_client_regions_part(connection)) {
        const size_t size = strlen(client->error);
        snprintf(client->error + size, sizeof(client->error) - size,
                 "; the server may still write to arrays of these requests in regions: %s",
                 strerror(errno));
    }
    client->lost_writes |= connection->has_written;
    connection->queue_count = 0;
    connection->receiving = NULL;
    for (uint32_t i = 0; i < SW_CLIENT_FLIGHTS_MAX; i++) {
        if (connection->flights[i].id != 0) {
            sw_client_flight_finish(connection, &connection->flights[i], status, NULL);
        }
    }
    assert(connection->in_flight == 0 && connection->direct == 0 &&
           connection->ring.in_flight == 0);
    sw_client_connection_watch(connection);
    if (sherwood_stripes(client) == 0 && client->cluster == NULL) {
        client->broken = status;
    }
    return status;
}
