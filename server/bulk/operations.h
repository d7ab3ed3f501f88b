/* SPDX-License-Identifier: MIT
 *
 * operations.h - the operations of frames, and those of the table. Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_BULK_OPERATIONS_H
#define SHERWOOD_SERVER_BULK_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/operation.h"
#include "server/batch/shape.h"
#include "table/op.h"

/* Fills in which operations of the protocol the engine supports. */
void sw_bulk_operations(const struct sw_table_shape *shape, bool served[SW_OPERATION_NUMBERS]);

/* The table's number of an operation on keys that is not read-modify-write. */
enum sw_op sw_bulk_op(uint32_t operation);

#endif
