/* SPDX-License-Identifier: MIT
 *
 * complete.c - completing a request of a ring: its regions have one user less.
 */
#include "server/bulk/complete.h"

#include <string.h>

#include "server/bulk/shared_memory.h"
#include "table/found_bytes.h"

/* Expands the bits of `found` in host memory to bytes, from the last one on: a byte lies at or
 * behind the bits that are still to be read. Kernels write bytes to device memory themselves. The
 * client may change the memory meanwhile, and then gets other bytes. */
static void expand_found(const struct sw_bulk_frame *frame)
{
    const struct sw_region *region = frame->regions[SW_RING_FOUND];
    uint8_t *array = frame->arrays[SW_RING_FOUND];
    if (!frame->request.found_bytes || region == NULL || region->mapping == NULL) {
        return;
    }
    for (uint64_t e = ((uint64_t)frame->request.count + 7) / 8; e-- > 0;) {
        const uint64_t bytes = sw_bits_to_bytes(array[e]);
        memcpy(array + e * 8, &bytes, sizeof(bytes));
    }
}

/* Copies results that the batch wrote to the frame's memory to the regions. */
static void copy_results(const struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    const uint64_t values = (uint64_t)frame->request.count * frame->request.value_bytes;
    if (frame->results == NULL || reply->status != SW_REPLY_OK) {
        return;
    }
    if (frame->arrays[SW_RING_VALUES] != NULL) {
        memcpy(frame->arrays[SW_RING_VALUES], frame->results, values);
    }
    if (frame->arrays[SW_RING_FOUND] != NULL) {
        memcpy(frame->arrays[SW_RING_FOUND], frame->results + sw_frame_align(values),
               sw_found_bytes(frame->request.count));
    }
}

void sw_bulk_complete(struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    copy_results(frame, reply);
    expand_found(frame);
    sw_ring_complete(&frame->ring->ring, reply);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (frame->regions[i] != NULL) {
            sw_region_unuse(frame->regions[i]);
        }
    }
    sw_bulk_frame_put(frame);
}
