/* SPDX-License-Identifier: MIT
 *
 * send.h - queueing frames, and sending them.
 */
#ifndef SHERWOOD_CLIENT_SEND_H
#define SHERWOOD_CLIENT_SEND_H

#include "client/flight.h"

/* Chooses the connection for a frame: the one with the ring if the frame can go through it,
 * otherwise the free connection with the fewest frames in flight. Sets *out to NULL if every
 * connection is busy. Returns a status: an error if neither the ring nor the socket can carry the
 * frame. */
int sw_client_connection_for(struct sherwood *client, struct sw_client_frame *frame,
                             struct sw_client_connection **out);
/* Queues a frame, or submits it to the ring. Returns its flight, or NULL if no flight is free or
 * the head cannot be encoded. */
struct sw_client_flight *sw_client_queue(struct sw_client_connection *connection,
                                         const struct sw_client_frame *frame);

/* Sends as much as the transport accepts; never blocks. A failure is only noted in send_errno: the
 * server may have sent the reason, so the connection ends when receiving finds its end. */
void sw_client_send(struct sw_client_connection *connection);
/* Does the same for all connections. */
void sw_client_send_all(struct sherwood *client);

#endif
