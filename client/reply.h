/* SPDX-License-Identifier: MIT
 *
 * reply.h - checking replies against their requests.
 */
#ifndef SHERWOOD_CLIENT_REPLY_H
#define SHERWOOD_CLIENT_REPLY_H

#include <stdint.h>

struct sw_client_connection;
struct sw_completion;

/* Checks the head of a reply, which is in connection->reply, against its request. `body_bytes`
 * follow it: sets `receiving` and `parts`, or finishes the flight if there is no body. Returns
 * SHERWOOD_OK, or the code that ended the connection. */
int sw_client_reply(struct sw_client_connection *connection, uint64_t body_bytes);
/* Checks a completion of the ring against its request, and finishes its flight. Returns as
 * sw_client_reply does. */
int sw_client_completion(struct sw_client_connection *connection,
                         const struct sw_completion *completion);
/* Ends the connection because the server refused it at its limit of connections, with the text
 * `message`. */
int sw_client_turned_away(struct sw_client_connection *connection, const char *message);

#endif
