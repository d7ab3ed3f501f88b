/* SPDX-License-Identifier: MIT
 *
 * output.h - sending RESP replies. Everything is called on the connection's loop. An error of the
 * socket closes the connection.
 */
#ifndef SHERWOOD_SERVER_RESP_OUTPUT_H
#define SHERWOOD_SERVER_RESP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_conn;
struct sw_resp;
struct sw_resp_conn;

void sw_resp_output_init(struct sw_resp_conn *state);
void sw_resp_output_fini(struct sw_resp_conn *state);

/* Sends bytes. Copies the bytes that the socket does not take now, and sends them later. Does
 * nothing if the connection is LINGERING or CLOSED. Closes the connection if output-bytes-max is
 * reached. */
void sw_resp_send(struct sw_resp_conn *state, const void *bytes, size_t size);

/* The same, for replies that show the effect of write number `sequence`. They and all later replies
 * leave when the write-ahead log reports the write as answerable. If the log fails before, the
 * connection closes, because the write may not survive a crash. 0: no write. */
void sw_resp_send_after(struct sw_resp_conn *state, const void *bytes, size_t size,
                        uint64_t sequence);

/* Sends the held replies that may leave now. With `leaves` the log is about to get the numbers of
 * another history: then the function sends nothing, and closes the connections. Returns true if it
 * sent any. */
bool sw_resp_open_gates(struct sw_resp *resp, bool leaves);

/* The protocol's `written`. */
void sw_resp_written(struct sw_conn *conn, int status);

#endif
