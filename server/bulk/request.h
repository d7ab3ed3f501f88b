/* SPDX-License-Identifier: MIT
 *
 * request.h - what frames may ask for. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_REQUEST_H
#define SHERWOOD_SERVER_BULK_REQUEST_H

#include <stdint.h>

#include "server/batch/shape.h"
#include "server/bulk/frame_pool.h"

/* The operations that an engine has: bit 1 << enum sw_operation. */
uint64_t sw_bulk_operations(const struct sw_table_shape *shape);

/* Carries out a frame that has arrived whole; its reply follows, at once or later. */
void sw_bulk_start(struct sw_bulk_frame *frame);

#endif
