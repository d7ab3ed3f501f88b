/* SPDX-License-Identifier: MIT
 *
 * bulk.c - receiving frames, and starting what they ask for.
 */
#include "server/bulk/bulk.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/bulk/figures.h"
#include "server/bulk/frame_slot.h"
#include "server/bulk/values.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"
#include "server/resp/control.h"

/* --- memory of a frame ------------------------------------------------------------------------ */

/* Bytes of the reply's arrays: values if wanted, and the found bitmap; of a SCAN, keys and values;
 * of STATS, figures. */
static struct sw_body_layout answer_layout(const struct sw_request *request)
{
    struct sw_reply reply = {
        .count = request->count,
        .key_bytes = request->key_bytes,
        .value_bytes = request->value_bytes,
        .has_values = request->want_values,
    };
    if (request->operation == SW_OPERATION_STATS) {
        reply.count = sw_figures_count(request->count);
    }
    return sw_reply_layout(&reply, request->operation);
}

/* The answer's padding must not carry what the memory held before. */
static void clear_padding(uint8_t *body, struct sw_body_layout layout)
{
    if (layout.second >= SW_FRAME_ALIGN) {
        memset(body + layout.second - SW_FRAME_ALIGN, 0, SW_FRAME_ALIGN);
    }
    if (layout.bytes >= SW_FRAME_ALIGN) {
        memset(body + layout.bytes - SW_FRAME_ALIGN, 0, SW_FRAME_ALIGN);
    }
}

/* A frame with memory for the request's body and the answer's, or NULL with the connection stalled
 * (no arena memory) or closed (no memory at all). */
static struct sw_frame *take_frame(struct sw_conn *conn, const struct sw_request *request,
                                   uint64_t body_bytes)
{
    struct sw_loop *loop = conn->loop;
    bool waits = sw_loop_memory_is_others(loop, conn);
    struct sw_body_layout answer = answer_layout(request);
    struct sw_frame *frame = sw_frame_take(loop, conn);
    if (frame == NULL) {
        sw_conn_abort(conn);
        return NULL;
    }
    if (body_bytes + answer.bytes > 0 &&
        (waits || !sw_frame_reserve(frame, body_bytes + answer.bytes))) {
        sw_frame_put(frame);
        SW_COUNT(&loop->counters, arena_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_ARENA);
        return NULL;
    }
    frame->request = *request;
    frame->body_bytes = body_bytes;
    frame->answer_layout = answer;
    if (frame->memory != NULL) {
        frame->answer = frame->memory + body_bytes;
        clear_padding(frame->answer, answer);
    }
    return frame;
}

/* --- what a frame asks for -------------------------------------------------------------------- */

/* The operations of the protocol, as the table's. */
#define OP_OF(name, number, operands) [number] = SW_##name,
static const uint8_t table_ops[] = {SW_DATA_OPERATION_MAP(OP_OF)};

#define ONE_MORE(...) +1
static_assert(SW_DATA_OPERATION_MAP(ONE_MORE) == SW_OP_COUNT,
              "a frame can ask for every operation of the table");

static enum sw_op op_of(uint32_t operation)
{
    return (enum sw_op)table_ops[operation];
}

uint64_t sw_bulk_operations(const struct sw_table_shape *shape)
{
#define SERVED_BY_SERVER(name) 1
#define SERVED_BY_TABLE(name) (shape->batch_kinds >> SW_BATCH_##name & 1)
#define SERVED(name, number, who) | (uint64_t)(SERVED_BY_##who(name)) << (number)
#define SERVED_OP(name, number, operands) \
    | (uint64_t)(shape->operations >> SW_##name & 1) << (number)
    return 0 SW_DATA_OPERATION_MAP(SERVED_OP) SW_CONTROL_OPERATION_MAP(SERVED);
}

/* Starts the frame's batch, or has it wait for others that share one. */
static void launch(struct sw_frame *frame)
{
    if (sw_gather_takes(frame)) {
        sw_gather_add(frame);
        return;
    }
    if (frame->conn->gathered > 0) {
        sw_gather_flush(frame->loop);
    }
    sw_frame_fly(frame);
}

/* A string longer than its value is refused with its whole frame. Returns false if there is one;
 * the frame has its reply then. */
static bool check_values(struct sw_frame *frame, const void *values)
{
    const struct sw_table_shape *shape = &frame->loop->shape;
    uint32_t first, length;
    if (values == NULL || shape->value_format != SW_VALUE_STRING ||
        sw_strings_fit(values, shape->value_bytes, frame->request.count, &first, &length)) {
        return true;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .status = SW_REPLY_BAD_REQUEST};
    snprintf(reply.message, sizeof(reply.message),
             "value %u has a length of %u bytes: at most %u; nothing was changed", first, length,
             shape->blob_bytes_max);
    sw_frame_answer(frame, &reply, NULL, 0);
    return false;
}

static void start_data(struct sw_frame *frame)
{
    const struct sw_request *request = &frame->request;
    struct sw_body_layout body = sw_request_layout(request);
    frame->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = op_of(request->operation),
        .count = request->count,
        .keys = frame->memory + body.first,
        .values =
            sw_operation_has_operands(request->operation) ? frame->memory + body.second : NULL,
        .previous = request->want_values ? frame->answer : NULL,
        .found = (uint64_t *)(void *)(frame->answer + frame->answer_layout.second),
    };
    if (!request->want_values) {
        frame->flight.batch.found = (uint64_t *)(void *)frame->answer;
    }
    if (check_values(frame, frame->flight.batch.values)) {
        launch(frame);
    }
}

static void start_scan(struct sw_frame *frame)
{
    const struct sw_request *request = &frame->request;
    frame->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_SCAN,
        .count = request->count,
        .cursor = request->cursor,
        .scan_keys = frame->answer,
        .scan_values = frame->answer + frame->answer_layout.second,
    };
    launch(frame);
}

static void start_resize(struct sw_frame *frame)
{
    uint64_t wanted = frame->request.capacity_slots;
    uint64_t max = frame->loop->shape.max_capacity_slots;
    struct sw_reply reply = {.request_id = frame->request.request_id};
    if (wanted >= 1 && wanted <= max) {
        frame->flight.batch = (struct sw_batch){.kind = SW_BATCH_RESIZE, .capacity = wanted};
        launch(frame);
        return;
    }
    reply.status = SW_REPLY_BAD_REQUEST;
    snprintf(reply.message, sizeof(reply.message), SW_RESIZE_RANGE, (unsigned long long)wanted,
             (unsigned long long)max);
    sw_frame_answer(frame, &reply, NULL, 0);
}

static void fill_info(const struct sw_loop *loop, struct sw_server_info *info)
{
    struct sw_table_info table;
    sw_table_info(loop->table, &table);
    memset(info, 0, sizeof(*info));
    strncpy(info->version, SHERWOOD_VERSION, sizeof(info->version) - 1);
    strncpy(info->backend, table.backend_name, sizeof(info->backend) - 1);
    strncpy(info->backend_reason, table.backend_reason, sizeof(info->backend_reason) - 1);
    info->key_bytes = table.key_bytes;
    info->value_bytes = table.value_bytes;
    info->frame_ops_max = loop->config->frame_ops_max;
    info->requests_in_flight_max = loop->config->frames_in_flight_max;
    info->capacity_slots = table.capacity_slots;
    info->occupied_max = table.occupied_max;
    strncpy(info->engine, table.engine_name, sizeof(info->engine) - 1);
    info->value_format = (uint32_t)loop->shape.value_format;
}

#define SAME_FORMAT(name, number, word) \
    static_assert((int)SW_VALUE_##name == (number), "a format is told as it is");
SW_FRAME_VALUES_MAP(SAME_FORMAT)

static void start_stats(struct sw_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .count = sw_figures_count(frame->request.count)};
    struct sw_snapshot snapshot;
    frame->loop->owner.snapshot(frame->loop->owner.server, &snapshot);
    sw_figures_write(&snapshot, (struct sw_figure *)(void *)frame->answer, reply.count);
    uv_buf_t body = uv_buf_init((char *)frame->answer, (unsigned)frame->answer_layout.bytes);
    sw_frame_answer(frame, &reply, &body, 1);
}

/* The whole frame is here. */
static void start(struct sw_frame *frame)
{
    struct sw_conn *conn = frame->conn;
    struct sw_loop *loop = conn->loop;
    struct sw_reply reply = {.request_id = frame->request.request_id};
    sw_conn_accept(conn, sw_operation_is_data(frame->request.operation));
    if (sw_operation_is_data(frame->request.operation)) {
        start_data(frame);
        return;
    }
    switch (frame->request.operation) {
    case SW_OPERATION_SCAN:
        start_scan(frame);
        return;
    case SW_OPERATION_CLEAR:
        frame->flight.batch = (struct sw_batch){.kind = SW_BATCH_CLEAR};
        launch(frame);
        return;
    case SW_OPERATION_RESIZE:
        start_resize(frame);
        return;
    case SW_OPERATION_HELLO:
        reply.has_info = true;
        fill_info(loop, &reply.info);
        break;
    case SW_OPERATION_STATS:
        start_stats(frame);
        return;
    default: /* PING */
        break;
    }
    sw_frame_answer(frame, &reply, NULL, 0);
}

/* --- receiving -------------------------------------------------------------------------------- */

void sw_bulk_refuse(struct sw_conn *conn, uint64_t request_id, enum sw_reply_status status,
                    const char *message)
{
    struct sw_reply reply = {.request_id = request_id, .status = status};
    struct sw_frame *frame = sw_frame_take(conn->loop, conn);
    if (frame == NULL) {
        sw_conn_abort(conn);
        return;
    }
    strncpy(reply.message, message, sizeof(reply.message) - 1);
    sw_conn_accept(conn, false);
    sw_frame_answer(frame, &reply, NULL, 0);
}

/* The stream cannot be followed any further. */
static void refuse_bytes(struct sw_conn *conn, int error)
{
    SW_COUNT(&conn->loop->counters, frame_protocol_errors, 1);
    sw_bulk_refuse(conn, 0, SW_REPLY_BAD_REQUEST, sw_frame_error_text(error));
    sw_conn_drain(conn, false);
}

/* The framing is sound: this request is refused, the next one may be better. Without an error it is
 * one for another engine. */
static void refuse_request(struct sw_conn *conn, const struct sw_request *request, int error)
{
    const struct sw_table_shape *shape = &conn->loop->shape;
    char message[SW_FRAME_TEXT_BYTES_MAX];
    enum sw_reply_status status = SW_REPLY_BAD_REQUEST;
    snprintf(message, sizeof(message), "%s", sw_frame_error_text(error));
    if (error == 0) {
        status = SW_REPLY_UNKNOWN_OPERATION;
        snprintf(message, sizeof(message), "the %s engine has no %s", shape->engine_name,
                 sw_operation_name(request->operation));
    } else if (error == SW_FRAME_E_OPERATION) {
        status = SW_REPLY_UNKNOWN_OPERATION;
    } else if (error == SW_FRAME_E_WIDTH) {
        snprintf(message, sizeof(message),
                 "%s: keys of %u and values of %u bytes, where it has %u and %u",
                 sw_frame_error_text(error), request->key_bytes, request->value_bytes,
                 shape->key_bytes, shape->value_bytes);
    }
    sw_bulk_refuse(conn, request->request_id, status, message);
}

/* An answer that the peer has not taken counts as in flight: frames take memory beside their
 * answers' bytes. Control requests report on what came before them on the connection. */
static bool must_wait(struct sw_conn *conn, const struct sw_request *request)
{
    uint64_t unanswered = (uint64_t)conn->in_flight + conn->answers.count;
    if (unanswered >= conn->loop->config->frames_in_flight_max) {
        SW_COUNT(&conn->loop->counters, frames_in_flight_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_IN_FLIGHT);
        return true;
    }
    if (request->operation == SW_OPERATION_STATS && conn->in_flight > 0) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return true;
    }
    return false;
}

static uint64_t body_bytes_max(const struct sw_loop *loop)
{
    uint64_t ops = loop->config->frame_ops_max;
    return sw_frame_align(ops * loop->shape.key_bytes) +
           sw_frame_align(ops * loop->shape.value_bytes);
}

/* Begins the frame whose head is at `bytes`. Returns the bytes consumed: the head and what there is
 * of the body; 0 if the head is incomplete or the frame has to wait. */
static size_t begin(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct sw_loop *loop = conn->loop;
    struct sw_frame_prefix prefix;
    struct sw_request request;
    int error = sw_frame_prefix_decode(bytes, size, body_bytes_max(loop), &prefix);
    if (error < 0) {
        refuse_bytes(conn, error);
        return size;
    }
    size_t head_bytes =
        error == 0 ? SW_FRAME_PREFIX_BYTES : sw_frame_head_bytes(prefix.header_bytes);
    if (error == 0 || size < head_bytes) {
        conn->input.need = head_bytes;
        return 0;
    }
    error = sw_request_decode(bytes + SW_FRAME_PREFIX_BYTES, prefix.header_bytes, &request);
    if (error < 0) {
        refuse_bytes(conn, error);
        return size;
    }
    if (must_wait(conn, &request)) {
        return 0;
    }
    error = sw_request_check(&request, loop->shape.key_bytes, loop->shape.value_bytes,
                             loop->config->frame_ops_max, prefix.body_bytes);
    if (error < 0 || !(loop->frame_operations >> request.operation & 1)) {
        refuse_request(conn, &request, error);
        conn->discard_bytes = prefix.body_bytes;
        return head_bytes;
    }
    struct sw_frame *frame = take_frame(conn, &request, prefix.body_bytes);
    if (frame == NULL) {
        return 0;
    }
    conn->large_frames = prefix.body_bytes >= SW_LARGE_BODY_BYTES;
    size_t here =
        size - head_bytes < prefix.body_bytes ? size - head_bytes : (size_t)prefix.body_bytes;
    if (here > 0) {
        memcpy(frame->memory, bytes + head_bytes, here);
    }
    frame->received = here;
    if (here == prefix.body_bytes) {
        start(frame);
    } else {
        conn->receiving = frame;
    }
    return head_bytes + here;
}

size_t sw_bulk_feed(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && conn->receiving == NULL) {
        if (conn->discard_bytes > 0) {
            size_t drop = size - at < conn->discard_bytes ? size - at : (size_t)conn->discard_bytes;
            conn->discard_bytes -= drop;
            at += drop;
            continue;
        }
        size_t consumed = begin(conn, bytes + at, size - at);
        at += consumed;
        if (consumed == 0 || conn->state > SW_CONN_DRAINING) {
            break;
        }
    }
    return at;
}

uv_buf_t sw_bulk_buffer(struct sw_conn *conn)
{
    struct sw_frame *frame = conn->receiving;
    uint64_t rest = frame->body_bytes - frame->received;
    uint64_t most = conn->loop->turn_bytes;
    return uv_buf_init((char *)frame->memory + frame->received,
                       (unsigned)(rest < most ? rest : most));
}

void sw_bulk_received(struct sw_conn *conn, size_t bytes)
{
    struct sw_frame *frame = conn->receiving;
    frame->received += bytes;
    if (frame->received == frame->body_bytes) {
        conn->receiving = NULL;
        start(frame);
    }
}

void sw_bulk_drop(struct sw_conn *conn)
{
    if (conn->receiving != NULL) {
        sw_frame_put(conn->receiving);
        conn->receiving = NULL;
    }
}
