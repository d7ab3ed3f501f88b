/* SPDX-License-Identifier: MIT
 *
 * begin_frame.c - reads the head of a frame, admits the request, and gets memory for it.
 */
#include "server/bulk/begin_frame.h"

#include <string.h>

#include "server/bulk/admit.h"
#include "server/bulk/bulk.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/frame_table.h"
#include "server/bulk/reply.h"
#include "server/bulk/request.h"
#include "server/bulk/segments.h"
#include "server/bulk/shared_memory.h"
#include "server/bulk/table_frames.h"
#include "server/bulk/trace.h"
#include "server/bulk/uncached_copy.h"
#include "server/limits.h"

/* The head of a frame, decoded. */
struct head {
    struct sw_request request;
    struct sw_bulk_target target; /* the table of the request */
    size_t header_bytes;
    size_t bytes;
    uint64_t body_bytes;
    uint64_t reply_bytes;              /* of the reply's body and scratch memory */
    struct sw_frame_segments segments; /* only if the request has segments */
};

/* Will the request wait for a table that is held? Reads go on beside a long read. */
static bool waits_for_table(const struct sw_bulk *bulk, const struct head *head)
{
    const struct sw_request *request = &head->request;
    const bool reads = !sw_operation_writes(request->operation);
    const struct sw_bulk_table *table = head->target.table;
    bool waits = table != NULL && sw_table_keeps_out(table->batches->table, reads);
    for (uint32_t i = 0; request->has_segments && i < head->segments.count; i++) {
        const struct sw_request one = sw_frame_segment(request, &head->segments, i);
        table = sw_bulk_find_table(bulk, &one).table;
        waits |= table != NULL && sw_table_keeps_out(table->batches->table, reads);
    }
    return waits &&
           (sw_operation_is_data(request->operation) || request->operation == SW_OPERATION_SCAN);
}

/* Must a frame of these bytes leave the arena to others (sw_batches_must_leave)? It may have
 * several tables. */
static bool must_leave(const struct sw_bulk *bulk, const struct head *head, uint64_t bytes)
{
    return sw_io_arena_is_half_used(bulk->first->io, bytes) && waits_for_table(bulk, head);
}

/* Returns a frame with arena memory for the bodies of the request and the reply. Returns NULL with
 * the connection stalled if there is no arena memory now, or closed if there is no memory at all.
 */
static struct sw_bulk_frame *take_frame(struct sw_conn *conn, const struct head *head)
{
    struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    bool waits = sw_conn_arena_is_reserved(conn);
    struct sw_body_layout reply = sw_bulk_reply_layout(&head->request);
    const uint64_t bytes = head->body_bytes + head->reply_bytes;
    if (must_leave(bulk, head, bytes)) {
        SW_COUNT(conn->net->counters, arena_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_HELD);
        return NULL;
    }
    struct sw_bulk_frame *frame = sw_bulk_frame_take(bulk, conn);
    if (frame == NULL) {
        sw_conn_abort(conn);
        return NULL;
    }
    if (bytes > 0 && (waits || !sw_bulk_frame_reserve(frame, bytes))) {
        sw_bulk_frame_put(frame);
        SW_COUNT(conn->net->counters, arena_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_ARENA);
        return NULL;
    }
    frame->request = head->request;
    frame->table = head->target.table;
    frame->table_id = head->target.id;
    frame->view = bulk->net->tables.number;
    frame->body_bytes = head->body_bytes;
    frame->reply_layout = reply;
    if (frame->memory != NULL) {
        frame->reply = frame->memory + head->body_bytes;
        if (head->request.has_segments) {
            sw_bulk_place_segments(frame, &head->segments);
        } else {
            sw_bulk_clear_padding(frame->reply, reply);
        }
    }
    return frame;
}

/* Refuses bytes that are not a frame: the bytes after them cannot be parsed either, so the
 * connection is closed after the error. */
static void refuse_bytes(struct sw_conn *conn, int error)
{
    SW_COUNT(conn->net->counters, frame_protocol_errors, 1);
    if (sw_bulk_refuse(conn, 0, SW_REPLY_BAD_REQUEST, sw_frame_error_text(error))) {
        sw_conn_drain(conn, false);
    } else {
        sw_conn_abort(conn);
    }
}

/* Decodes the head at `bytes`. Returns 1, or 0 if it is incomplete, or a negative error if the
 * bytes are not a frame. */
static int decode_head(struct sw_conn *conn, const uint8_t *bytes, size_t size, struct head *head)
{
    struct sw_frame_prefix prefix;
    const struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    int result = sw_frame_prefix_decode(bytes, size, bulk->body_bytes_max, &prefix);
    if (result < 0) {
        return result;
    }
    head->bytes = result == 0 ? SW_FRAME_PREFIX_BYTES : sw_frame_head_bytes(prefix.header_bytes);
    head->body_bytes = result == 0 ? 0 : prefix.body_bytes;
    head->header_bytes = result == 0 ? 0 : prefix.header_bytes;
    if (result == 0 || size < head->bytes) {
        conn->input.need = head->bytes;
        return 0;
    }
    const uint8_t *header = bytes + SW_FRAME_PREFIX_BYTES;
    if (sw_request_decode(header, prefix.header_bytes, &head->request) < 0) {
        return SW_FRAME_E_HEADER;
    }
    if (prefix.version != sw_request_version(&head->request)) {
        return SW_FRAME_E_VERSION;
    }
    /* A peer that must log in first causes no spans. */
    head->request.is_sampled &= bulk->owner.spans != NULL && !conn->lacks_login;
    head->request.names_table &= head->request.operation == SW_OPERATION_HELLO;
    if (head->request.names_table &&
        !sw_bulk_name_table(bulk, header, prefix.header_bytes, &head->request)) {
        return SW_FRAME_E_HEADER;
    }
    head->request.saves_table = head->request.operation == SW_OPERATION_TABLE &&
                                sw_bulk_saves_table(header, prefix.header_bytes);
    head->target = sw_bulk_find_table(bulk, &head->request);
    head->reply_bytes =
        head->target.table == NULL ? 0 : sw_bulk_reply_bytes(head->target.table, &head->request);
    if (head->request.has_segments) { /* lists that cannot be read leave a count of 0 */
        (void)sw_frame_segments_decode(header, prefix.header_bytes, &head->segments);
        head->reply_bytes = sw_bulk_segments_bytes(&head->request, &head->segments);
    }
    return 1;
}

/* Sends an error as the reply to a request that has no frame. Returns false if there is no memory.
 */
static bool refuse_request(struct sw_conn *conn, const uint8_t *bytes, const struct head *head,
                           enum sw_reply_status status, const char *message)
{
    if (head->request.is_sampled) {
        sw_bulk_trace_refused(conn, &head->request, bytes + SW_FRAME_PREFIX_BYTES,
                              head->header_bytes, status, message);
    }
    return sw_bulk_refuse(conn, head->request.request_id, status, message);
}

/* May the connection send the request, and can it be carried out? If not, an error is sent as its
 * reply. */
static bool is_admitted(struct sw_conn *conn, const uint8_t *bytes, const struct head *head)
{
    char message[SW_FRAME_TEXT_BYTES_MAX];
    bool closes = false;
    const struct sw_bulk_candidate candidate = {
        &head->request,     &head->target,    bytes + SW_FRAME_PREFIX_BYTES,
        head->header_bytes, head->body_bytes, head->reply_bytes};
    enum sw_reply_status status =
        head->request.has_segments
            ? sw_bulk_admit_segments(conn, &candidate, &head->segments, message, sizeof(message),
                                     &closes)
            : sw_bulk_admit(conn, &candidate, message, sizeof(message), &closes);
    if (status == SW_REPLY_OK) {
        return true;
    }
    if (!refuse_request(conn, bytes, head, status, message)) {
        sw_conn_abort(conn);
    } else if (closes || (conn->lacks_login && head->body_bytes > SW_LOGIN_REQUEST_BYTES_MAX)) {
        sw_conn_drain(conn, false);
    }
    return false;
}

/* Does only a device read this body, which has been received as a whole? */
static bool is_for_device(const struct sw_bulk_frame *frame, size_t received)
{
    const uint32_t operation = frame->request.operation;
    return received >= SW_UNCACHED_BODY_BYTES && received == frame->body_bytes &&
           sw_operation_is_data(operation) && !sw_operation_writes(operation) &&
           !frame->bulk->first->shape.is_in_host;
}

/* Copies the bytes of the body that are at `bytes` to the frame, and starts the frame if that is
 * the whole body. Returns how many bytes of the body there were. */
static size_t receive(struct sw_conn *conn, struct sw_bulk_frame *frame, const uint8_t *bytes,
                      size_t size)
{
    size_t here = size < frame->body_bytes ? size : (size_t)frame->body_bytes;
    conn->read_bytes =
        frame->body_bytes >= SW_LARGE_BODY_BYTES ? SW_BULK_READ_BYTES : SW_READ_BYTES;
    if (is_for_device(frame, here)) {
        sw_bulk_copy_uncached(frame->memory, bytes, here);
    } else if (here > 0) {
        memcpy(frame->memory, bytes, here);
    }
    frame->received = here;
    if (here == frame->body_bytes) {
        sw_bulk_start(frame);
    } else {
        sw_bulk_of(conn)->receiving = frame;
        conn->receives_body = true;
    }
    return here;
}

static bool names_region(uint32_t operation)
{
    return operation == SW_OPERATION_REGION || operation == SW_OPERATION_RELEASE;
}

/* Reads the change of a TABLE. If it is wrong, an error is sent as its reply. */
static bool notes_change(struct sw_conn *conn, const uint8_t *bytes, const struct head *head)
{
    char message[SW_FRAME_TEXT_BYTES_MAX];
    const enum sw_reply_status status = sw_bulk_note_change(
        conn, bytes + SW_FRAME_PREFIX_BYTES, head->header_bytes, message, sizeof(message));
    if (status != SW_REPLY_OK && !refuse_request(conn, bytes, head, status, message)) {
        sw_conn_abort(conn);
    }
    return status == SW_REPLY_OK;
}

size_t sw_bulk_begin_frame(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct head head;
    int result = decode_head(conn, bytes, size, &head);
    if (result < 0) {
        refuse_bytes(conn, result);
        return size;
    }
    if (result == 0) {
        return 0;
    }
    if (head.request.operation == SW_OPERATION_BELL) { /* each iteration polls all rings */
        SW_COUNT(conn->net->counters, ring_bells, 1);
        sw_bulk_of(conn)->discard_bytes = head.body_bytes;
        return head.bytes;
    }
    if (sw_bulk_must_wait(conn, &head.request)) {
        return 0;
    }
    if (!is_admitted(conn, bytes, &head)) {
        sw_bulk_of(conn)->discard_bytes = head.body_bytes;
        return head.bytes;
    }
    if (names_region(head.request.operation) &&
        !sw_bulk_shared_note(conn, bytes + SW_FRAME_PREFIX_BYTES, head.header_bytes)) {
        refuse_bytes(conn, SW_FRAME_E_HEADER);
        return size;
    }
    if (head.request.operation == SW_OPERATION_TABLE && !notes_change(conn, bytes, &head)) {
        return head.bytes;
    }
    struct sw_bulk_frame *frame = take_frame(conn, &head);
    if (frame == NULL) {
        return 0;
    }
    if (head.request.is_sampled) {
        sw_bulk_trace_begin(frame, bytes + SW_FRAME_PREFIX_BYTES, head.header_bytes);
    }
    return head.bytes + receive(conn, frame, bytes + head.bytes, size - head.bytes);
}
