/* SPDX-License-Identifier: MIT
 *
 * descriptors.h - a transport for a Unix socket that also receives descriptors (SCM_RIGHTS). libuv
 * would drop them, so this transport reads the socket itself.
 */
#ifndef SHERWOOD_SERVER_NET_DESCRIPTORS_H
#define SHERWOOD_SERVER_NET_DESCRIPTORS_H

#include <stdbool.h>

#include "server/net/transport.h"

/* Makes an unencrypted transport receive descriptors. `reading`: the transport has started to read.
 * Returns 0, or -1 if memory or a descriptor is lacking. */
int sw_descriptors_open(struct sw_transport *transport, bool reading);

/* Returns the received descriptor, which the caller owns; -1: no descriptor has been received. If a
 * second descriptor arrives before this call, the connection ends. */
int sw_descriptors_take(struct sw_transport *transport);

#endif
