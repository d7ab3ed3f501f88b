/* SPDX-License-Identifier: MIT
 *
 * gather.c - frames copied together, and their answers apart again.
 */
#include "server/bulk/gather.h"

#include <stdlib.h>
#include <string.h>

#include "server/bulk/frame_slot.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"

/* --- memory ----------------------------------------------------------------------------------- */

static void *carve(uint8_t *memory, size_t *offset, size_t bytes)
{
    void *at = memory == NULL ? NULL : memory + *offset;
    *offset += (bytes + 63) / 64 * 64;
    return at;
}

/* Lays the arrays of all batches out in `memory`; with NULL it only measures. */
static size_t lay_out(struct sw_loop *loop, uint8_t *memory)
{
    struct sw_gather *gather = &loop->gather;
    size_t n = gather->operations_max;
    size_t offset = 0;
    for (int i = 0; i < SW_GATHERS; i++) {
        struct sw_gathered *batch = &gather->batches[i];
        batch->loop = loop;
        batch->keys = carve(memory, &offset, n * loop->shape.key_bytes);
        batch->values = carve(memory, &offset, n * loop->shape.value_bytes);
        batch->previous = carve(memory, &offset, n * loop->shape.value_bytes);
        batch->found = carve(memory, &offset, (n + 63) / 64 * 8);
        batch->group_ends = carve(memory, &offset, SW_GATHER_FRAMES_MAX * sizeof(uint32_t));
        batch->group_refused = carve(memory, &offset, SW_GATHER_FRAMES_MAX);
    }
    return offset;
}

int sw_gather_init(struct sw_loop *loop)
{
    struct sw_gather *gather = &loop->gather;
    gather->operations_max = sw_together_max(&loop->shape, SW_GATHER_OPS_MAX);
    gather->batches = calloc(SW_GATHERS, sizeof(*gather->batches));
    if (gather->batches == NULL) {
        return -1;
    }
    gather->memory_bytes = lay_out(loop, NULL);
    gather->memory = sw_io_alloc(loop->table, gather->memory_bytes);
    if (gather->memory == NULL) {
        return -1;
    }
    lay_out(loop, gather->memory);
    return 0;
}

void sw_gather_fini(struct sw_loop *loop)
{
    struct sw_gather *gather = &loop->gather;
    if (gather->memory != NULL) {
        sw_io_free(loop->table, gather->memory, gather->memory_bytes);
    }
    free(gather->batches);
    memset(gather, 0, sizeof(*gather));
}

/* --- apart ------------------------------------------------------------------------------------ */

uint32_t sw_copy_bits(uint64_t *to, const uint64_t *from, uint32_t first, uint32_t count)
{
    uint32_t shift = first % 64;
    uint32_t last = (first + count + 63) / 64; /* words of `from` end here */
    uint32_t set = 0;
    for (uint32_t i = 0; i < (count + 63) / 64; i++) {
        uint32_t at = first / 64 + i;
        uint32_t left = count - 64 * i;
        uint64_t word = from[at] >> shift;
        if (shift > 0 && at + 1 < last) {
            word |= from[at + 1] << (64 - shift);
        }
        if (left < 64) {
            word &= (1ULL << left) - 1;
        }
        to[i] = word;
        set += (uint32_t)__builtin_popcountll(word);
    }
    return set;
}

/* How many of a frame's keys an INCREMENT or DECREMENT left as they were. The counters of the batch
 * are of all its frames, so this is seen from the values before. */
static uint32_t overflows(const struct sw_gathered *gathered, const struct sw_frame *frame,
                          uint32_t first)
{
    size_t bytes = gathered->loop->shape.value_bytes;
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

/* Gives frame number `group`, whose operations begin at `first`, its part of the results. */
static void answer(const struct sw_gathered *gathered, struct sw_frame *frame, uint32_t group,
                   uint32_t first)
{
    const struct sw_batch *whole = &gathered->flight.batch;
    struct sw_batch *batch = &frame->flight.batch;
    size_t bytes = gathered->loop->shape.value_bytes;
    if (whole->group_count == 0) { /* it went alone */
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
    struct sw_gathered *gathered =
        (struct sw_gathered *)((char *)flight - offsetof(struct sw_gathered, flight));
    struct sw_frame *next = NULL;
    uint32_t group = 0;
    uint32_t first = 0;
    for (struct sw_frame *frame = gathered->frames; frame != NULL; frame = next) {
        uint32_t count = frame->flight.batch.count;
        next = frame->next; /* the answer takes the link */
        answer(gathered, frame, group++, first);
        first += count;
    }
    gathered->frames = NULL;
    gathered->busy = false;
}

/* --- together --------------------------------------------------------------------------------- */

bool sw_gather_takes(const struct sw_frame *frame)
{
    const struct sw_batch *batch = &frame->flight.batch;
    return batch->kind == SW_BATCH_OPERATIONS && batch->op != SW_GET &&
           batch->count <= SW_GATHER_FRAME_OPS_MAX &&
           batch->count <= frame->loop->gather.operations_max;
}

void sw_gather_add(struct sw_frame *frame)
{
    struct sw_gather *gather = &frame->loop->gather;
    frame->next = NULL;
    *(gather->last != NULL ? &gather->last->next : &gather->first) = frame;
    gather->last = frame;
    frame->conn->gathered++;
}

static struct sw_frame *pop(struct sw_gather *gather)
{
    struct sw_frame *frame = gather->first;
    gather->first = frame->next;
    if (gather->first == NULL) {
        gather->last = NULL;
    }
    frame->conn->gathered--;
    frame->next = NULL;
    return frame;
}

/* How many frames at the front may share a batch. */
static uint32_t company(const struct sw_gather *gather)
{
    uint32_t frames = 0;
    uint32_t operations = 0;
    for (const struct sw_frame *frame = gather->first; frame != NULL; frame = frame->next) {
        const struct sw_batch *batch = &frame->flight.batch;
        if (batch->op != gather->first->flight.batch.op || frames == SW_GATHER_FRAMES_MAX ||
            batch->count > gather->operations_max - operations) {
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

/* Copies a frame's arrays behind the `first` operations that are there. */
static void copy_in(struct sw_gathered *gathered, const struct sw_frame *frame, uint32_t first)
{
    const struct sw_batch *batch = &frame->flight.batch;
    const struct sw_table_shape *shape = &gathered->loop->shape;
    memcpy(gathered->keys + (size_t)first * shape->key_bytes, batch->keys,
           (size_t)batch->count * shape->key_bytes);
    if (batch->values != NULL) {
        memcpy(gathered->values + (size_t)first * shape->value_bytes, batch->values,
               (size_t)batch->count * shape->value_bytes);
    }
}

static void fly_alone(struct sw_gathered *gathered)
{
    struct sw_loop *loop = gathered->loop;
    gathered->frames = pop(&loop->gather);
    gathered->flight.batch = gathered->frames->flight.batch;
    gathered->flight.done = on_done;
    gathered->busy = true;
    sw_flight_start(&loop->flights, &gathered->flight);
}

/* Takes `frames` frames from the front and submits them as one. */
static void fly_together(struct sw_gathered *gathered, uint32_t frames)
{
    struct sw_loop *loop = gathered->loop;
    const struct sw_batch *sample = &loop->gather.first->flight.batch;
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
    struct sw_frame **link = &gathered->frames;
    for (uint32_t group = 0; group < frames; group++) {
        struct sw_frame *frame = pop(&loop->gather);
        copy_in(gathered, frame, batch.count);
        batch.count += frame->flight.batch.count;
        gathered->group_ends[group] = batch.count;
        if (frame->flight.batch.previous != NULL ||
            sw_operation_may_overflow(frame->request.operation)) {
            batch.previous = gathered->previous;
        }
        *link = frame;
        link = &frame->next;
    }
    gathered->busy = true;
    gathered->flight.batch = batch;
    gathered->flight.done = on_done;
    SW_COUNT(&loop->counters, frames_gathered, frames);
    sw_flight_start(&loop->flights, &gathered->flight);
}

bool sw_gather_submit(struct sw_loop *loop)
{
    struct sw_gather *gather = &loop->gather;
    bool submitted = false;
    while (gather->first != NULL) {
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

void sw_gather_flush(struct sw_loop *loop)
{
    sw_gather_submit(loop);
    while (loop->gather.first != NULL) {
        sw_frame_fly(pop(&loop->gather));
    }
}
