/* SPDX-License-Identifier: MIT
 *
 * own_arrays.c - arrays that the table needs and the client did not send or request.
 */
#include "server/bulk/own_arrays.h"

#include "server/bulk/bulk.h"

static uint64_t values_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * request->value_bytes);
}

static uint64_t ranges_bytes(const struct sw_request *request)
{
    return sw_frame_align((uint64_t)request->count * sizeof(uint32_t));
}

uint64_t sw_own_arrays_bytes(const struct sw_request *request, uint32_t value_arrays)
{
    return value_arrays * values_bytes(request) + ranges_bytes(request) +
           sw_frame_align(sw_found_bytes(request->count));
}

struct sw_own_arrays sw_own_arrays_of(const struct sw_bulk_frame *frame, uint32_t value_arrays)
{
    const struct sw_request *request = &frame->request;
    const uint64_t values = values_bytes(request);
    uint8_t *memory = frame->reply + frame->reply_layout.bytes;
    uint8_t *ranges = memory + value_arrays * values;
    return (struct sw_own_arrays){.values = {memory, value_arrays > 1 ? memory + values : NULL},
                                  .ranges = (uint32_t *)(void *)ranges,
                                  .found = (uint64_t *)(void *)(ranges + ranges_bytes(request))};
}

void sw_own_arrays_answer(const struct sw_own_arrays *arrays, struct sw_bulk_frame *frame)
{
    struct sw_batch *batch = &frame->flight.batch;
    batch->previous = batch->previous != NULL ? batch->previous : arrays->values[1];
    batch->found = batch->found != NULL ? batch->found : arrays->found;
}
