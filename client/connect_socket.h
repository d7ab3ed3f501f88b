/* SPDX-License-Identifier: MIT
 *
 * connect_socket.h - connects a non-blocking socket to an address.
 */
#ifndef SHERWOOD_CLIENT_CONNECT_SOCKET_H
#define SHERWOOD_CLIENT_CONNECT_SOCKET_H

#include <stddef.h>
#include <stdint.h>

/* Connects to "host:port", "[v6]:port" or "unix:/path". `timeout_ms` is the limit for each address
 * that a name stands for; name resolution has its own. Returns SHERWOOD_OK and the socket, which
 * the caller closes, or a code and a sentence in `text`. May be called from any thread. */
int sw_client_connect_socket(const char *address, int timeout_ms, int *fd, char *text,
                             size_t text_bytes);

/* Sets the sizes of the buffers of a socket; 0 leaves one as it is. */
void sw_client_size_buffers(int fd, uint32_t send_bytes, uint32_t receive_bytes);

#endif
