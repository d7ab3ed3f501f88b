/* SPDX-License-Identifier: MIT
 *
 * step.h - the loop of the blocking calls.
 */
#ifndef SHERWOOD_CLIENT_STEP_H
#define SHERWOOD_CLIENT_STEP_H

#include <stdint.h>

struct sherwood;
struct sw_client_call;
struct sw_client_connection;
struct sw_client_frame;

/* Milliseconds of the monotonic clock. */
uint64_t sw_client_now_ms(void);

/* Sends and receives until one of these happens: bytes have moved, `limit_ms` have passed
 * (negative: no limit), or a connection has ended because no byte moved for request_timeout_ms. */
void sw_client_step(struct sherwood *client, int limit_ms);
/* Blocks until a connection, or `only` if it is not NULL, has room for a frame of the call, then
 * queues it and sends what the transport accepts. Returns a status. */
int sw_client_queue_for_call(struct sherwood *client, struct sw_client_connection *only,
                             struct sw_client_frame *frame, struct sw_client_call *call);
/* Blocks until the call has no flights left, and returns its status. A connection that ends
 * finishes its flights, so this always returns. */
int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call);

#endif
