/* SPDX-License-Identifier: MIT
 *
 * complete.c - completing a request of a ring: its regions have one user less.
 */
#include "server/bulk/complete.h"

#include "server/bulk/shared_memory.h"

void sw_bulk_complete(struct sw_bulk_frame *frame, const struct sw_reply *reply)
{
    sw_ring_complete(&frame->ring->ring, reply);
    for (int i = 0; i < SW_RING_ARRAYS; i++) {
        if (frame->regions[i] != NULL) {
            sw_region_unuse(frame->regions[i]);
        }
    }
    sw_bulk_frame_put(frame);
}
