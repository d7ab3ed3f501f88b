/* SPDX-License-Identifier: MIT
 *
 * receive.c - receives replies: heads into a buffer, bodies straight into the caller's arrays.
 *
 * While long bodies are expected, one read takes the rest of a body and the next head, and no more,
 * so that nothing is copied here. Otherwise a read takes all available bytes. The part of a body
 * that is in the buffer is then copied from there, or skipped if the caller declined it.
 */
#include "client/receive.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/reply.h"

/* The largest number of reads before the caller may send again. */
#define RECEIVE_CALLS_MAX 16
/* The largest number of parts of one read. Unwanted bytes take one part for each
 * SW_CLIENT_SCRATCH_BYTES. */
#define RECEIVE_PARTS_MAX 80

static int connection_lost(struct sw_client_connection *connection, int error)
{
    (void)sw_client_ring_receive(connection); /* completions that arrived before the end */
    const char *trouble = connection->transport->trouble;
    const char *reason = error == 0        ? "the server closed the connection"
                         : trouble != NULL ? trouble
                                           : strerror(error);
    if (error == 0 && connection->send_errno != 0) {
        reason = strerror(connection->send_errno);
    }
    if (!connection->received_any) {
        return sw_client_break(
            connection, SHERWOOD_E_CONNECTION,
            "%s: the connection ended before the server's greeting (%s): check that a Sherwood "
            "server listens there, and that it is neither starting nor stopping",
            connection->address, reason);
    }
    return sw_client_break(
        connection, SHERWOOD_E_CONNECTION,
        "%s: the connection was lost (%s), requests without a reply: %u: see the "
        "server's log, then connect again",
        connection->address, reason, connection->in_flight);
}

/* Ends a connection whose peer does not send frames. The error quotes its first bytes, so that a
 * person can recognize the service. */
static int not_frames(struct sw_client_connection *connection, int error)
{
    char seen[97];
    const char *bytes = (const char *)connection->buffer + connection->buffer_begin;
    sw_client_clean(bytes, connection->buffer_end - connection->buffer_begin, seen, sizeof(seen));
    if (connection->received_any) {
        return sw_client_break(connection, SHERWOOD_E_PROTOCOL,
                               "%s: the server's reply is damaged (%s): connect again",
                               connection->address, sw_frame_error_text(error));
    }
    return sw_client_break(connection, SHERWOOD_E_PROTOCOL,
                           "%s: the reply is not from a Sherwood server that this client "
                           "understands (%s; it begins \"%s\"): check the port",
                           connection->address, sw_frame_error_text(error), seen);
}

/* The line that a server sends at its limit of connections, before it knows that the client uses
 * frames. */
static const char turned_away[] = "-ERR max number of clients reached";

/* Returns whether the bytes are this line, or its beginning. */
static bool is_turned_away(const uint8_t *bytes, size_t size)
{
    size_t length = sizeof(turned_away) - 1;
    return memcmp(bytes, turned_away, size < length ? size : length) == 0;
}

/* TTL answers with times, which are wider than the values of some tables. */
void sw_client_expect_bodies(struct sherwood *client, const struct sherwood_server *server)
{
    const uint32_t value_bytes = server->value_bytes;
    const uint32_t time_bytes = sizeof(uint64_t);
    struct sw_reply largest = {.count = server->frame_ops_max,
                               .key_bytes = server->key_bytes,
                               .value_bytes = value_bytes > time_bytes ? value_bytes : time_bytes,
                               .has_values = true};
    if (server->policy[0] != '\0') {
        largest.has_scores = largest.has_not_admitted = true;
        largest.has_evicted = SW_FRAME_EVICTED_ALL;
        largest.evicted_count = largest.count;
    }
    const uint64_t padding = UINT64_C(2) * SW_FRAME_SEGMENTS_MAX * SW_FRAME_ALIGN;
    const uint64_t lengths[] = {sw_reply_layout(&largest, SW_OPERATION_SCAN).bytes,
                                sw_reply_layout(&largest, SW_OPERATION_SET).bytes + padding,
                                SW_FIGURES_MAX * sizeof(struct sw_figure)};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        client->body_bytes_max =
            lengths[i] > client->body_bytes_max ? lengths[i] : client->body_bytes_max;
    }
}

/* Decodes the head at the start of the buffer. Sets *again if the head is not complete. */
static int take_head(struct sw_client_connection *connection, bool *again)
{
    const uint8_t *bytes = connection->buffer + connection->buffer_begin;
    size_t size = connection->buffer_end - connection->buffer_begin;
    struct sw_frame_prefix prefix;
    *again = true;
    if (size == 0) {
        return SHERWOOD_OK;
    }
    int got = sw_frame_prefix_decode(bytes, size, connection->client->body_bytes_max, &prefix);
    if (got == SW_FRAME_E_MAGIC && !connection->received_any && is_turned_away(bytes, size)) {
        return size < sizeof(turned_away) - 1 ? SHERWOOD_OK
                                              : sw_client_turned_away(connection, turned_away + 5);
    }
    if (got < 0) {
        return not_frames(connection, got);
    }
    if (got > 0 && prefix.version != SW_FRAME_VERSION) {
        return not_frames(connection, SW_FRAME_E_VERSION);
    }
    if (got == 0 || size < sw_frame_head_bytes(prefix.header_bytes)) {
        return SHERWOOD_OK;
    }
    if (sw_reply_decode(bytes + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &connection->reply) !=
        0) {
        return not_frames(connection, SW_FRAME_E_HEADER);
    }
    *again = false;
    connection->received_any = true;
    connection->buffer_begin += (size_t)sw_frame_head_bytes(prefix.header_bytes);
    return sw_client_reply(connection, prefix.body_bytes);
}

/* Records that `bytes` of the body were received. Finishes the flight if the body is complete. */
static void advance(struct sw_client_connection *connection, size_t bytes)
{
    while (connection->part < connection->parts_count) {
        struct sw_client_part *part = &connection->parts[connection->part];
        size_t step = bytes < part->bytes ? bytes : part->bytes;
        part->data = part->data == NULL ? NULL : part->data + step;
        part->bytes -= step;
        bytes -= step;
        if (part->bytes > 0) {
            return;
        }
        connection->part++;
    }
    struct sw_client_flight *flight = connection->receiving;
    assert(flight != NULL && bytes == 0);
    connection->receiving = NULL;
    sw_client_flight_finish(connection, flight, SHERWOOD_OK, &connection->reply);
}

/* Copies the part of the body that is in the buffer. */
static void take_body(struct sw_client_connection *connection)
{
    while (connection->receiving != NULL && connection->buffer_begin < connection->buffer_end) {
        const struct sw_client_part *part = &connection->parts[connection->part];
        size_t size = connection->buffer_end - connection->buffer_begin;
        size = size < part->bytes ? size : part->bytes;
        if (part->data != NULL && size > 0) {
            memcpy(part->data, connection->buffer + connection->buffer_begin, size);
        }
        connection->buffer_begin += size;
        advance(connection, size);
    }
}

static int take_buffered(struct sw_client_connection *connection)
{
    for (;;) {
        if (connection->receiving != NULL) {
            take_body(connection);
            if (connection->receiving != NULL) {
                return SHERWOOD_OK;
            }
        }
        bool again = false;
        int rc = take_head(connection, &again);
        if (rc != SHERWOOD_OK || again) {
            return rc;
        }
    }
}

/* Lists the missing part of the body as parts of a read, of *bytes together. Returns false if it
 * takes more parts than one read may have. */
static bool body_parts(struct sw_client_connection *connection, struct iovec *iov, int *n,
                       size_t *bytes)
{
    for (uint32_t p = connection->part;
         connection->receiving != NULL && p < connection->parts_count; p++) {
        uint8_t *data = connection->parts[p].data;
        for (size_t left = connection->parts[p].bytes; left > 0;) {
            if (*n == RECEIVE_PARTS_MAX) {
                return false;
            }
            size_t size =
                data != NULL || left < SW_CLIENT_SCRATCH_BYTES ? left : SW_CLIENT_SCRATCH_BYTES;
            iov[(*n)++] = (struct iovec){data != NULL ? data : connection->client->scratch, size};
            *bytes += size;
            left -= size;
        }
    }
    return true;
}

/* Returns how much to read into the buffer. If a long body may come next, this is only its head. */
static size_t read_ahead(const struct sw_client_connection *connection)
{
    uint32_t now = connection->receiving != NULL && connection->receiving->is_direct;
    return connection->direct > now ? SW_FRAME_ALIGN - connection->buffer_end % SW_FRAME_ALIGN
                                    : sizeof(connection->buffer) - connection->buffer_end;
}

/* Reads once: first the rest of the current body, then into the buffer. Returns the number of
 * bytes, or what the transport returned. Sets *drained if the transport had fewer bytes than the
 * buffer has room for. */
static int64_t read_once(struct sw_client_connection *connection, bool *drained)
{
    struct iovec iov[RECEIVE_PARTS_MAX + 1];
    int n = 0;
    size_t body = 0, ahead = 0;
    assert(connection->buffer_begin <= connection->buffer_end);
    memmove(connection->buffer, connection->buffer + connection->buffer_begin,
            connection->buffer_end - connection->buffer_begin);
    connection->buffer_end -= connection->buffer_begin;
    connection->buffer_begin = 0;
    if (body_parts(connection, iov, &n, &body)) {
        ahead = read_ahead(connection);
        assert(ahead > 0 && connection->buffer_end + ahead <= sizeof(connection->buffer));
        iov[n++] = (struct iovec){connection->buffer + connection->buffer_end, ahead};
    }
    int64_t got = connection->transport->calls->read(connection->transport, iov, n);
    if (got <= 0) {
        return got;
    }
    connection->client->traffic.bytes_received += (uint64_t)got;
    connection->moved = connection->client->clock;
    *drained = (size_t)got < body + ahead;
    size_t to_body = (size_t)got < body ? (size_t)got : body;
    connection->buffer_end += (size_t)got - to_body;
    if (connection->receiving != NULL) {
        advance(connection, to_body);
    }
    return got;
}

int sw_client_receive(struct sw_client_connection *connection)
{
    const struct sw_client_transport *transport = connection->transport;
    bool (*pending)(const struct sw_client_transport *) = transport->calls->pending;
    for (int i = 0; i < RECEIVE_CALLS_MAX || (pending != NULL && pending(transport)); i++) {
        bool drained = false;
        int64_t got = read_once(connection, &drained);
        if (got == 0) {
            return connection_lost(connection, 0);
        }
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno == EAGAIN || errno == EWOULDBLOCK ? SHERWOOD_OK
                                                           : connection_lost(connection, errno);
        }
        int rc = take_buffered(connection);
        if (rc != SHERWOOD_OK || drained) {
            return rc;
        }
    }
    return SHERWOOD_OK;
}
