/* SPDX-License-Identifier: MIT
 *
 * set_keepttl.h - SET with KEEP while --default-ttl is set: keys that exist keep their expiry time,
 * new keys get the default time.
 *
 * The table has no such operation. So a batch has two operations for each key: the first inserts
 * the key with the default time if it is absent, the second sets it and keeps its time. The reply
 * has the results of the first. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_SET_KEEPTTL_H
#define SHERWOOD_SERVER_BULK_SET_KEEPTTL_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/shape.h"

struct sw_bulk_frame;

/* Returns true for such a SET. Later default-ttl may be another one: see frame->keeps_ttl. */
static inline bool sw_bulk_is_set_keepttl(const struct sw_table_shape *shape,
                                          const struct sw_request *request)
{
    return request->operation == SW_OPERATION_SET && request->times == SW_FRAME_TIMES_KEEP &&
           shape->default_ttl_ms > 0;
}

/* Returns the bytes that it needs besides the two bodies. */
uint64_t sw_bulk_keepttl_bytes(const struct sw_table_shape *shape,
                               const struct sw_request *request);

/* Replaces the batch of a plain SET, whose keys and values were checked, by its own batch. */
void sw_bulk_keepttl_begin(struct sw_bulk_frame *frame);

/* Makes the arrays of its reply. Returns how many keys were present. */
uint64_t sw_bulk_keepttl_end(struct sw_bulk_frame *frame);

#endif
