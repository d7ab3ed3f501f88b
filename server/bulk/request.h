/* SPDX-License-Identifier: MIT
 *
 * request.h - carrying out the requests of frames. Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_REQUEST_H
#define SHERWOOD_SERVER_BULK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "server/bulk/frame_pool.h"

/* Returns the batch of a request with keys. The frame's arrays must be set. */
struct sw_batch sw_bulk_batch_of(const struct sw_bulk_frame *frame);

/* Accepts and carries out a frame that has been received completely, and takes it. Its reply is
 * sent now, or when its batch is done. */
void sw_bulk_start(struct sw_bulk_frame *frame);

#endif
