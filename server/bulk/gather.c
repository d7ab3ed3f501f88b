/* SPDX-License-Identifier: MIT
 *
 * gather.c - copying frames into one batch, and its results back to the frames.
 */
#include "server/bulk/gather.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/bits.h"
#include "server/bulk/bulk.h"
#include "server/limits.h"

/* --- memory ----------------------------------------------------------------------------------- */

static void *carve(uint8_t *memory, size_t *offset, size_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *offset;
    *offset += (bytes + 63) / 64 * 64;
    return at;
}

/* Lays the arrays of all batches out in `memory`; with NULL it only measures. */
static size_t lay_out(struct sw_bulk *bulk, uint8_t *memory)
{
    struct sw_gather *gather = &bulk->gather;
    size_t n = gather->operations_max;
    size_t offset = 0;
    for (int i = 0; i < SW_GATHERS; i++) {
        struct sw_gathered *batch = &gather->batches[i];
        batch->bulk = bulk;
        sw_list_init(&batch->frames);
        batch->keys = carve(memory, &offset, n * bulk->batches->shape.key_bytes);
        batch->values = carve(memory, &offset, n * bulk->batches->shape.value_bytes);
        batch->previous = carve(memory, &offset, n * bulk->batches->shape.value_bytes);
        batch->found = carve(memory, &offset, (n + 63) / 64 * 8);
        batch->group_ends = carve(memory, &offset, SW_GATHER_FRAMES_MAX * sizeof(uint32_t));
        batch->group_refused = carve(memory, &offset, SW_GATHER_FRAMES_MAX);
    }
    return offset;
}

int sw_gather_init(struct sw_bulk *bulk)
{
    struct sw_gather *gather = &bulk->gather;
    sw_list_init(&gather->waiting);
    gather->operations_max = sw_together_max(&bulk->batches->shape, SW_GATHER_OPS_MAX);
    gather->batches = calloc(SW_GATHERS, sizeof(*gather->batches));
    if (gather->batches == NULL) {
        return -1;
    }
    gather->memory_bytes = lay_out(bulk, NULL);
    gather->memory = sw_io_alloc(bulk->batches->table, gather->memory_bytes);
    if (gather->memory == NULL) {
        return -1;
    }
    lay_out(bulk, gather->memory);
    return 0;
}

void sw_gather_fini(struct sw_bulk *bulk)
{
    struct sw_gather *gather = &bulk->gather;
    if (gather->memory != NULL) {
        sw_io_free(bulk->batches->table, gather->memory, gather->memory_bytes);
    }
    free(gather->batches);
    memset(gather, 0, sizeof(*gather));
}

/* --- apart ------------------------------------------------------------------------------------ */

/* How many keys of the frame an INCREMENT or DECREMENT has not changed, because it would overflow.
 * The counters of the batch are of all its frames, so this is computed from the earlier values. */
static uint32_t overflows(const struct sw_gathered *gathered, const struct sw_bulk_frame *frame,
                          uint32_t first)
{
    size_t bytes = gathered->bulk->batches->shape.value_bytes;
    uint64_t max = bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < frame->flight.batch.count; i++) {
        uint64_t old = 0, operand = 0, now;
        memcpy(&old, gathered->previous + (first + i) * bytes, bytes);
        memcpy(&operand, gathered->values + (first + i) * bytes, bytes);
        kept += !sw_operation_apply(frame->request.operation, true, old, operand, max, &now);
    }
    return kept;
}

/* Copies the results of frame number `group`, whose operations begin at `first`, to the frame's own
 * batch, and calls its `done`. */
static void answer(const struct sw_gathered *gathered, struct sw_bulk_frame *frame, uint32_t group,
                   uint32_t first)
{
    const struct sw_batch *whole = &gathered->flight.batch;
    struct sw_batch *batch = &frame->flight.batch;
    size_t bytes = gathered->bulk->batches->shape.value_bytes;
    if (whole->group_count == 0) { /* the frame was submitted alone */
        *batch = *whole;
        frame->flight.done(&frame->flight);
        return;
    }
    batch->status = whole->status;
    if (whole->status == SW_E_FULL) {
        batch->status = whole->group_refused[group] ? SW_E_FULL : SW_OK;
    }
    if (batch->status == SW_OK) {
        enum sw_op_class class = batch->op == SW_DELETE ? SW_CLASS_DELETE : SW_CLASS_UPSERT;
        batch->counters.by_class[class].hits =
            sw_copy_bits(batch->found, whole->found, first, batch->count);
        if (sw_operation_may_overflow(frame->request.operation)) {
            batch->counters.updated = batch->count - overflows(gathered, frame, first);
        }
        if (batch->previous != NULL) {
            memcpy(batch->previous, gathered->previous + first * bytes, batch->count * bytes);
        }
    }
    frame->flight.done(&frame->flight);
}

static void on_done(struct sw_flight *flight)
{
    struct sw_gathered *gathered = SW_CONTAINER(flight, struct sw_gathered, flight);
    uint32_t group = 0;
    uint32_t first = 0;
    while (!sw_list_is_empty(&gathered->frames)) {
        struct sw_bulk_frame *frame = sw_bulk_frame_at(sw_list_pop(&gathered->frames));
        uint32_t count = frame->flight.batch.count; /* the reply takes the frame */
        answer(gathered, frame, group++, first);
        first += count;
    }
    assert(gathered->busy && first == gathered->flight.batch.count);
    gathered->busy = false;
}

/* --- together --------------------------------------------------------------------------------- */

bool sw_gather_takes(const struct sw_bulk_frame *frame)
{
    const struct sw_batch *batch = &frame->flight.batch;
    return batch->kind == SW_BATCH_OPERATIONS && batch->op != SW_GET &&
           batch->count <= SW_GATHER_FRAME_OPS_MAX &&
           batch->count <= frame->bulk->gather.operations_max;
}

void sw_gather_add(struct sw_bulk_frame *frame)
{
    struct sw_gather *gather = &frame->bulk->gather;
    assert(sw_gather_takes(frame));
    sw_list_push(&gather->waiting, &frame->link);
    sw_bulk_of(frame->conn)->gathered++;
}

static struct sw_bulk_frame *pop(struct sw_gather *gather)
{
    struct sw_bulk_frame *frame = sw_bulk_frame_at(sw_list_pop(&gather->waiting));
    sw_bulk_of(frame->conn)->gathered--;
    return frame;
}

/* The number of frames at the front of the queue that can be combined into one batch. */
static uint32_t company(const struct sw_gather *gather)
{
    uint32_t frames = 0;
    uint32_t operations = 0;
    SW_LIST_EACH(&gather->waiting, link)
    {
        const struct sw_batch *batch = &sw_bulk_frame_at(link)->flight.batch;
        if (batch->op != sw_bulk_frame_at(gather->waiting.next)->flight.batch.op ||
            frames == SW_GATHER_FRAMES_MAX || batch->count > gather->operations_max - operations) {
            break;
        }
        operations += batch->count;
        frames++;
    }
    return frames;
}

static struct sw_gathered *idle_batch(struct sw_gather *gather)
{
    for (int i = 0; i < SW_GATHERS; i++) {
        if (!gather->batches[i].busy) {
            return &gather->batches[i];
        }
    }
    return NULL;
}

/* Copies a frame's arrays behind the `first` operations of the combined batch. */
static void copy_in(struct sw_gathered *gathered, const struct sw_bulk_frame *frame, uint32_t first)
{
    const struct sw_batch *batch = &frame->flight.batch;
    const struct sw_table_shape *shape = &gathered->bulk->batches->shape;
    memcpy(gathered->keys + (size_t)first * shape->key_bytes, batch->keys,
           (size_t)batch->count * shape->key_bytes);
    if (batch->values != NULL) {
        memcpy(gathered->values + (size_t)first * shape->value_bytes, batch->values,
               (size_t)batch->count * shape->value_bytes);
    }
}

static void fly_alone(struct sw_gathered *gathered)
{
    struct sw_bulk *bulk = gathered->bulk;
    struct sw_bulk_frame *frame = pop(&bulk->gather);
    assert(!gathered->busy && sw_list_is_empty(&gathered->frames));
    sw_list_push(&gathered->frames, &frame->link);
    gathered->flight.batch = frame->flight.batch;
    gathered->flight.done = on_done;
    gathered->busy = true;
    sw_flight_start(&bulk->batches->flights, &gathered->flight);
}

/* Takes `frames` frames from the front of the queue and submits them as one batch. */
static void fly_together(struct sw_gathered *gathered, uint32_t frames)
{
    struct sw_bulk *bulk = gathered->bulk;
    const struct sw_batch *sample = &sw_bulk_frame_at(bulk->gather.waiting.next)->flight.batch;
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS,
        .op = sample->op,
        .keys = gathered->keys,
        .values = sample->values != NULL ? gathered->values : NULL,
        .found = gathered->found,
        .group_count = frames,
        .group_ends = gathered->group_ends,
        .group_refused = gathered->group_refused,
    };
    for (uint32_t group = 0; group < frames; group++) {
        struct sw_bulk_frame *frame = pop(&bulk->gather);
        copy_in(gathered, frame, batch.count);
        batch.count += frame->flight.batch.count;
        gathered->group_ends[group] = batch.count;
        if (frame->flight.batch.previous != NULL ||
            sw_operation_may_overflow(frame->request.operation)) {
            batch.previous = gathered->previous;
        }
        sw_list_push(&gathered->frames, &frame->link);
    }
    gathered->busy = true;
    gathered->flight.batch = batch;
    gathered->flight.done = on_done;
    SW_COUNT(bulk->net->counters, frames_gathered, frames);
    sw_flight_start(&bulk->batches->flights, &gathered->flight);
}

bool sw_gather_submit(struct sw_bulk *bulk)
{
    struct sw_gather *gather = &bulk->gather;
    bool submitted = false;
    while (!sw_list_is_empty(&gather->waiting)) {
        struct sw_gathered *idle = idle_batch(gather);
        if (idle == NULL) {
            break;
        }
        uint32_t frames = company(gather);
        if (frames == 1) {
            fly_alone(idle);
        } else {
            fly_together(idle, frames);
        }
        submitted = true;
    }
    return submitted;
}

void sw_gather_flush(struct sw_bulk *bulk)
{
    sw_gather_submit(bulk);
    while (!sw_list_is_empty(&bulk->gather.waiting)) {
        struct sw_bulk_frame *frame = pop(&bulk->gather);
        sw_flight_start(&bulk->batches->flights, &frame->flight);
    }
}
