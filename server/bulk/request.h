/* SPDX-License-Identifier: MIT
 *
 * request.h - carrying out the requests of frames. Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_REQUEST_H
#define SHERWOOD_SERVER_BULK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "server/batch/shape.h"
#include "server/bulk/frame_pool.h"

/* Fills in which operations of the protocol the engine supports. */
void sw_bulk_operations(const struct sw_table_shape *shape, bool served[SW_OPERATION_NUMBERS]);

/* The table's number of an operation on keys. */
enum sw_op sw_bulk_op(uint32_t operation);

/* The batch of a request with keys, whose arrays have their places. */
struct sw_batch sw_bulk_batch_of(const struct sw_bulk_frame *frame);

/* Accepts and carries out a frame that has been received completely, and takes it. Its reply is
 * sent now, or when its batch is done. */
void sw_bulk_start(struct sw_bulk_frame *frame);

#endif
