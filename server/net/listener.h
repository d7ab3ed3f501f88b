/* SPDX-License-Identifier: MIT
 *
 * listener.h - the listening sockets, on a small thread of their own. Accepted connections go to
 * the loop that has the fewest.
 */
#ifndef SHERWOOD_SERVER_NET_LISTENER_H
#define SHERWOOD_SERVER_NET_LISTENER_H

#include <stdint.h>

#include "server/config/config.h"
#include "server/net/net.h"
#include "server/notify.h"

struct sw_listener;

/* Binds what the configuration names, or takes the activated sockets instead. Nothing is accepted
 * before start. Returns 0, or -1 with a sentence logged. */
int sw_listener_create(const struct sw_config *config, const struct sw_activated *activated,
                       struct sw_net *const *nets, uint32_t loop_count, struct sw_listener **out);

/* Starts accepting; the loops are running and outlive the listener. Returns 0 or -1, logged. */
int sw_listener_start(struct sw_listener *listener);

/* Stops accepting and closes the sockets; a Unix socket of ours is removed. Facts can still be
 * asked for. NULL, and a listener that was not started, are allowed. */
void sw_listener_stop(struct sw_listener *listener);
void sw_listener_destroy(struct sw_listener *listener);

/* Port bound (0: no TCP), connections refused so far. Any thread. */
uint16_t sw_listener_port(const struct sw_listener *listener);
uint64_t sw_listener_rejected(const struct sw_listener *listener);

#endif
