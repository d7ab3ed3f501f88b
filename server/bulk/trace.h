/* SPDX-License-Identifier: MIT
 *
 * trace.h - the spans of frames with a sampled trace context. Threads: the loop's.
 *
 * A span begins when the loop takes the frame's head, and ends when the reply is ready, also if the
 * reply is an error. A frame whose connection ends before has no span. Nothing here waits, locks or
 * allocates. A full queue drops the span and counts it.
 */
#ifndef SHERWOOD_SERVER_BULK_TRACE_H
#define SHERWOOD_SERVER_BULK_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "server/bulk/frame_pool.h"

/* Begins the span of a frame whose request is_sampled, from its header. */
void sw_bulk_trace_begin(struct sw_bulk_frame *frame, const uint8_t *header, size_t size);
/* Ends the span of a frame whose request is_sampled. */
void sw_bulk_trace_end(const struct sw_bulk_frame *frame, const struct sw_reply *reply);
/* Adds the span of a request that is_sampled and was refused before it had a frame. */
void sw_bulk_trace_refused(struct sw_conn *conn, const struct sw_request *request,
                           const uint8_t *header, size_t size, enum sw_reply_status status,
                           const char *message);

#endif
