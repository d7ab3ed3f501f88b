/* SPDX-License-Identifier: MIT
 *
 * receive.h - receiving replies.
 */
#ifndef SHERWOOD_CLIENT_RECEIVE_H
#define SHERWOOD_CLIENT_RECEIVE_H

struct sherwood;
struct sherwood_server;
struct sw_client_connection;

/* Accepts replies from a table with these facts. A longer body ends its connection. */
void sw_client_expect_bodies(struct sherwood *client, const struct sherwood_server *server);

/* Receives what the transport has; never blocks. Returns SHERWOOD_OK, or the code that ended the
 * connection. */
int sw_client_receive(struct sw_client_connection *connection);

#endif
