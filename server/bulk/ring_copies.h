/* SPDX-License-Identifier: MIT
 *
 * ring_copies.h - copies of the keys, operands and scores of a record, which the client can then no
 * longer change. Where others than the table use the arrays, the record has memory as a frame has,
 * and complete.c copies its results to the regions.
 *
 * A record is taken when its copies are complete. While the device copies, the connection is
 * stalled (SW_STALL_COPIES), and the record and its frame are in struct sw_bulk_shared. Then the
 * record passes all checks again, because the server may have changed meanwhile.
 */
#ifndef SHERWOOD_SERVER_BULK_RING_COPIES_H
#define SHERWOOD_SERVER_BULK_RING_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "server/bulk/frame_pool.h"

struct sw_bulk_shared;
struct sw_bulk_table;

/* Returns whether all arrays of a request are copied: is_copied of its frame. A replica may connect
 * at any time, so the caller asks once. */
bool sw_ring_copies_all(const struct sw_bulk_table *table, const struct sw_request *request);
/* Copies the inputs of a frame with places, if that is needed. SW_OK: the frame's arrays are the
 * copies. SW_PENDING: the connection has stalled, and the frame is no longer the caller's.
 * Otherwise the status of copies that failed. */
int sw_ring_copy_inputs(struct sw_bulk_frame *frame, const struct sw_submission *record,
                        const struct sw_ring_extent *extents);
/* Returns whether the inputs of the first record of the ring are being copied. */
bool sw_ring_is_copying(const struct sw_bulk_shared *shared);
/* Frees copies that the first record of the ring does not use. They must be complete. */
void sw_ring_drop_inputs(struct sw_bulk_shared *shared);

#endif
