/* SPDX-License-Identifier: MIT
 *
 * pairs.c - the arrays of frames with two operands for each key.
 */
#include "server/bulk/pairs.h"

#include <string.h>

#include "server/batch/pairs.h"
#include "server/bulk/bulk.h"
#include "server/bulk/own_arrays.h"

/* The expected values, and the values before unless the reply has them. */
static uint32_t value_arrays(const struct sw_request *request)
{
    return request->want_values ? 1 : 2;
}

uint64_t sw_bulk_pairs_bytes(const struct sw_request *request)
{
    return sw_own_arrays_bytes(request, value_arrays(request));
}

void sw_bulk_pairs_begin(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    const struct sw_table_shape *shape = &frame->table->batches->shape;
    const uint32_t bytes = request->value_bytes;
    const bool is_row = shape->value_format != SW_VALUE_INTEGER;
    struct sw_batch *batch = &frame->flight.batch;
    uint8_t *values = frame->arrays[SW_RING_OPERANDS];
    const struct sw_own_arrays arrays = sw_own_arrays_of(frame, value_arrays(request));
    for (uint32_t i = 0; i < request->count; i++) {
        uint8_t *pair = values + (size_t)i * 2 * bytes, *expected = arrays.values[0];
        expected += (size_t)i * bytes;
        memcpy(expected, pair, bytes);
        /* in the place of pairs that were copied before, or of this one's first half */
        memmove(values + (size_t)i * bytes, pair + bytes, bytes);
        if (is_row) {
            arrays.ranges[i] = sw_pair_bytes(shape, expected);
        }
    }
    batch->values = values;
    batch->expected = arrays.values[0];
    batch->ranges = is_row ? arrays.ranges : NULL;
    sw_own_arrays_answer(&arrays, frame);
}

uint64_t sw_bulk_pairs_end(struct sw_bulk_frame *frame)
{
    const struct sw_batch *batch = &frame->flight.batch;
    uint64_t hits = 0;
    for (uint32_t i = 0; i < batch->count; i += 64) {
        uint64_t word = 0;
        for (uint32_t k = i; k < batch->count && k < i + 64; k++) {
            word |= (uint64_t)sw_pair_is_met(batch, frame->request.value_bytes, k) << (k % 64);
        }
        batch->found[i / 64] = word;
        hits += (uint64_t)__builtin_popcountll(word);
    }
    return hits;
}
