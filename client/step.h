/* SPDX-License-Identifier: MIT
 *
 * step.h - the loop of the blocking calls.
 */
#ifndef SHERWOOD_CLIENT_STEP_H
#define SHERWOOD_CLIENT_STEP_H

#include <stdint.h>

struct sherwood;
struct sw_client_call;

/* Milliseconds of the monotonic clock. */
uint64_t sw_client_now_ms(void);

/* Sends and receives until one of these happens: bytes have moved, `limit_ms` have passed
 * (negative: no limit), or a connection has ended because no byte moved for request_timeout_ms. */
void sw_client_step(struct sherwood *client, int limit_ms);
/* Blocks until the call has no flights left, and returns its status. A connection that ends
 * finishes its flights, so this always returns. */
int sw_client_finish_call(struct sherwood *client, struct sw_client_call *call);

#endif
