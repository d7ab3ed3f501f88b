/* SPDX-License-Identifier: MIT
 *
 * output.h - sending RESP replies. On the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_OUTPUT_H
#define SHERWOOD_SERVER_RESP_OUTPUT_H

#include <stddef.h>

struct sw_conn;

void sw_resp_output_init(struct sw_conn *conn);
void sw_resp_output_fini(struct sw_conn *conn);

/* Sends bytes (copied if the socket does not take them at once). Nothing happens on CLOSED. May
 * close the connection, if output-bytes-max is reached. */
void sw_resp_send(struct sw_conn *conn, const void *bytes, size_t size);

/* The protocol's `written`. */
void sw_resp_written(struct sw_conn *conn, int status);

#endif
