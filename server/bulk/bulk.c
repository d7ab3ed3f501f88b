/* SPDX-License-Identifier: MIT
 *
 * bulk.c - receiving frames, and the functions of the protocol.
 */
#include "server/bulk/bulk.h"

#include <assert.h>
#include <string.h>

#include "server/bulk/admit.h"
#include "server/bulk/frame_memory.h"
#include "server/bulk/frame_table.h"
#include "server/bulk/output.h"
#include "server/bulk/reply.h"
#include "server/bulk/request.h"
#include "server/bulk/ring_frames.h"
#include "server/bulk/segments.h"
#include "server/bulk/shared_memory.h"
#include "server/bulk/table_frames.h"
#include "server/bulk/trace.h"
#include "server/bulk/uncached_copy.h"
#include "server/limits.h"
#include "server/tables/change_run.h"
#include "table/imported_memory.h"

/* --- memory of a frame ------------------------------------------------------------------------ */

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

/* Begins to receive the frame whose head is at `bytes`. Returns the bytes consumed: the head and
 * the received part of the body. Returns 0 if the head is incomplete or the connection stalls. */
static size_t begin_frame(struct sw_conn *conn, const uint8_t *bytes, size_t size)
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

/* --- the protocol ----------------------------------------------------------------------------- */

static bool claims(uint8_t first)
{
    return first == SW_FRAME_MAGIC;
}

static void open_conn(struct sw_conn *conn, void *loop_state)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    state->bulk = loop_state;
    state->conn = conn;
    state->view = conn->net->tables.number;
    sw_list_init(&state->ready);
    sw_list_init(&state->unsent.frames);
}

static size_t feed_frames(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    size_t at = 0;
    while (at < size && state->receiving == NULL) {
        if (state->discard_bytes > 0) {
            size_t rest = size - at;
            size_t drop = rest < state->discard_bytes ? rest : (size_t)state->discard_bytes;
            state->discard_bytes -= drop;
            at += drop;
            continue;
        }
        size_t consumed = begin_frame(conn, bytes + at, size - at);
        at += consumed;
        if (consumed == 0 || conn->state > SW_CONN_DRAINING || conn->stall != SW_STALL_NONE) {
            break;
        }
        (void)sw_iteration_add(&conn->net->iteration, SW_COST_FRAME);
        if (at < size && state->receiving == NULL &&
            sw_iteration_must_yield(&conn->net->iteration, &conn->share)) {
            SW_COUNT(conn->net->counters, turn_pauses, !conn->retried);
            sw_conn_stall(conn, SW_STALL_YIELDED);
            break;
        }
    }
    return at;
}

static uv_buf_t body_room(struct sw_conn *conn)
{
    struct sw_bulk_frame *frame = sw_bulk_of(conn)->receiving;
    uint64_t rest = frame->body_bytes - frame->received;
    uint64_t most = conn->net->iteration.bytes;
    return uv_buf_init((char *)frame->memory + frame->received,
                       (unsigned)(rest < most ? rest : most));
}

/* Starts a frame whose body is complete, unless CLIENT PAUSE holds it back by now. */
static void start_or_hold(struct sw_conn *conn, struct sw_bulk_frame *frame)
{
    if (sw_bulk_is_held_back(conn, &frame->request)) {
        sw_bulk_of(conn)->held = frame;
        SW_COUNT(conn->net->counters, client_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_PAUSED);
    } else {
        sw_bulk_start(frame);
    }
}

static void resumed(struct sw_conn *conn)
{
    struct sw_bulk_frame *held = sw_bulk_of(conn)->held;
    if (held != NULL) {
        sw_bulk_of(conn)->held = NULL;
        start_or_hold(conn, held);
    }
    if (conn->state == SW_CONN_OPEN && conn->stall == SW_STALL_NONE) {
        sw_bulk_resumed(conn);
    }
}

static void body_received(struct sw_conn *conn, size_t bytes)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    struct sw_bulk_frame *frame = state->receiving;
    frame->received += bytes;
    assert(frame->received <= frame->body_bytes);
    if (frame->received == frame->body_bytes) {
        state->receiving = NULL;
        conn->receives_body = false;
        start_or_hold(conn, frame);
    }
}

static bool refuse_bulk_conn(struct sw_conn *conn, enum sw_refusal why)
{
    static const struct {
        enum sw_reply_status status;
        const char *message;
    } replies[] = {
        [SW_REFUSAL_TIMED_OUT] = {SW_REPLY_TIMED_OUT, "the request did not arrive in time"},
        [SW_REFUSAL_TOO_MANY_CONNECTIONS] = {SW_REPLY_TOO_MANY_CONNECTIONS,
                                             "connections-max is reached"},
        [SW_REFUSAL_INPUT_MEMORY] =
            {SW_REPLY_OUT_OF_MEMORY,
             "the memory for incomplete requests is used up (input-bytes-max)"},
        [SW_REFUSAL_PROTECTED] = {SW_REPLY_NO_AUTH,
                                  "protected-mode is yes and the user default has no password, so "
                                  "the server refuses clients of other machines: set a password "
                                  "(--requirepass-file, --acl-file), or --protected-mode no"},
        [SW_REFUSAL_BEFORE_LOGIN] = {SW_REPLY_TOO_MANY_CONNECTIONS,
                                     "connections-before-login-max is reached"},
        [SW_REFUSAL_LOGIN_TIMED_OUT] = {SW_REPLY_NO_AUTH,
                                        "the client did not log in within login-timeout-ms"},
    };
    return sw_bulk_refuse(conn, 0, replies[why].status, replies[why].message);
}

static void drop_input(struct sw_conn *conn)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    if (state->receiving != NULL) {
        sw_bulk_frame_put(state->receiving);
        state->receiving = NULL;
        conn->receives_body = false;
    }
    if (state->held != NULL) {
        sw_bulk_frame_put(state->held);
        state->held = NULL;
    }
}

static void close_conn(struct sw_conn *conn)
{
    assert(sw_list_is_empty(&sw_bulk_of(conn)->unsent.frames));
    assert(!sw_list_is_linked(&sw_bulk_of(conn)->ready));
    sw_bulk_shared_close(conn);
    sw_change_run_free(sw_bulk_of(conn)->change);
}

static void check(const struct sw_conn *conn)
{
    const struct sw_bulk_conn *state =
        (const struct sw_bulk_conn *)(const void *)conn->protocol_state;
    assert(state->bulk != NULL && state->conn == conn);
    assert((state->receiving != NULL) == conn->receives_body);
    assert(state->held == NULL || conn->stall == SW_STALL_PAUSED);
    assert(sw_list_check(&state->unsent.frames) == conn->unsent_replies);
    assert(!conn->transport.writing || !sw_list_is_linked(&state->ready));
    (void)state;
}

const struct sw_protocol sw_bulk_protocol = {
    .name = "bulk frames",
    .state_bytes = sizeof(struct sw_bulk_conn),
    .claims = claims,
    .unsent_replies_min = SW_UNSENT_FRAMES_MIN,
    .open = open_conn,
    .feed = feed_frames,
    .resumed = resumed,
    .body_room = body_room,
    .body_received = body_received,
    .refuse = refuse_bulk_conn,
    .written = sw_bulk_written,
    .drop_input = drop_input,
    .drop_output = sw_bulk_drop_unsent,
    .close = close_conn,
    .check = check,
};

/* --- the loop's side -------------------------------------------------------------------------- */

void sw_bulk_init(struct sw_bulk *bulk, struct sw_net *net, struct sw_bulk_table *first,
                  const struct sw_bulk_owner *owner)
{
    memset(bulk, 0, sizeof(*bulk));
    bulk->net = net;
    bulk->first = first->batches;
    sw_bulk_begin_tables(bulk, first);
    bulk->owner = *owner;
    sw_bulk_rights_init(&bulk->rights, net->users);
    sw_list_init(&bulk->waits);
    sw_list_init(&bulk->copying);
    sw_list_init(&bulk->rings);
    sw_list_init(&bulk->ready);
    sw_bulk_pool_init(&bulk->pool);
}

void sw_bulk_close_writers(struct sw_bulk *bulk)
{
    SW_LIST_EACH(&bulk->net->conns, link)
    {
        struct sw_conn *conn = SW_CONTAINER(link, struct sw_conn, link);
        if (conn->protocol == &sw_bulk_protocol && sw_bulk_of(conn)->last_write.sequence > 0) {
            sw_conn_drain(conn, false);
        }
    }
}

void sw_bulk_fini(struct sw_bulk *bulk)
{
    if (bulk->net != NULL) {
        sw_bulk_pool_fini(&bulk->pool);
    }
}

void sw_bulk_check(const struct sw_bulk *bulk)
{
    assert(sw_list_check(&bulk->pool.spare) == bulk->pool.spare_count);
    assert(bulk->pool.spare_least <= bulk->pool.spare_count);
    sw_list_check(&bulk->ready);
}
