/* SPDX-License-Identifier: MIT
 *
 * ring_copies.h - copies of the keys, operands and scores of a record, which the client can then no
 * longer change.
 *
 * A record is taken when its copies are complete. While the device copies, the connection is
 * stalled (SW_STALL_COPIES), and the record and its frame are in struct sw_bulk_shared. Then the
 * record passes all checks again, because the server may have changed meanwhile.
 */
#ifndef SHERWOOD_SERVER_BULK_RING_COPIES_H
#define SHERWOOD_SERVER_BULK_RING_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "server/bulk/frame_pool.h"

struct sw_bulk_shared;

/* Checks whether the server can make the copies that a frame with places needs. On a refusal
 * `message` receives a sentence. */
enum sw_reply_status sw_ring_check_copies(const struct sw_bulk_frame *frame, char *message,
                                          size_t message_bytes);
/* Makes these copies, if the frame needs any. SW_OK: the frame's arrays are the copies. SW_PENDING:
 * the connection has stalled, and the frame is no longer the caller's. Otherwise the status of
 * copies that failed. */
int sw_ring_copy_inputs(struct sw_bulk_frame *frame, const struct sw_submission *record,
                        const struct sw_ring_extent *extents);
/* Returns whether the inputs of the first record of the ring are being copied. */
bool sw_ring_is_copying(const struct sw_bulk_shared *shared);
/* Frees copies that the first record of the ring does not use. They must be complete. */
void sw_ring_drop_inputs(struct sw_bulk_shared *shared);

#endif
