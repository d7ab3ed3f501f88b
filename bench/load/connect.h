/* SPDX-License-Identifier: MIT
 *
 * connect.h - a connected, non-blocking socket for "host:port", "[v6]:port" or "unix:/path".
 */
#ifndef SHERWOOD_LOAD_CONNECT_H
#define SHERWOOD_LOAD_CONNECT_H

#include <stddef.h>

/* Returns the descriptor, owned by the caller, or -1 with one sentence in `text`. Waits at most
 * timeout_ms for the peer. TCP_NODELAY is set. */
int sw_load_connect(const char *address, int timeout_ms, char *text, size_t text_bytes);

#endif
