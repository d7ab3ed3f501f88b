/* SPDX-License-Identifier: MIT
 *
 * receive.h - receiving replies.
 */
#ifndef SHERWOOD_CLIENT_RECEIVE_H
#define SHERWOOD_CLIENT_RECEIVE_H

struct sw_client_connection;

/* Receives what the transport has; never blocks. Returns SHERWOOD_OK, or the code that ended the
 * connection. */
int sw_client_receive(struct sw_client_connection *connection);

#endif
