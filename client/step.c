/* SPDX-License-Identifier: MIT
 *
 * step.c - the loop of the blocking calls. It sends and receives on all connections at once, so
 * that a server that replies while a large frame is still being sent cannot wait for a client that
 * waits for it.
 *
 * A timeout is measured by a clock of the handle, which runs while the library waits. Between two
 * calls it advances by at most SW_CLIENT_GAP_MS: a program that computes for a long time does not
 * make the server look silent.
 */
#include "client/step.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/receive.h"
#include "client/send.h"

uint64_t sw_client_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void timed_out(struct sw_client_connection *connection)
{
    const struct sherwood *client = connection->client;
    if (!connection->received_any) {
        sw_client_break(connection, SHERWOOD_E_TIMEOUT,
                        "%s: connected, but there was no reply within %d ms: check that a Sherwood "
                        "server listens there, that the port is not its HTTP port, and that it is "
                        "not overloaded",
                        connection->address, client->request_timeout_ms);
        return;
    }
    sw_client_break(connection, SHERWOOD_E_TIMEOUT,
                    "%s: no byte moved for %d ms, requests without a reply: %u: the client closed "
                    "the connection, and it is unknown whether these requests took effect",
                    connection->address, client->request_timeout_ms, connection->in_flight);
}

/* Sets the low-water mark for a large body, so that the thread is not woken before the end of the
 * body is there, or the window is full. */
static void set_low_water(struct sw_client_connection *connection)
{
    size_t left = 0;
    for (uint32_t p = connection->part;
         connection->receiving != NULL && p < connection->parts_count; p++) {
        left += connection->parts[p].bytes;
    }
    uint32_t want = left < SW_CLIENT_LOW_WATER_BYTES       ? 1
                    : left < SW_CLIENT_LOW_WATER_BYTES_MAX ? (uint32_t)left
                                                           : SW_CLIENT_LOW_WATER_BYTES_MAX;
    if (connection->transport->calls->low_water != NULL && want != connection->low_water) {
        connection->low_water =
            connection->transport->calls->low_water(connection->transport, want);
    }
}

/* Lists the connections that have frames in flight, and the time until the first of them times out.
 */
static nfds_t collect(struct sherwood *client, struct pollfd *fds,
                      struct sw_client_connection **connections, uint64_t *left_ms)
{
    const uint64_t limit = (uint64_t)client->request_timeout_ms;
    nfds_t n = 0;
    *left_ms = limit;
    for (uint32_t i = 0; i < client->connections_count; i++) {
        struct sw_client_connection *connection = client->connections[i];
        if (connection->in_flight == 0) {
            continue;
        }
        bool sending = connection->queue_count > 0 && connection->send_errno == 0;
        uint64_t quiet = client->clock - connection->moved;
        uint64_t left = quiet < limit ? limit - quiet : 0;
        set_low_water(connection);
        left = connection->low_water > 1 && left > SW_CLIENT_POLL_MS ? SW_CLIENT_POLL_MS : left;
        *left_ms = left < *left_ms ? left : *left_ms;
        const struct sw_client_transport *transport = connection->transport;
        fds[n] = (struct pollfd){
            .fd = transport->fd,
            .events = (short)(transport->read_events | (sending ? transport->write_events : 0))};
        connections[n++] = connection;
    }
    return n;
}

static void serve(struct sw_client_connection *connection, short events, bool nothing_came)
{
    const struct sherwood *client = connection->client;
    const struct sw_client_transport *transport = connection->transport;
    if ((events & transport->write_events) != 0) {
        sw_client_send(connection);
    }
    /* Bytes below the low-water mark also count as progress. The library reads them every
     * SW_CLIENT_POLL_MS, and before the connection times out. */
    bool looks = nothing_came && connection->low_water > 1;
    bool is_due = client->clock - connection->moved >= (uint64_t)client->request_timeout_ms;
    bool is_readable = (events & (transport->read_events | ~transport->write_events)) != 0;
    if (is_readable || is_due || looks) {
        (void)sw_client_receive(connection);
    }
    if (is_due && connection->in_flight > 0 &&
        client->clock - connection->moved >= (uint64_t)client->request_timeout_ms) {
        timed_out(connection);
    }
    if (client->epoll >= 0) {
        set_low_water(connection); /* the caller may wait on the descriptor next */
    }
}

/* Reads the completions in the ring, and may spin for one. Returns true if the caller need not poll
 * the sockets now: nothing is in flight there, and either a completion came, or the call may not
 * wait (then SW_CLIENT_RING_LOOKS polls of the ring share one poll of the socket). Otherwise the
 * server wakes the poll that follows; sets *limit_ms to 0 if that poll must not wait. */
static bool poll_ring(struct sherwood *client, int *limit_ms)
{
    struct sw_client_connection *connection = client->connections[0];
    struct sw_client_ring *ring = &connection->ring;
    if (ring->memory == NULL || ring->in_flight == 0) {
        return false;
    }
    bool alone = ring->in_flight == client->in_flight;
    bool moved = sw_client_ring_receive(connection) > 0;
    if (!moved && alone && *limit_ms != 0 && sw_client_ring_spin(connection)) {
        moved = sw_client_ring_receive(connection) > 0;
    }
    if (moved && alone) {
        ring->looks = 0;
        return true;
    }
    if (moved) { /* the other frames in flight went by sockets */
        *limit_ms = 0;
        return false;
    }
    if (alone && *limit_ms == 0 && client->epoll < 0 && ++ring->looks % SW_CLIENT_RING_LOOKS != 0) {
        return true;
    }
    if (!sw_client_ring_sleep(connection, true)) {
        (void)sw_client_ring_receive(connection);
        *limit_ms = 0;
    }
    return false;
}

/* Ends the poll. Keeps the sleep word set for a program that waits on the handle's descriptor, so
 * that the server wakes it. */
static void leave_ring(struct sherwood *client)
{
    struct sw_client_connection *connection = client->connections[0];
    if (connection->ring.memory == NULL) {
        return;
    }
    if (client->epoll < 0) {
        (void)sw_client_ring_sleep(connection, false);
    }
    (void)sw_client_ring_receive(connection);
}

void sw_client_step(struct sherwood *client, int limit_ms)
{
    if (poll_ring(client, &limit_ms)) {
        return;
    }
    assert(client->connections_count <= SHERWOOD_STRIPES_MAX);
    struct pollfd fds[SHERWOOD_STRIPES_MAX];
    struct sw_client_connection *connections[SHERWOOD_STRIPES_MAX];
    uint64_t left_ms, before = sw_client_now_ms();
    uint64_t gap = before - client->polled_ms;
    client->clock += gap < SW_CLIENT_GAP_MS ? gap : SW_CLIENT_GAP_MS;
    nfds_t n = collect(client, fds, connections, &left_ms);
    if (limit_ms >= 0 && (uint64_t)limit_ms < left_ms) {
        left_ms = (uint64_t)limit_ms;
    }
    client->traffic.polls++;
    int ready = poll(fds, n, (int)left_ms);
    client->polled_ms = sw_client_now_ms();
    client->clock += client->polled_ms - before;
    if (ready < 0 && errno != EINTR) {
        const char *reason = strerror(errno);
        for (nfds_t i = 0; i < n; i++) {
            sw_client_break(connections[i], SHERWOOD_E_CONNECTION,
                            "cannot wait for the server: poll: %s", reason);
        }
        return;
    }
    leave_ring(client);
    for (nfds_t i = 0; i < n; i++) {
        serve(connections[i], ready > 0 ? fds[i].revents : 0, ready == 0);
    }
}

/* Waits until the frame can be queued. Returns a status, and the connection in *out. */
static int wait_for_room(struct sherwood *client, struct sw_client_connection *only,
                         struct sw_client_frame *frame, struct sw_client_connection **out)
{
    const int *broken = only != NULL ? &only->broken : &client->broken;
    *out = NULL;
    while (*broken == 0) {
        int status = SHERWOOD_OK;
        if (only == NULL) {
            status = sw_client_connection_for(client, frame, out);
        } else {
            *out = sw_client_connection_is_free(only) ? only : NULL;
        }
        if (status != SHERWOOD_OK || *out != NULL) {
            return status;
        }
        sw_client_send_all(client);
        sw_client_step(client, -1);
    }
    return *broken;
}

int sw_client_queue_for_call(struct sherwood *client, struct sw_client_connection *only,
                             struct sw_client_frame *frame, struct sw_client_call *call)
{
    struct sw_client_connection *connection;
    const int status = wait_for_room(client, only, frame, &connection);
    if (status != SHERWOOD_OK) {
        return status;
    }
    frame->done = sw_client_call_done;
    frame->owner = call;
    if (sw_client_queue(connection, frame) == NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "the frame cannot be encoded");
    }
    call->flights++;
    sw_client_send(connection);
    return SHERWOOD_OK;
}

int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call)
{
    sw_client_send_all(client);
    while (call->flights > 0) {
        assert(client->in_flight >= call->flights);
        sw_client_step(client, -1);
    }
    return call->status;
}
