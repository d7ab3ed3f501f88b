/* SPDX-License-Identifier: MIT
 *
 * pairs.c - the arrays of frames with two operands for each key.
 */
#include "server/bulk/pairs.h"

#include <string.h>

#include "server/batch/pairs.h"
#include "server/bulk/bulk.h"

/* The arrays, all in memory behind the body of the reply. */
struct arrays {
    uint8_t *expected, *previous;
    uint32_t *ranges;
    uint64_t *found;
};

static uint64_t values_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * request->value_bytes);
}

static uint64_t ranges_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * sizeof(uint32_t));
}

uint64_t sw_bulk_pairs_bytes(const struct sw_request *request)
{
    return (request->want_values ? 1 : 2) * values_bytes(request) + ranges_bytes(request) +
           sw_frame_align(sw_found_bytes(request->count));
}

/* Places the arrays. `previous` is not used if the client wants the values before: then they lie in
 * the reply. */
static struct arrays arrays_in(uint8_t *memory, const struct sw_request *request)
{
    const uint64_t values = values_bytes(request);
    uint8_t *ranges = memory + (request->want_values ? 1 : 2) * values;
    return (struct arrays){.expected = memory,
                           .previous = memory + values,
                           .ranges = (uint32_t *)(void *)ranges,
                           .found = (uint64_t *)(void *)(ranges + ranges_bytes(request))};
}

void sw_bulk_pairs_begin(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    const struct sw_table_shape *shape = &frame->bulk->batches->shape;
    const uint32_t bytes = request->value_bytes;
    const bool is_row = shape->value_format != SW_VALUE_INTEGER;
    struct sw_batch *batch = &frame->flight.batch;
    uint8_t *values = frame->arrays[SW_RING_OPERANDS];
    const struct arrays arrays = arrays_in(frame->reply + frame->reply_layout.bytes, request);
    for (uint32_t i = 0; i < request->count; i++) {
        uint8_t *pair = values + (size_t)i * 2 * bytes, *expected = arrays.expected;
        expected += (size_t)i * bytes;
        memcpy(expected, pair, bytes);
        /* in the place of pairs that were copied before, or of this one's first half */
        memmove(values + (size_t)i * bytes, pair + bytes, bytes);
        if (is_row) {
            arrays.ranges[i] = sw_pair_bytes(shape, expected);
        }
    }
    batch->values = values;
    batch->expected = arrays.expected;
    batch->ranges = is_row ? arrays.ranges : NULL;
    batch->previous = batch->previous != NULL ? batch->previous : arrays.previous;
    batch->found = batch->found != NULL ? batch->found : arrays.found;
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
