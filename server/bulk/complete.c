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

void sw_bulk_complete(struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    expand_found(frame);
    sw_ring_complete(&frame->ring->ring, reply);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (frame->regions[i] != NULL) {
            sw_region_unuse(frame->regions[i]);
        }
    }
    sw_bulk_frame_put(frame);
}
