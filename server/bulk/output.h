/* SPDX-License-Identifier: MIT
 *
 * output.h - sending bulk replies. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_BULK_OUTPUT_H
#define SHERWOOD_SERVER_BULK_OUTPUT_H

#include <stdbool.h>

#include "server/bulk/frame_pool.h"

/* Takes a frame whose pieces are the reply, until they are sent or the connection closes. */
void sw_bulk_send(struct sw_conn *conn, struct sw_bulk_frame *frame);

/* Sends what every connection with replies may send in a turn. Returns true if some have more to
 * send at once. */
bool sw_bulk_flush(struct sw_bulk *bulk);

/* The protocol's `written` and `drop_output`. */
void sw_bulk_written(struct sw_conn *conn, int status);
void sw_bulk_drop_unsent(struct sw_conn *conn);

#endif
