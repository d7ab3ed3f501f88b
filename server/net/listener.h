/* SPDX-License-Identifier: MIT
 *
 * listener.h - accepts connections on a thread of its own. Each accepted socket goes to the loop
 * that has the fewest connections.
 */
#ifndef SHERWOOD_SERVER_NET_LISTENER_H
#define SHERWOOD_SERVER_NET_LISTENER_H

#include <stdint.h>

#include "server/config/config.h"
#include "server/net/net.h"
#include "server/notify.h"

struct sw_listener;

/* Binds the addresses of the configuration, or takes the sockets that the service manager passed
 * instead. Accepts nothing yet. `config` and `nets` (one for each loop) are borrowed and must
 * outlive the listener. Returns 0, or -1 with a sentence logged. */
int sw_listener_create(const struct sw_config *config, const struct sw_activated *activated,
                       struct sw_net *const *nets, uint32_t loop_count, struct sw_listener **out);

/* Starts the thread. The loops must be running, and must outlive the listener. Returns 0, or -1
 * with a sentence logged. */
int sw_listener_start(struct sw_listener *listener);

/* Stops accepting, ends the thread and closes the sockets; the file of a Unix socket that
 * sw_listener_create made is removed. Afterwards all functions below may still be called.
 * `listener` may be NULL or not started. */
void sw_listener_stop(struct sw_listener *listener);
/* Stops the listener, if necessary, and frees it. */
void sw_listener_destroy(struct sw_listener *listener);

/* Return the TCP port, the TLS port (0: none) and the number of connections refused so far. May be
 * called from any thread. */
uint16_t sw_listener_port(const struct sw_listener *listener);
uint16_t sw_listener_tls_port(const struct sw_listener *listener);
uint64_t sw_listener_rejected(const struct sw_listener *listener);

#endif
