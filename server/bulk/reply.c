/* SPDX-License-Identifier: MIT
 *
 * reply.c - encoding the results of a frame's batch as its reply.
 */
#include "server/bulk/reply.h"

#include <assert.h>
#include <string.h>

#include "server/batch/refusals.h"
#include "server/bulk/bulk.h"
#include "server/bulk/output.h"

void sw_bulk_reply(struct sw_bulk_frame *frame, const struct sw_reply *reply,
                   const uv_buf_t *arrays, unsigned count)
{
    struct sw_conn *conn = frame->conn;
    struct sw_loop_counters *counters = frame->bulk->net->counters;
    bool data = sw_operation_is_data(frame->request.operation);
    uint64_t body_bytes = 0;
    assert(count <= 2 && (count == 0 || frame->memory != NULL));
    for (unsigned i = 0; i < count; i++) {
        frame->pieces[i + 1] = arrays[i];
        body_bytes += arrays[i].len;
    }
    int head_bytes = sw_reply_encode(reply, body_bytes, frame->head, sizeof(frame->head));
    SW_COUNT(counters, frames_processed, 1);
    SW_COUNT(counters, frame_errors, reply->status != SW_REPLY_OK);
    if (head_bytes < 0) { /* cannot happen: texts are cut to fit */
        sw_bulk_frame_put(frame);
        sw_conn_abort(conn);
    } else {
        frame->pieces[0] = uv_buf_init((char *)frame->head, (unsigned)head_bytes);
        frame->piece_count = count + 1;
        frame->reply_bytes = (uint64_t)head_bytes + body_bytes;
        sw_bulk_send(conn, frame);
    }
    sw_conn_request_done(conn, data);
}

bool sw_bulk_refuse(struct sw_conn *conn, uint64_t request_id, enum sw_reply_status status,
                    const char *message)
{
    struct sw_reply reply = {.request_id = request_id, .status = status};
    struct sw_bulk_frame *frame = sw_bulk_frame_take(sw_bulk_of(conn)->bulk, conn);
    if (frame == NULL) {
        return false;
    }
    strncpy(reply.message, message, sizeof(reply.message) - 1);
    sw_conn_accept(conn, false);
    sw_bulk_reply(frame, &reply, NULL, 0);
    return true;
}

/* --- the reply to a batch --------------------------------------------------------------------- */

static void refuse(struct sw_bulk_frame *frame, struct sw_reply *reply, enum sw_reply_status status,
                   const char *message)
{
    reply->status = status;
    strncpy(reply->message, message, sizeof(reply->message) - 1);
    sw_bulk_reply(frame, reply, NULL, 0);
}

static void reply_to_scan(struct sw_bulk_frame *frame, struct sw_reply *reply)
{
    const struct sw_batch *batch = &frame->flight.batch;
    reply->count = batch->scan_count;
    reply->cursor = batch->cursor;
    reply->has_values = true;
    struct sw_body_layout layout = sw_reply_layout(reply, SW_OPERATION_SCAN);
    uint64_t keys_bytes = (uint64_t)reply->count * reply->key_bytes;
    uint64_t values_bytes = (uint64_t)reply->count * reply->value_bytes;
    uint8_t *keys = batch->scan_keys;
    uint8_t *values = batch->scan_values;
    memset(keys + keys_bytes, 0, layout.second - keys_bytes);
    memset(values + values_bytes, 0, layout.bytes - layout.second - values_bytes);
    uv_buf_t arrays[2] = {
        uv_buf_init((char *)keys, (unsigned)layout.second),
        uv_buf_init((char *)values, (unsigned)(layout.bytes - layout.second)),
    };
    sw_bulk_reply(frame, reply, arrays, layout.bytes > 0 ? 2 : 0);
}

static void reply_to_data(struct sw_bulk_frame *frame, struct sw_reply *reply)
{
    const struct sw_counters *counters = &frame->flight.batch.counters;
    uv_buf_t body = uv_buf_init((char *)frame->reply, (unsigned)frame->reply_layout.bytes);
    reply->count = frame->request.count;
    reply->has_values = frame->request.want_values;
    reply->lacks_found = frame->request.declines_found;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        reply->hits += counters->by_class[c].hits;
    }
    if (sw_operation_may_overflow(frame->request.operation)) {
        reply->overflows = reply->count - counters->inserted - counters->updated;
    }
    sw_bulk_reply(frame, reply, &body, body.len > 0);
}

void sw_bulk_reply_to_batch(struct sw_flight *flight)
{
    struct sw_bulk_frame *frame = SW_CONTAINER(flight, struct sw_bulk_frame, flight);
    const struct sw_table_shape *shape = &frame->bulk->batches->shape;
    struct sw_reply reply = {
        .request_id = frame->request.request_id,
        .key_bytes = shape->key_bytes,
        .value_bytes = shape->value_bytes,
    };
    if (flight->batch.status == SW_E_FULL) {
        refuse(frame, &reply, SW_REPLY_OUT_OF_MEMORY,
               "the table would pass its maximum load: nothing was changed");
    } else if (flight->batch.status == SW_E_NOMEM && flight->batch.kind == SW_BATCH_RESIZE) {
        refuse(frame, &reply, SW_REPLY_OUT_OF_MEMORY, SW_RESIZE_FAILED);
    } else if (flight->batch.status != SW_OK) {
        refuse(frame, &reply, SW_REPLY_SERVER_ERROR, sw_status_text(flight->batch.status));
    } else if (flight->batch.kind == SW_BATCH_SCAN) {
        reply_to_scan(frame, &reply);
    } else if (flight->batch.kind != SW_BATCH_OPERATIONS) { /* CLEAR, RESIZE */
        reply.capacity_slots = flight->batch.capacity;
        sw_bulk_reply(frame, &reply, NULL, 0);
    } else {
        reply_to_data(frame, &reply);
    }
}
