/* SPDX-License-Identifier: MIT
 *
 * region_copies.h - copies between the memory of a frame and the regions of its client.
 *
 * The device copies its memory while the loop goes on. Meanwhile the frame is in bulk->copying, and
 * its connection has a request in flight. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_REGION_COPIES_H
#define SHERWOOD_SERVER_BULK_REGION_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "server/bulk/frame_pool.h"
#include "table/imported_memory.h"

/* Count the frame as a user of its regions, and end that. */
void sw_bulk_begin_use(const struct sw_bulk_frame *frame);
void sw_bulk_end_use(const struct sw_bulk_frame *frame);
/* Begins copies of the arrays of a frame, at most one for each array. SW_OK: they are done.
 * SW_PENDING: the loop calls `copied` with their status when they are. After SW_E_NOMEM
 * or SW_E_DEVICE nothing is copied any more. */
int sw_bulk_copy(struct sw_bulk_frame *frame, const struct sw_memory_copy *list, uint32_t count,
                 void (*copied)(struct sw_bulk_frame *frame, int status));
/* Calls `copied` of the frames whose copies are done. Returns true if there were any. */
bool sw_bulk_poll_copies(struct sw_bulk *bulk);

#endif
