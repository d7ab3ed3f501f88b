/* SPDX-License-Identifier: MIT
 *
 * set_range.c - an operand and a part for each key of a SETRANGE.
 */
#include "server/bulk/set_range.h"

#include <string.h>

#include "proto/ops/range_apply.h"
#include "server/bulk/bulk.h"
#include "server/bulk/own_arrays.h"

/* Arrays of values: the operands, and the values before. */
#define VALUE_ARRAYS 2

uint64_t sw_bulk_set_range_bytes(const struct sw_request *request)
{
    return sw_own_arrays_bytes(request, VALUE_ARRAYS);
}

void sw_bulk_set_range_begin(struct sw_bulk_frame *frame)
{
    const struct sw_request *request = &frame->request;
    struct sw_batch *batch = &frame->flight.batch;
    const uint8_t *parts = batch->values;
    const uint32_t range =
        sw_range_of(request->range_offset, request->range_bytes,
                    frame->table->batches->shape.value_format == SW_VALUE_STRING);
    const struct sw_own_arrays arrays = sw_own_arrays_of(frame, VALUE_ARRAYS);
    for (uint32_t i = 0; i < request->count; i++) {
        memcpy(arrays.values[0] + (size_t)i * request->value_bytes,
               parts + (size_t)i * request->range_bytes, request->range_bytes);
        arrays.ranges[i] = range;
    }
    batch->values = arrays.values[0];
    batch->ranges = arrays.ranges;
    sw_own_arrays_answer(&arrays, frame);
}
