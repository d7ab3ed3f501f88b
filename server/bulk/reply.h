/* SPDX-License-Identifier: MIT
 *
 * reply.h - replies to frames. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_REPLY_H
#define SHERWOOD_SERVER_BULK_REPLY_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "proto/frame.h"
#include "server/bulk/frame_pool.h"

/* Sends the reply with these arrays (of the frame's memory; at most 2), then gives the frame back.
 * The request counts as answered. */
void sw_bulk_reply(struct sw_bulk_frame *frame, const struct sw_reply *reply,
                   const uv_buf_t *arrays, unsigned count);

/* Sends a status that is not OK. Returns false, with nothing done, if there is no memory. */
bool sw_bulk_refuse(struct sw_conn *conn, uint64_t request_id, enum sw_reply_status status,
                    const char *message);

/* The `done` of a frame's flight: replies with what the batch came to. */
void sw_bulk_reply_to_batch(struct sw_flight *flight);

#endif
