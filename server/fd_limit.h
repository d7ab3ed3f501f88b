/* SPDX-License-Identifier: MIT
 *
 * fd_limit.h - how many connections the limit of open files (RLIMIT_NOFILE) allows.
 *
 * Each connection uses a descriptor. If clients took the last one, snapshots, replicas and /healthz
 * would fail. So the server keeps descriptors for itself, and for HTTP, and serves fewer clients
 * than connections-max where the limit is low.
 */
#ifndef SHERWOOD_SERVER_FD_LIMIT_H
#define SHERWOOD_SERVER_FD_LIMIT_H

#include "server/config/config.h"

/* Raises the soft limit, which is usually 1024 (for select()), as far as connections-max needs. If
 * the hard limit is too low, sets `connections_fit` and `http_connections_fit` to what it allows,
 * and logs that. Returns 0; or -1 with a sentence logged, if the server cannot run with so few.
 * `loops` of the configuration must be set. Call it before the server opens descriptors. */
int sw_fd_limit_fit(struct sw_config *config);

/* Raises the soft limit after connections-max has changed. Threads: any, one at a time. */
void sw_fd_limit_raise(const struct sw_config *config);

#endif
