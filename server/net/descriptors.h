/* SPDX-License-Identifier: MIT
 *
 * descriptors.h - a transport of a Unix socket that also takes descriptors (SCM_RIGHTS). libuv
 * drops these when it reads, so bytes are read here instead.
 */
#ifndef SHERWOOD_SERVER_NET_DESCRIPTORS_H
#define SHERWOOD_SERVER_NET_DESCRIPTORS_H

#include <stdbool.h>

#include "server/net/transport.h"

/* From now on the transport, an unencrypted one, takes descriptors; `reading`: it has been started
 * to read. Returns 0, or -1 if there is no memory or no descriptor for that. */
int sw_descriptors_open(struct sw_transport *transport, bool reading);

/* Returns the received descriptor, which the caller owns; -1: no descriptor has been received. If a
 * second descriptor arrives before this call, the connection ends. */
int sw_descriptors_take(struct sw_transport *transport);

#endif
