/* SPDX-License-Identifier: MIT
 *
 * segments.h - frames that read several tables.
 *
 * A segment is a batch of its own, for one table. The batches of a frame have no order among each
 * other. Either all of them start, or the server refuses the frame. Invariant: while `left` is not
 * 0, the frame stays, and each flight in flight uses the table in which it started. A dropped table
 * waits for its flights alone, so a flight that is done must not use its table.
 *
 * The segments lie in the frame's memory, behind the body of the reply. Everything belongs to the
 * loop's thread.
 */
#ifndef SHERWOOD_SERVER_BULK_SEGMENTS_H
#define SHERWOOD_SERVER_BULK_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"
#include "server/batch/flight.h"
#include "server/bulk/admit.h"
#include "server/bulk/frame_pool.h"

struct sw_bulk_segment {
    struct sw_flight flight;
    struct sw_bulk_frame *frame;
    struct sw_request request;   /* of this segment alone */
    struct sw_bulk_table *table; /* as frame->table of another frame */
    uint32_t table_id;
    const uint8_t *keys;
    void *values;    /* NULL: not wanted */
    uint64_t *found; /* likewise */
};

struct sw_bulk_segments {
    uint32_t count;
    uint32_t left; /* batches that are not done */
    uint64_t hits;
    enum sw_reply_status status; /* of the first batch that failed; OK: none did */
    const char *text;            /* the sentence of this status */
    struct sw_bulk_segment list[];
};

/* Returns the bytes that a frame with these segments needs beside the body of its request. If the
 * request was not admitted, the result may be any number. */
uint64_t sw_bulk_segments_bytes(const struct sw_request *request,
                                const struct sw_frame_segments *segments);

/* May the connection send the request, and can it be carried out? Checks each segment as
 * sw_bulk_admit checks a request. The message names the segment that is refused. */
enum sw_reply_status sw_bulk_admit_segments(struct sw_conn *conn,
                                            const struct sw_bulk_candidate *whole,
                                            const struct sw_frame_segments *segments, char *message,
                                            size_t message_bytes, bool *closes);

/* Makes the segments of a frame whose memory is reserved, and clears the padding of its reply. */
void sw_bulk_place_segments(struct sw_bulk_frame *frame, const struct sw_frame_segments *segments);

/* Starts the batches of a frame that has been received completely. Its reply is sent when all of
 * them are done, or now if it is refused. */
void sw_bulk_start_segments(struct sw_bulk_frame *frame);

#endif
