/* SPDX-License-Identifier: MIT
 *
 * reply.c - encoding the results of a frame's batch as its reply.
 */
#include "server/bulk/reply.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "proto/ops/apply.h"
#include "proto/plural.h"
#include "server/batch/blob.h"
#include "server/batch/refusals.h"
#include "server/bulk/bulk.h"
#include "server/bulk/cluster.h"
#include "server/bulk/complete.h"
#include "server/bulk/expiry_times.h"
#include "server/bulk/output.h"
#include "server/bulk/pairs.h"
#include "server/bulk/set_keepttl.h"
#include "server/bulk/trace.h"

void sw_bulk_reply(struct sw_bulk_frame *frame, const struct sw_reply *reply,
                   const uv_buf_t *arrays, unsigned count)
{
    struct sw_conn *conn = frame->conn;
    struct sw_loop_counters *counters = frame->bulk->net->counters;
    SW_COUNT(counters, frames_processed, 1);
    SW_COUNT(counters, frame_operations[frame->request.operation % SW_OPERATION_NUMBERS], 1);
    SW_COUNT(counters, frame_errors, reply->status != SW_REPLY_OK);
    if (frame->request.is_sampled) {
        sw_bulk_trace_end(frame, reply);
    }
    if (frame->ring != NULL) { /* the arrays are where the client wants them */
        sw_bulk_complete(frame, reply);
        return;
    }
    const bool data = sw_operation_is_data(frame->request.operation);
    uint64_t body_bytes = 0;
    assert(count <= SW_BULK_ARRAYS_MAX && (count == 0 || frame->memory != NULL));
    for (unsigned i = 0; i < count; i++) {
        frame->pieces[i + 1] = arrays[i];
        body_bytes += arrays[i].len;
    }
    int head_bytes = sw_reply_encode(reply, body_bytes, frame->head, sizeof(frame->head));
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

void sw_bulk_send_bell(struct sw_conn *conn)
{
    const struct sw_reply bell = {0};
    struct sw_bulk_frame *frame = sw_bulk_frame_take(sw_bulk_of(conn)->bulk, conn);
    int bytes = frame == NULL ? -1 : sw_reply_encode(&bell, 0, frame->head, sizeof(frame->head));
    if (bytes < 0) { /* there is no memory */
        sw_conn_abort(conn);
        return;
    }
    frame->pieces[0] = uv_buf_init((char *)frame->head, (unsigned)bytes);
    frame->piece_count = 1;
    frame->reply_bytes = (uint64_t)bytes;
    sw_bulk_send(conn, frame);
}

/* --- the reply to a batch --------------------------------------------------------------------- */

static void reply_with_error(struct sw_bulk_frame *frame, struct sw_reply *reply,
                             enum sw_reply_status status, const char *message)
{
    reply->status = status;
    strncpy(reply->message, message, sizeof(reply->message) - 1);
    sw_bulk_reply(frame, reply, NULL, 0);
}

/* Clears the padding behind an array of `bytes` bytes in the frame's memory. Returns the array with
 * its padding. */
static uv_buf_t padded(void *array, uint64_t bytes)
{
    uint64_t whole = sw_frame_align(bytes);
    memset((uint8_t *)array + bytes, 0, whole - bytes);
    return uv_buf_init(array, (unsigned)whole);
}

static void reply_to_scan(struct sw_bulk_frame *frame, struct sw_reply *reply)
{
    const struct sw_batch *batch = &frame->flight.batch;
    uint64_t count = sw_bulk_keep_owned(frame, batch);
    uv_buf_t arrays[SW_BULK_ARRAYS_MAX];
    unsigned n = 0;
    reply->count = (uint32_t)count;
    reply->cursor = batch->scan.cursor;
    reply->has_values = true;
    reply->has_scores = batch->scan.scores != NULL;
    if (count > 0 && frame->ring == NULL) {
        arrays[n++] = padded(batch->scan.keys, count * reply->key_bytes);
        arrays[n++] = padded(batch->scan.values, count * reply->value_bytes);
    }
    if (count > 0 && frame->ring == NULL && reply->has_scores) {
        arrays[n++] = padded(batch->scan.scores, count * sizeof(uint64_t));
    }
    sw_bulk_reply(frame, reply, arrays, n);
}

/* Fills the fields of the reply to a batch that has neither operations nor entries. */
static void fill_table_fields(const struct sw_batch *batch, struct sw_reply *reply)
{
    switch (batch->kind) {
    case SW_BATCH_RESIZE:
        reply->capacity_slots = batch->capacity;
        break;
    case SW_BATCH_COUNT_SCORES:
        reply->matched = batch->range.matched;
        break;
    case SW_BATCH_ERASE_SCORES:
        reply->matched = batch->counters.deleted;
        break;
    case SW_BATCH_EPOCH:
        reply->epoch = batch->epoch;
        break;
    default: /* CLEAR */
        break;
    }
}

/* Adds the entries that were evicted to the reply. Returns the number of arrays. */
static unsigned add_evicted(const struct sw_batch *batch, struct sw_reply *reply, uv_buf_t *arrays)
{
    uint64_t count = batch->leftover_count;
    unsigned n = 0;
    if (count > 0) {
        arrays[n++] = padded(batch->leftover_keys, count * reply->key_bytes);
    }
    if (count > 0 && batch->leftover_values != NULL) {
        arrays[n++] = padded(batch->leftover_values, count * reply->value_bytes);
    }
    if (count > 0 && batch->leftover_scores != NULL) {
        arrays[n++] = padded(batch->leftover_scores, count * sizeof(uint64_t));
    }
    return n;
}

/* Copies the requested part of each value to the reply of GETRANGE. Bytes behind the end of a
 * string are 0. */
static void cut_parts(struct sw_bulk_frame *frame)
{
    const struct sw_table_shape *shape = &frame->table->batches->shape;
    const struct sw_request *request = &frame->request;
    const uint32_t bytes = request->range_bytes;
    uint8_t *out = frame->reply + frame->reply_layout.first;
    for (uint32_t i = 0; i < request->count; i++, out += bytes) {
        uint32_t size;
        const uint8_t *value = sw_blob_at(shape, frame->arrays[SW_RING_VALUES], i, &size);
        uint32_t here = size < request->range_offset ? 0 : size - request->range_offset;
        here = here < bytes ? here : bytes;
        memcpy(out, value + request->range_offset, here);
        memset(out + here, 0, bytes - here);
    }
}

static void reply_to_data(struct sw_bulk_frame *frame, struct sw_reply *reply)
{
    const struct sw_request *request = &frame->request;
    const struct sw_counters *counters = &frame->flight.batch.counters;
    uv_buf_t arrays[SW_BULK_ARRAYS_MAX];
    unsigned n = 0;
    reply->count = request->count;
    reply->has_values = request->want_values;
    reply->lacks_found = request->declines_found;
    reply->has_not_admitted = request->want_not_admitted;
    reply->has_scores = request->want_scores;
    reply->has_evicted = request->want_evicted;
    reply->not_admitted = counters->not_admitted;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        reply->hits += counters->by_class[c].hits;
    }
    if (sw_operation_has_pairs(request->operation)) {
        reply->hits = sw_bulk_pairs_end(frame);
    } else if (sw_bulk_shows_expiry(request)) {
        reply->hits = sw_bulk_expiry_end(frame);
    } else if (frame->keeps_ttl) {
        reply->hits = sw_bulk_keepttl_end(frame);
    } else if (sw_operation_answers_parts(request->operation) && request->want_values) {
        cut_parts(frame);
    }
    if (sw_operation_may_overflow(request->operation)) {
        /* The operation refuses either no absent key, or each one that it does not insert. */
        uint64_t after = 0;
        const bool any = sw_op_after(sw_operation_op(request->operation), sizeof(after), false, 0,
                                     UINT64_MAX, &after);
        reply->overflows =
            (any ? reply->hits : reply->count - counters->inserted) - counters->updated;
    }
    if (request->want_evicted != 0) {
        reply->evicted_count = frame->flight.batch.leftover_count;
    }
    if (frame->ring != NULL) {
        sw_bulk_reply(frame, reply, NULL, 0);
        return;
    }
    if (frame->reply_layout.evicted_keys > 0) { /* what is as long as the request's arrays */
        arrays[n++] = uv_buf_init((char *)frame->reply, (unsigned)frame->reply_layout.evicted_keys);
    }
    if (request->want_evicted != 0) {
        n += add_evicted(&frame->flight.batch, reply, arrays + n);
    }
    sw_bulk_reply(frame, reply, arrays, n);
}

void sw_bulk_note_time(const struct sw_bulk_frame *frame)
{
    struct sw_timings *timings = frame->bulk->owner.timings;
    struct sw_slowlog_draft draft;
    char count[32];
    if (timings == NULL) {
        return;
    }
    uint64_t us = uv_hrtime() / 1000 - frame->flight.started_us;
    sw_timings_event(timings, SW_LATENCY_FRAME, us);
    if (sw_timings_are_slow(timings, us)) {
        snprintf(count, sizeof(count), "%u key%s", frame->request.count,
                 sw_plural_s(frame->request.count));
        sw_slowlog_begin(&draft, us, frame->conn->peer.address, "", 3);
        sw_slowlog_word(&draft, "frame");
        sw_slowlog_word(&draft, sw_operation_name(frame->request.operation));
        sw_slowlog_word(&draft, count);
        sw_timings_slow(timings, &draft);
    }
}

void sw_bulk_reply_to_batch(struct sw_flight *flight)
{
    struct sw_bulk_frame *frame = SW_CONTAINER(flight, struct sw_bulk_frame, flight);
    const struct sw_table_shape *shape = &frame->table->batches->shape;
    struct sw_reply reply = {
        .request_id = frame->request.request_id,
        .key_bytes = shape->key_bytes,
        .value_bytes = sw_operation_is_data(frame->request.operation)
                           ? sw_request_answer_bytes(&frame->request)
                           : shape->value_bytes,
    };
    if (frame->table->batches->wal != NULL) {
        reply.write_sequence = flight->batch.write_sequence;
        reply.durable_through = sw_wal_durable(frame->table->batches->wal);
    }
    reply.map_epoch = sw_bulk_map_epoch(frame->bulk);
    sw_last_write_note(&sw_bulk_of(frame->conn)->last_write, frame->bulk->owner.repl,
                       flight->batch.write_sequence);
    sw_bulk_note_time(frame);
    if (flight->is_unknown && flight->batch.write_sequence == 0) {
        reply_with_error(frame, &reply, SW_REPLY_NOT_DURABLE, SW_READ_NOT_DURABLE);
    } else if (flight->is_unknown) {
        reply_with_error(
            frame, &reply, SW_REPLY_OUTCOME_UNKNOWN,
            "the write-ahead log failed, or the server became a replica, before the write was "
            "on storage: it may be undone");
    } else if (flight->batch.status == SW_E_FULL) {
        reply_with_error(frame, &reply, SW_REPLY_OUT_OF_MEMORY,
                         sw_batches_full(frame->table->batches));
    } else if (flight->batch.status == SW_E_NOMEM && flight->batch.kind == SW_BATCH_RESIZE) {
        reply_with_error(frame, &reply, SW_REPLY_OUT_OF_MEMORY,
                         sw_batches_resize_failed(frame->table->batches, false));
    } else if (flight->batch.status == SW_E_NOMEM && flight->batch.kind != SW_BATCH_SCAN) {
        reply_with_error(frame, &reply, SW_REPLY_OUT_OF_MEMORY, SW_NO_QUEUE);
    } else if (flight->batch.status == SW_E_INVALID && flight->batch.kind == SW_BATCH_EPOCH) {
        snprintf(reply.message, sizeof(reply.message),
                 "epoch %llu has passed: the current epoch is %llu; send that one or a higher one",
                 (unsigned long long)frame->request.epoch, (unsigned long long)flight->batch.epoch);
        reply.status = SW_REPLY_BAD_REQUEST;
        sw_bulk_reply(frame, &reply, NULL, 0);
    } else if (flight->batch.status != SW_OK) {
        reply_with_error(frame, &reply, SW_REPLY_SERVER_ERROR,
                         sw_status_text(flight->batch.status));
    } else if (flight->batch.kind == SW_BATCH_SCAN) {
        reply_to_scan(frame, &reply);
    } else if (flight->batch.kind != SW_BATCH_OPERATIONS) { /* the others have no body */
        fill_table_fields(&flight->batch, &reply);
        sw_bulk_reply(frame, &reply, NULL, 0);
    } else if (sw_bulk_owned_keys(frame)) {
        reply_to_data(frame, &reply);
    }
}
