/* SPDX-License-Identifier: MIT
 *
 * times.h - frames that say when their keys expire, or ask for it.
 *
 * A time that is relative counts from the table's clock at the moment at which the frame is
 * started. Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_TIMES_H
#define SHERWOOD_SERVER_BULK_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/shape.h"

struct sw_bulk_frame;

/* Can the server make something of what the header says of times? If not, a sentence is in
 * `message`. */
bool sw_bulk_times_fit(const struct sw_table_shape *shape, const struct sw_request *request,
                       char *message, size_t message_bytes);

/* EXPIRE, its kinds and PERSIST. The bits of the reply mark the keys whose time they changed. */
static inline bool sw_bulk_shows_times(const struct sw_request *request)
{
    return sw_operation_expires(request->operation) || request->operation == SW_OPERATION_PERSIST;
}
/* What these need beside the two bodies. */
uint64_t sw_bulk_times_bytes(const struct sw_request *request);

/* Gives the frame's batch, which is made, its times, or has it ask for them. Returns false, with a
 * sentence in `message`, if one of them is none. */
bool sw_bulk_times_begin(struct sw_bulk_frame *frame, char *message, size_t message_bytes);

/* Makes the bits of a reply for which sw_bulk_shows_times. Returns how many are set. */
uint64_t sw_bulk_times_end(const struct sw_bulk_frame *frame);

#endif
