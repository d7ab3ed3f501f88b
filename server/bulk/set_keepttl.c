/* SPDX-License-Identifier: MIT
 *
 * set_keepttl.c - two operations a key: SET_ABSENT with the default time, then SET with the time
 * kept.
 */
#include "server/bulk/set_keepttl.h"

#include <string.h>

#include "server/bulk/bulk.h"

/* The arrays of the batch, behind the body of the reply. */
struct arrays {
    uint8_t *keys, *values, *ops, *previous; /* previous: NULL, where it is declined */
    uint64_t *expires, *found;
};

/* Reserves `bytes` bytes of the memory, aligned like the arrays of a frame. */
static uint8_t *carve(uint8_t *memory, uint64_t *used, uint64_t bytes)
{
    uint8_t *at = memory == NULL ? NULL : memory + *used;
    *used += sw_frame_align(bytes);
    return at;
}

/* Places the arrays in `memory`, and returns their bytes. If `memory` is NULL, only measures. */
static uint64_t lay_out(const struct sw_table_shape *shape, const struct sw_request *request,
                        uint8_t *memory, struct arrays *arrays)
{
    const uint64_t n = 2ULL * request->count;
    uint64_t used = 0;
    arrays->keys = carve(memory, &used, n * shape->key_bytes);
    arrays->values = carve(memory, &used, n * shape->value_bytes);
    arrays->ops = carve(memory, &used, n);
    arrays->expires = (uint64_t *)(void *)carve(memory, &used, n * sizeof(uint64_t));
    arrays->found = (uint64_t *)(void *)carve(memory, &used, (n + 63) / 64 * sizeof(uint64_t));
    arrays->previous = request->want_values ? carve(memory, &used, n * shape->value_bytes) : NULL;
    return used;
}

uint64_t sw_bulk_keepttl_bytes(const struct sw_table_shape *shape, const struct sw_request *request)
{
    struct arrays arrays;
    return lay_out(shape, request, NULL, &arrays);
}

void sw_bulk_keepttl_begin(struct sw_bulk_frame *frame)
{
    const struct sw_table_shape *shape = &frame->table->batches->shape;
    const uint32_t kb = shape->key_bytes, vb = shape->value_bytes;
    const uint64_t at = sw_batches_default_time(frame->table->batches);
    struct sw_batch *batch = &frame->flight.batch;
    const uint8_t *keys = batch->keys, *values = batch->values;
    struct arrays arrays;
    lay_out(shape, &frame->request, frame->reply + frame->reply_layout.bytes, &arrays);
    for (size_t i = 0; i < 2 * (size_t)frame->request.count; i++) {
        memcpy(arrays.keys + i * kb, keys + i / 2 * kb, kb);
        memcpy(arrays.values + i * vb, values + i / 2 * vb, vb);
        arrays.ops[i] = i % 2 == 0 ? SW_SET_ABSENT : SW_SET;
        arrays.expires[i] = i % 2 == 0 ? at : SW_EXPIRE_KEEP;
    }
    *batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                               .count = 2 * frame->request.count,
                               .ops = arrays.ops,
                               .keys = arrays.keys,
                               .values = arrays.values,
                               .previous = arrays.previous,
                               .found = arrays.found,
                               .expires = arrays.expires};
}

uint64_t sw_bulk_keepttl_end(struct sw_bulk_frame *frame)
{
    const struct sw_batch *batch = &frame->flight.batch;
    const uint32_t vb = frame->table->batches->shape.value_bytes;
    const uint8_t *before = batch->previous;
    uint8_t *values = frame->arrays[SW_RING_VALUES];
    uint64_t *found = frame->arrays[SW_RING_FOUND];
    uint64_t hits = 0, word = 0;
    for (size_t i = 0; i < frame->request.count; i++) {
        const uint64_t bit = batch->found[2 * i / 64] >> (2 * i % 64) & 1;
        word = (i % 64 == 0 ? 0 : word) | bit << (i % 64);
        hits += bit;
        if (found != NULL) {
            found[i / 64] = word;
        }
        if (values != NULL) {
            memcpy(values + i * vb, before + 2 * i * vb, vb);
        }
    }
    return hits;
}
