/* SPDX-License-Identifier: MIT
 *
 * control_request.h - a request without keys to one server. Used by the thread that uses the
 * handle.
 */
#ifndef SHERWOOD_CLIENT_CONTROL_REQUEST_H
#define SHERWOOD_CLIENT_CONTROL_REQUEST_H

#include "client/handle.h"

/* Waits for a free flight if necessary, queues a request without keys for `call`, and waits for its
 * reply. Sends the request on the connection `only`, or on any connection if `only` is NULL.
 * Returns a status. */
int sw_client_control_request_once(struct sherwood *client, struct sw_client_connection *only,
                                   struct sw_client_frame *frame, struct sw_client_call *call);
/* Sends a request without keys by this connection, and waits for the reply. The arrays receive the
 * body of the reply. Returns a status. */
int sw_client_control_request(struct sw_client_connection *connection,
                              const struct sw_request *header, void *first, void *second,
                              struct sw_reply *reply);

/* Returns for how many milliseconds one request of a wait may ask the server to wait, so that the
 * server replies well before request_timeout_ms. `left_ms` are left of the wait (negative: no
 * limit). */
int sw_client_wait_once_ms(const struct sherwood *client, int left_ms);

#endif
