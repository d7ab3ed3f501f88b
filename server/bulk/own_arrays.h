/* SPDX-License-Identifier: MIT
 *
 * own_arrays.h - arrays that the table needs and the client did not send or request: values,
 * ranges and found bits, one behind the other. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_OWN_ARRAYS_H
#define SHERWOOD_SERVER_BULK_OWN_ARRAYS_H

#include <stdint.h>

#include "proto/frame.h"

struct sw_bulk_frame;

struct sw_own_arrays {
    uint8_t *values[2]; /* [count * value_bytes] each; the second one only if there are two */
    uint32_t *ranges;   /* [count] */
    uint64_t *found;    /* a bit for each key */
};

/* Returns the bytes of the arrays. `value_arrays` is 1 or 2: how many hold values. */
uint64_t sw_own_arrays_bytes(const struct sw_request *request, uint32_t value_arrays);

/* Places the arrays behind the body of the reply. */
struct sw_own_arrays sw_own_arrays_of(const struct sw_bulk_frame *frame, uint32_t value_arrays);

/* Lets the batch write the values before and the found bits to these arrays, unless the reply has
 * them. The second array of values is for the values before. */
void sw_own_arrays_answer(const struct sw_own_arrays *arrays, struct sw_bulk_frame *frame);

#endif
