/* SPDX-License-Identifier: MIT
 *
 * dial.h - from an address to a connected, non-blocking socket.
 */
#ifndef SHERWOOD_CLIENT_DIAL_H
#define SHERWOOD_CLIENT_DIAL_H

#include <stddef.h>

/* Connects to "host:port", "[v6]:port" or "unix:/path" within `timeout_ms` an address tried (name
 * resolution keeps its own time). Returns SHERWOOD_OK and the socket, which the caller closes; or a
 * code, with a sentence of what to do in `text`. Any thread. */
int sw_client_dial(const char *address, int timeout_ms, int *fd, char *text, size_t text_bytes);

#endif
