/* SPDX-License-Identifier: MIT
 *
 * operations.h - the operations that an engine serves by frames. A pure function, for any thread.
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

#endif
