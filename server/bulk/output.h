/* SPDX-License-Identifier: MIT
 *
 * output.h - sending bulk replies. Everything is called on the connection's loop. An error of the
 * socket closes the connection.
 */
#ifndef SHERWOOD_SERVER_BULK_OUTPUT_H
#define SHERWOOD_SERVER_BULK_OUTPUT_H

#include <stdbool.h>

#include "server/bulk/frame_pool.h"

/* Queues a frame whose pieces are the reply. It owns the frame from then on, and returns it to the
 * pool when the reply is sent or the connection closes. */
void sw_bulk_send(struct sw_conn *conn, struct sw_bulk_frame *frame);

/* Sends queued replies. Each connection sends at most its share of an iteration. Returns true if
 * some connection can send more in the next iteration without an event. */
bool sw_bulk_flush(struct sw_bulk *bulk);

/* The protocol's `written` and `drop_output`. */
void sw_bulk_written(struct sw_conn *conn, int status);
void sw_bulk_drop_unsent(struct sw_conn *conn);

#endif
