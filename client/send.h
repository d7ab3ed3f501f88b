/* SPDX-License-Identifier: MIT
 *
 * send.h - sending queued frames.
 */
#ifndef SHERWOOD_CLIENT_SEND_H
#define SHERWOOD_CLIENT_SEND_H

struct sherwood;
struct sw_client_stripe;

/* Sends as much as the transport accepts; never blocks. A failure is only noted in send_errno: the
 * server may have sent the reason, so the connection ends when receiving finds its end. */
void sw_client_send(struct sw_client_stripe *stripe);
/* Does the same for all stripes. */
void sw_client_send_all(struct sherwood *client);

#endif
