/* SPDX-License-Identifier: MIT
 *
 * set_range.c - an operand and a part for each key of a SETRANGE.
 */
#include "server/bulk/set_range.h"

#include <string.h>

#include "proto/ops/range_apply.h"
#include "server/bulk/bulk.h"

/* The arrays, all in memory behind the body of the reply. */
struct arrays {
    uint8_t *operands, *previous;
    uint32_t *ranges;
    uint64_t *found;
};

/* Bytes of the arrays. */
static uint64_t values_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * request->value_bytes);
}

static uint64_t ranges_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * sizeof(uint32_t));
}

uint64_t sw_bulk_set_range_bytes(const struct sw_request *request)
{
    return 2 * values_bytes(request) + ranges_bytes(request) +
           sw_frame_align(sw_found_bytes(request->count));
}

static struct arrays arrays_in(uint8_t *memory, const struct sw_request *request)
{
    uint8_t *ranges = memory + 2 * values_bytes(request);
    return (struct arrays){.operands = memory,
                           .previous = memory + values_bytes(request),
                           .ranges = (uint32_t *)(void *)ranges,
                           .found = (uint64_t *)(void *)(ranges + ranges_bytes(request))};
}

void sw_bulk_set_range_begin(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    struct sw_batch *batch = &frame->flight.batch;
    const uint8_t *parts = batch->values;
    const uint32_t range = sw_range_of(request->range_offset, request->range_bytes,
                                       frame->bulk->batches->shape.value_format == SW_VALUE_STRING);
    const struct arrays arrays = arrays_in(frame->reply + frame->reply_layout.bytes, request);
    for (uint32_t i = 0; i < request->count; i++) {
        memcpy(arrays.operands + (size_t)i * request->value_bytes,
               parts + (size_t)i * request->range_bytes, request->range_bytes);
        arrays.ranges[i] = range;
    }
    batch->values = arrays.operands;
    batch->ranges = arrays.ranges;
    batch->previous = batch->previous != NULL ? batch->previous : arrays.previous;
    batch->found = batch->found != NULL ? batch->found : arrays.found;
}
