/* SPDX-License-Identifier: MIT
 *
 * reply.h - making the replies to frames. Everything is called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_REPLY_H
#define SHERWOOD_SERVER_BULK_REPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/frame.h"
#include "server/bulk/frame_pool.h"

/* Encodes and sends the reply. Its body is these arrays (at most SW_BULK_ARRAYS_MAX, in the frame's
 * memory). Takes the frame, and counts its request as complete. May free the connection. */
void sw_bulk_reply(struct sw_bulk_frame *frame, const struct sw_reply *reply,
                   const uv_buf_t *arrays, unsigned count);

/* Sends a reply with an error status, to a request that has no frame. Returns false, with nothing
 * done, if there is no memory. */
bool sw_bulk_refuse(struct sw_conn *conn, uint64_t request_id, enum sw_reply_status status,
                    const char *message);

/* Sends a doorbell: a reply to no request. It makes the client poll its ring. */
void sw_bulk_send_bell(struct sw_conn *conn);

/* Notes a frame whose batch is done, for SLOWLOG and LATENCY. */
void sw_bulk_note_time(const struct sw_bulk_frame *frame);
/* The `done` of a frame's flight: replies with the results of the batch. */
void sw_bulk_reply_to_batch(struct sw_flight *flight);

#endif
