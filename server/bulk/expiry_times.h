/* SPDX-License-Identifier: MIT
 *
 * expiry_times.h - frames that set or request the expiry times of keys.
 *
 * A relative time counts from the table's clock at the moment at which the frame is started.
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_EXPIRY_TIMES_H
#define SHERWOOD_SERVER_BULK_EXPIRY_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/shape.h"

struct sw_bulk_frame;

/* Returns true if the fields of the header about times are valid for this server. Otherwise sets
 * `message`. */
bool sw_bulk_expiry_fit(const struct sw_table_shape *shape, const struct sw_request *request,
                        char *message, size_t message_bytes);

/* EXPIRE, its kinds and PERSIST. The bits of the reply mark the keys whose time they changed. */
static inline bool sw_bulk_shows_expiry(const struct sw_request *request)
{
    return sw_operation_retimes(request->operation);
}
/* Returns the bytes that these need besides the two bodies. */
uint64_t sw_bulk_expiry_bytes(const struct sw_request *request);

/* Sets the expiry times of the frame's batch, which exists already, or lets the batch request them.
 * Returns false and sets `message` if a time is not valid. */
bool sw_bulk_expiry_begin(struct sw_bulk_frame *frame, char *message, size_t message_bytes);

/* Computes the bits of a reply if sw_bulk_shows_expiry. Returns the number of bits set. */
uint64_t sw_bulk_expiry_end(const struct sw_bulk_frame *frame);

#endif
