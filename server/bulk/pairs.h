/* SPDX-License-Identifier: MIT
 *
 * pairs.h - frames of operations with two operands for each key: CAS. The client sends the expected
 * value and the new one beside each other. The table gets an array of each, and returns the values
 * before and which keys were present. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_PAIRS_H
#define SHERWOOD_SERVER_BULK_PAIRS_H

#include <stdint.h>

#include "proto/frame.h"

struct sw_bulk_frame;

/* Returns the bytes that such a frame needs besides the two bodies. */
uint64_t sw_bulk_pairs_bytes(const struct sw_request *request);

/* Replaces the arrays of the batch, whose operands are the pairs that the client sent. They lie in
 * the frame's memory. */
void sw_bulk_pairs_begin(struct sw_bulk_frame *frame);

/* Turns the found bits of a batch that is done into those of the keys that were changed. Returns
 * their number. Call it after the log has the batch. */
uint64_t sw_bulk_pairs_end(struct sw_bulk_frame *frame);

#endif
