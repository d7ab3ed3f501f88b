/* SPDX-License-Identifier: MIT
 *
 * output.h - the sending side of a connection (declared for clients of it in conn.h). RESP answers
 * are in output.c, bulk answers in bulk_output.c.
 */
#ifndef SHERWOOD_SERVER_NET_OUTPUT_H
#define SHERWOOD_SERVER_NET_OUTPUT_H

#include <stdbool.h>

#include "server/net/conn.h"

struct sw_frame;

void sw_output_init(struct sw_conn *conn);
void sw_output_fini(struct sw_conn *conn);

/* Takes a frame whose pieces are the answer, until they are sent or the connection closes. */
void sw_output_append(struct sw_conn *conn, struct sw_frame *frame);
/* Sends what every connection with bulk answers may send in a turn. Returns true if some have more
 * to send at once. */
bool sw_output_flush(struct sw_loop *loop);
/* Forgets the bulk answers of a connection that is closed. */
void sw_output_drop(struct sw_conn *conn);

#endif
