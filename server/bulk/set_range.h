/* SPDX-License-Identifier: MIT
 *
 * set_range.h - SETRANGE of frames. A frame has one part for all its keys. The table gets an
 * operand of value_bytes and a part for each key, and returns what the log needs: the values
 * before, and which keys were present. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_SET_RANGE_H
#define SHERWOOD_SERVER_BULK_SET_RANGE_H

#include <stdint.h>

#include "proto/frame.h"

struct sw_bulk_frame;

/* Returns the bytes that it needs besides the two bodies. */
uint64_t sw_bulk_set_range_bytes(const struct sw_request *request);

/* Replaces the arrays of the batch, whose operands are the parts that the client sent. */
void sw_bulk_set_range_begin(struct sw_bulk_frame *frame);

#endif
