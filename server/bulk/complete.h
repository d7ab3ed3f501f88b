/* SPDX-License-Identifier: MIT
 *
 * complete.h - the end of a request that came through a ring. Everything is called on the loop.
 */
#ifndef SHERWOOD_SERVER_BULK_COMPLETE_H
#define SHERWOOD_SERVER_BULK_COMPLETE_H

#include "server/bulk/frame_pool.h"

/* Copies results to the regions if the request needs that. Then writes the completion, which
 * sw_bulk_publish_rings publishes, and returns the frame to the pool. The device copies its memory
 * while the loop goes on. */
void sw_bulk_complete(struct sw_bulk_frame *frame, const struct sw_reply *reply);

#endif
