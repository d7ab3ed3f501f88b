/* SPDX-License-Identifier: MIT
 *
 * bulk.h - the bulk side of a connection: frames in, batches, frames out.
 *
 * A frame's body is received into the loop's arena and is the batch's key and operand arrays as it
 * lies there; the batch writes its answers beside it, and these bytes are what is sent.
 */
#ifndef SHERWOOD_SERVER_BULK_BULK_H
#define SHERWOOD_SERVER_BULK_BULK_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "proto/frame.h"

struct sw_conn;
struct sw_loop;

/* Takes frames from `bytes`. Returns the bytes consumed; what is left is an incomplete head
 * (input.need is set), or waits because the connection is stalled. */
size_t sw_bulk_feed(struct sw_conn *conn, const uint8_t *bytes, size_t size);

/* While a body is being received (conn->receiving): where its next bytes go, and that they came. */
uv_buf_t sw_bulk_buffer(struct sw_conn *conn);
void sw_bulk_received(struct sw_conn *conn, size_t bytes);

/* Forgets the frame being received, if any. */
void sw_bulk_drop(struct sw_conn *conn);

/* Answers with a status that is not OK. */
void sw_bulk_refuse(struct sw_conn *conn, uint64_t request_id, enum sw_reply_status status,
                    const char *message);

/* Frees the frames kept for reuse. */
void sw_bulk_fini(struct sw_loop *loop);

/* Gives back spare frames that nobody needed since the last call, some at a time. Called every
 * SW_SWEEP_MS. */
void sw_bulk_sweep(struct sw_loop *loop);

/* The operations that an engine has: bit 1 << enum sw_operation. */
struct sw_table_shape;
uint64_t sw_bulk_operations(const struct sw_table_shape *shape);

#endif
