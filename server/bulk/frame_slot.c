/* SPDX-License-Identifier: MIT
 *
 * frame_slot.c - a frame's memory, its batch and its answer.
 */
#include "server/bulk/frame_slot.h"

#include <stdlib.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"
#include "server/net/output.h"
#include "server/resp/control.h"

static void on_done(struct sw_flight *flight);

/* Takes one of those there are. */
static struct sw_frame *take_spare(struct sw_loop *loop)
{
    struct sw_frame *frame = loop->spare_frames;
    loop->spare_frames = frame->next;
    loop->spare_count--;
    if (loop->spare_count < loop->spare_least) {
        loop->spare_least = loop->spare_count;
    }
    return frame;
}

struct sw_frame *sw_frame_take(struct sw_loop *loop, struct sw_conn *conn)
{
    struct sw_frame *frame = loop->spare_frames != NULL ? take_spare(loop) : malloc(sizeof(*frame));
    if (frame != NULL) {
        memset(frame, 0, offsetof(struct sw_frame, head));
        frame->loop = loop;
        frame->conn = conn;
        frame->flight.done = on_done;
    }
    return frame;
}

bool sw_frame_reserve(struct sw_frame *frame, uint64_t bytes)
{
    frame->memory = sw_io_arena_alloc(&frame->loop->arena, bytes);
    frame->memory_bytes = frame->memory != NULL ? bytes : 0;
    return frame->memory != NULL;
}

void sw_frame_put(struct sw_frame *frame)
{
    struct sw_loop *loop = frame->loop;
    if (frame->memory != NULL) {
        sw_io_arena_free(&loop->arena, frame->memory, frame->memory_bytes);
        frame->memory = NULL;
        loop->retry |= loop->arena_waiters > 0;
    }
    frame->next = loop->spare_frames;
    loop->spare_frames = frame;
    loop->spare_count++;
}

void sw_bulk_fini(struct sw_loop *loop)
{
    while (loop->spare_frames != NULL) {
        free(take_spare(loop));
    }
}

void sw_bulk_sweep(struct sw_loop *loop)
{
    uint32_t surplus = loop->spare_least < SW_SPARE_FRAMES_FREED_MAX ? loop->spare_least
                                                                     : SW_SPARE_FRAMES_FREED_MAX;
    while (surplus-- > 0) {
        free(take_spare(loop));
    }
    loop->spare_least = loop->spare_count;
}

void sw_frame_answer(struct sw_frame *frame, const struct sw_reply *reply, const uv_buf_t *arrays,
                     unsigned count)
{
    struct sw_conn *conn = frame->conn;
    struct sw_loop_counters *counters = &frame->loop->counters;
    bool data = sw_operation_is_data(frame->request.operation);
    uint64_t body_bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        frame->pieces[i + 1] = arrays[i];
        body_bytes += arrays[i].len;
    }
    int head_bytes = sw_reply_encode(reply, body_bytes, frame->head, sizeof(frame->head));
    SW_COUNT(counters, frames_processed, 1);
    SW_COUNT(counters, frame_errors, reply->status != SW_REPLY_OK);
    if (head_bytes < 0) { /* cannot be: texts are cut to fit */
        sw_frame_put(frame);
        sw_conn_abort(conn);
    } else {
        frame->pieces[0] = uv_buf_init((char *)frame->head, (unsigned)head_bytes);
        frame->piece_count = count + 1;
        frame->answer_bytes = (uint64_t)head_bytes + body_bytes;
        sw_output_append(conn, frame);
    }
    sw_conn_answered(conn, data);
}

/* --- the answer of a batch -------------------------------------------------------------------- */

static void refuse(struct sw_frame *frame, struct sw_reply *reply, enum sw_reply_status status,
                   const char *message)
{
    reply->status = status;
    strncpy(reply->message, message, sizeof(reply->message) - 1);
    sw_frame_answer(frame, reply, NULL, 0);
}

static void answer_scan(struct sw_frame *frame, struct sw_reply *reply)
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
    sw_frame_answer(frame, reply, arrays, layout.bytes > 0 ? 2 : 0);
}

static void answer_data(struct sw_frame *frame, struct sw_reply *reply)
{
    const struct sw_counters *counters = &frame->flight.batch.counters;
    uv_buf_t body = uv_buf_init((char *)frame->answer, (unsigned)frame->answer_layout.bytes);
    reply->count = frame->request.count;
    reply->has_values = frame->request.want_values;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        reply->hits += counters->by_class[c].hits;
    }
    if (sw_operation_may_overflow(frame->request.operation)) {
        reply->overflows = reply->count - counters->inserted - counters->updated;
    }
    sw_frame_answer(frame, reply, &body, 1);
}

static void on_done(struct sw_flight *flight)
{
    struct sw_frame *frame =
        (struct sw_frame *)((char *)flight - offsetof(struct sw_frame, flight));
    struct sw_loop *loop = frame->loop;
    struct sw_reply reply = {
        .request_id = frame->request.request_id,
        .key_bytes = loop->shape.key_bytes,
        .value_bytes = loop->shape.value_bytes,
    };
    if (flight->batch.status == SW_E_FULL) {
        refuse(frame, &reply, SW_REPLY_OUT_OF_MEMORY,
               "the table would pass its maximum load: nothing was changed");
    } else if (flight->batch.status == SW_E_NOMEM && flight->batch.kind == SW_BATCH_RESIZE) {
        refuse(frame, &reply, SW_REPLY_OUT_OF_MEMORY, SW_RESIZE_FAILED);
    } else if (flight->batch.status != SW_OK) {
        refuse(frame, &reply, SW_REPLY_SERVER_ERROR, sw_status_text(flight->batch.status));
    } else if (flight->batch.kind == SW_BATCH_SCAN) {
        answer_scan(frame, &reply);
    } else if (flight->batch.kind != SW_BATCH_OPERATIONS) { /* CLEAR, RESIZE */
        reply.capacity_slots = flight->batch.capacity;
        sw_frame_answer(frame, &reply, NULL, 0);
    } else {
        answer_data(frame, &reply);
    }
}

void sw_frame_fly(struct sw_frame *frame)
{
    sw_flight_start(&frame->loop->flights, &frame->flight);
}
