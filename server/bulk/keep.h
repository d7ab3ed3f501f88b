/* SPDX-License-Identifier: MIT
 *
 * keep.h - a SET that leaves the times of present keys, where new ones get that of --default-ttl.
 *
 * The table has no such operation: each key is inserted with the default time if it is absent, and
 * then set, with its time kept; both are one batch. The answers are those of the first of the two.
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_KEEP_H
#define SHERWOOD_SERVER_BULK_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/shape.h"

struct sw_bulk_frame;

/* Is it such a SET? */
static inline bool sw_bulk_keeps(const struct sw_table_shape *shape,
                                 const struct sw_request *request)
{
    return request->operation == SW_OPERATION_SET && request->times == SW_FRAME_TIMES_KEEP &&
           shape->default_ttl_ms > 0;
}

/* What it needs beside the two bodies. */
uint64_t sw_bulk_keep_bytes(const struct sw_table_shape *shape, const struct sw_request *request);

/* Makes its batch of the one that a SET would have, whose keys and values were checked. */
void sw_bulk_keep_begin(struct sw_bulk_frame *frame);

/* Makes the arrays of its reply. Returns how many keys were present. */
uint64_t sw_bulk_keep_end(struct sw_bulk_frame *frame);

#endif
