/* SPDX-License-Identifier: MIT
 *
 * send.c - chooses the connection of a frame, queues it, and sends the queue straight from the
 * caller's arrays.
 */
#include "client/send.h"

#include <assert.h>
#include <errno.h>
#include <sys/uio.h>

#include "client/error.h"
#include "client/handle.h"
#include "client/segments.h"

/* The largest number of parts of one write, and the largest number of writes before the caller may
 * receive again. */
#define SEND_PARTS_MAX 160
#define SEND_CALLS_MAX 16

/* --- queueing --------------------------------------------------------------------------------- */

int sw_client_connection_for(struct sherwood *client, struct sw_client_frame *frame,
                             struct sw_client_connection **out)
{
    const int status = sw_client_ring_place(client, frame);
    *out = NULL;
    if (status == SHERWOOD_OK && !frame->by_ring) {
        *out = sw_client_connection_pick(client);
    } else if (status == SHERWOOD_OK && sw_client_connection_is_free(client->connections[0])) {
        *out = client->connections[0];
    }
    return status;
}

/* Returns whether the reply will have a long body for the caller's arrays. */
static bool is_direct(const struct sw_client_flight *flight)
{
    if (flight->segments != NULL) {
        return flight->header.want_values &&
               sw_client_segments_answer(flight, true, false) >= SW_CLIENT_LONG_BYTES;
    }
    bool is_wanted = false;
    for (uint32_t i = 0; i < flight->pieces_count; i++) {
        is_wanted |= flight->pieces[i].previous != NULL;
    }
    return is_wanted && (uint64_t)flight->header.count * sw_request_answer_bytes(&flight->header) >=
                            SW_CLIENT_LONG_BYTES;
}

/* Encodes the head of a frame. Only frames without a login, a table's name or words can have a
 * trace context; `trace` may be NULL. */
static int encode_head(struct sw_client_flight *flight, const struct sw_client_frame *frame,
                       const struct sw_trace *trace, uint64_t body_bytes)
{
    if (frame->login != NULL) {
        return sw_frame_login_encode(&flight->header, frame->login, frame->long_head,
                                     SW_FRAME_HEAD_BYTES_MAX);
    }
    if (frame->segments != NULL) {
        return sw_client_segments_encode(flight, frame->gives_ids, trace, body_bytes,
                                         frame->long_head, SW_FRAME_HEAD_BYTES_MAX);
    }
    if (frame->words != NULL) {
        return sw_frame_words_encode(&flight->header, frame->words, frame->words_count,
                                     frame->long_head, SW_FRAME_HEAD_BYTES_MAX);
    }
    if (frame->table_name != NULL) {
        return sw_frame_table_name_encode(&flight->header, frame->table_name, flight->head,
                                          sizeof(flight->head));
    }
    return trace != NULL
               ? sw_frame_trace_encode(&flight->header, trace, body_bytes, flight->head,
                                       sizeof(flight->head))
               : sw_request_encode(&flight->header, body_bytes, flight->head, sizeof(flight->head));
}

struct sw_client_flight *sw_client_queue(struct sw_client_connection *connection,
                                         const struct sw_client_frame *frame)
{
    struct sw_client_flight *flight = sw_client_flight_take(connection, frame);
    if (flight == NULL) {
        return NULL;
    }
    if (frame->by_ring) {
        connection->has_written |= sw_operation_writes(flight->header.operation);
        sw_client_ring_submit(connection, flight, &frame->submission);
        return flight;
    }
    flight->is_direct = is_direct(flight);
    uint64_t body_bytes = flight->segments != NULL    ? sw_client_segments_body(flight)
                          : flight->pieces_count == 0 ? 0
                                                      : sw_request_layout(&flight->header).bytes;
    const struct sw_client_trace *trace =
        frame->trace != NULL ? frame->trace : &connection->client->trace;
    int head_bytes = encode_head(flight, frame, trace->is_set ? &trace->context : NULL, body_bytes);
    if (head_bytes <= 0) {
        sw_client_flight_put_back(connection, flight);
        return NULL;
    }
    connection->has_written |= sw_operation_writes(flight->header.operation);
    flight->long_head = frame->login != NULL || frame->words != NULL || frame->segments != NULL
                            ? frame->long_head
                            : NULL;
    flight->head_bytes = (uint32_t)head_bytes;
    flight->frame_bytes = (uint64_t)head_bytes + body_bytes;
    assert(connection->queue_count < SW_CLIENT_FLIGHTS_MAX);
    uint32_t last = (connection->queue_first + connection->queue_count) % SW_CLIENT_FLIGHTS_MAX;
    connection->queue[last] = (uint32_t)(flight - connection->flights);
    connection->queue_count++;
    connection->direct += flight->is_direct;
    return flight;
}

/* --- sending ---------------------------------------------------------------------------------- */

static const uint8_t zeros[SW_FRAME_ALIGN];

static size_t add_to_iov(struct iovec *iov, size_t n, const void *data, size_t bytes)
{
    if (bytes > 0) {
        /* The transport only reads from the parts. */
        iov[n++] = (struct iovec){(void *)(uintptr_t)data, bytes};
    }
    return n;
}

/* Adds the keys of a segment. If they follow the keys of the segment before in memory, they
 * lengthen its part: a long part can be sent as pages. Part 0 is the head, which is not constant.
 */
static size_t add_keys(struct iovec *iov, size_t n, const void *keys, size_t bytes)
{
    if (n > 1 && (const uint8_t *)iov[n - 1].iov_base + iov[n - 1].iov_len == keys) {
        iov[n - 1].iov_len += bytes;
        return n;
    }
    return add_to_iov(iov, n, keys, bytes);
}

/* Adds an array, whose parts lie in the pieces, and its padding. */
static size_t add_array(struct iovec *iov, size_t n, const struct sw_client_flight *flight,
                        bool operands)
{
    uint32_t width =
        operands ? sw_request_operand_bytes(&flight->header) : flight->header.key_bytes;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < flight->pieces_count; i++) {
        const struct sherwood_piece *piece = &flight->pieces[i];
        size_t size = (size_t)piece->count * width;
        n = add_to_iov(iov, n, operands ? piece->values : piece->keys, size);
        bytes += size;
    }
    return add_to_iov(iov, n, zeros, (size_t)(sw_frame_align(bytes) - bytes));
}

/* Returns the most parts of a flight's frame. */
static size_t parts_max(const struct sw_client_flight *flight)
{
    return flight->segments != NULL ? SW_CLIENT_SEGMENT_PARTS_MAX : SW_CLIENT_FRAME_PARTS_MAX;
}

/* Lists the parts of a flight's frame that are not empty. Returns their number, at most
 * parts_max. */
static size_t frame_parts(const struct sw_client_flight *flight, struct iovec *iov)
{
    const uint8_t *head = flight->long_head != NULL ? flight->long_head : flight->head;
    size_t n = add_to_iov(iov, 0, head, flight->head_bytes);
    for (uint32_t i = 0; i < flight->segments_count; i++) {
        const uint64_t bytes = sw_client_segment_key_bytes(&flight->segments[i]);
        n = add_keys(iov, n, flight->segments[i].keys, (size_t)bytes);
        n = add_to_iov(iov, n, zeros, (size_t)(sw_frame_align(bytes) - bytes));
    }
    if (flight->segments != NULL) {
        return n;
    }
    n = add_array(iov, n, flight, false);
    if (sw_operation_has_operands(flight->header.operation)) {
        n = add_array(iov, n, flight, true);
    }
    if (flight->header.has_scores) {
        size_t bytes = flight->header.count * sizeof(uint64_t);
        n = add_to_iov(iov, n, flight->cache->scores + flight->cache_at, bytes);
        n = add_to_iov(iov, n, zeros, (size_t)sw_frame_align(bytes) - bytes);
    }
    if (flight->header.has_times) {
        size_t bytes = flight->header.count * sizeof(uint64_t);
        n = add_to_iov(iov, n, flight->times_ms, bytes);
        n = add_to_iov(iov, n, zeros, (size_t)sw_frame_align(bytes) - bytes);
    }
    assert(n <= SW_CLIENT_FRAME_PARTS_MAX);
    return n;
}

/* Removes the first `skip` bytes of the parts. Returns the number of parts that are left. */
static size_t skip_parts(struct iovec *iov, size_t n, uint64_t skip)
{
    size_t from = 0;
    while (from < n && iov[from].iov_len <= skip) {
        skip -= iov[from++].iov_len;
    }
    for (size_t i = from; i < n; i++) {
        iov[i - from] = iov[i];
    }
    if (from < n) {
        iov[0].iov_base = (uint8_t *)iov[0].iov_base + skip;
        iov[0].iov_len -= (size_t)skip;
    }
    return n - from;
}

/* Lists the parts of the queued frames; of the first frame, from `queue_offset` on. */
static size_t gather(struct sw_client_connection *connection, struct iovec *iov)
{
    size_t n = 0;
    for (uint32_t i = 0; i < connection->queue_count; i++) {
        uint32_t slot = connection->queue[(connection->queue_first + i) % SW_CLIENT_FLIGHTS_MAX];
        if (n + parts_max(&connection->flights[slot]) > SEND_PARTS_MAX) {
            break;
        }
        size_t parts = frame_parts(&connection->flights[slot], iov + n);
        n += i == 0 ? skip_parts(iov, parts, connection->queue_offset) : parts;
    }
    return n;
}

/* Notes that `bytes` of the queue were sent, and removes the frames that are complete. Bytes of
 * later requests do not lengthen the wait of one that was sent before. */
static void count_sent(struct sw_client_connection *connection, uint64_t bytes)
{
    connection->client->traffic.bytes_sent += bytes;
    if (connection->in_flight == connection->queue_count) {
        connection->moved = connection->client->clock;
    }
    connection->queue_offset += bytes;
    while (connection->queue_count > 0) {
        struct sw_client_flight *flight =
            &connection->flights[connection->queue[connection->queue_first]];
        if (connection->queue_offset < flight->frame_bytes) {
            break;
        }
        connection->queue_offset -= flight->frame_bytes;
        flight->sent = true;
        connection->queue_first = (connection->queue_first + 1) % SW_CLIENT_FLIGHTS_MAX;
        connection->queue_count--;
        if (flight->refused != SW_REPLY_OK) { /* its reply came first */
            const struct sw_reply refusal = {.request_id = flight->id, .status = flight->refused};
            sw_client_flight_finish(connection, flight, sw_client_status(flight->refused),
                                    &refusal);
        }
    }
    assert(connection->queue_count > 0 || connection->queue_offset == 0);
}

static int64_t send_copied(struct sw_client_connection *connection)
{
    struct sw_client_transport *transport = connection->transport;
    struct iovec iov[SEND_PARTS_MAX];
    size_t n = gather(connection, iov);
    return transport->calls->write(transport, iov, (int)n, false);
}

/* Sends a part of the first frame, whose arrays never change: long arrays as pages, and short ones
 * up to the next long one by one write. */
static int64_t send_constant(struct sw_client_connection *connection,
                             const struct sw_client_flight *flight)
{
    struct sw_client_transport *transport = connection->transport;
    struct iovec parts[SW_CLIENT_SEGMENT_PARTS_MAX];
    size_t n = frame_parts(flight, parts);
    n = skip_parts(parts, n, connection->queue_offset);
    assert(n > 0); /* a frame that is completely sent leaves the queue */
    size_t shorts = 0;
    while (transport->held == 0 && shorts < n && parts[shorts].iov_len < SW_CLIENT_PAGES_BYTES) {
        shorts++;
    }
    bool more = n > (shorts > 0 ? shorts : 1) || connection->queue_count > 1;
    if (shorts > 0) {
        return transport->calls->write(transport, parts, (int)shorts, more);
    }
    int64_t sent =
        transport->calls->write_pages(transport, parts[0].iov_base, parts[0].iov_len, more);
    return sent < 0 && errno == ENOTSUP ? send_copied(connection) : sent;
}

static int64_t send_some(struct sw_client_connection *connection)
{
    const struct sw_client_flight *flight =
        &connection->flights[connection->queue[connection->queue_first]];
    bool as_pages = flight->is_constant && flight->frame_bytes >= SW_CLIENT_PAGES_BYTES &&
                    connection->transport->calls->write_pages != NULL;
    return as_pages ? send_constant(connection, flight) : send_copied(connection);
}

void sw_client_send(struct sw_client_connection *connection)
{
    for (int i = 0; i < SEND_CALLS_MAX && connection->queue_count > 0; i++) {
        if (connection->send_errno != 0) {
            break;
        }
        int64_t sent = send_some(connection);
        if (sent >= 0) {
            count_sent(connection, (uint64_t)sent);
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            /* The server may have sent the reason before it closed. The connection ends when
             * receiving finds its end. */
            connection->send_errno = errno;
        }
        break;
    }
    sw_client_connection_watch(connection);
}

void sw_client_send_all(struct sherwood *client)
{
    for (uint32_t i = 0; i < client->connections_count; i++) {
        if (client->connections[i]->queue_count > 0) {
            sw_client_send(client->connections[i]);
        }
    }
}
