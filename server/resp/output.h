/* SPDX-License-Identifier: MIT
 *
 * output.h - sending RESP replies. Everything is called on the connection's loop. An error of the
 * socket closes the connection.
 */
#ifndef SHERWOOD_SERVER_RESP_OUTPUT_H
#define SHERWOOD_SERVER_RESP_OUTPUT_H

#include <stddef.h>

struct sw_conn;

void sw_resp_output_init(struct sw_conn *conn);
void sw_resp_output_fini(struct sw_conn *conn);

/* Sends bytes. Those that the socket does not take now are copied and sent later. Does nothing if
 * the connection is LINGERING or CLOSED. Closes the connection if output-bytes-max is reached. */
void sw_resp_send(struct sw_conn *conn, const void *bytes, size_t size);

/* The protocol's `written`. */
void sw_resp_written(struct sw_conn *conn, int status);

#endif
