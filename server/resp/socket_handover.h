/* SPDX-License-Identifier: MIT
 *
 * socket_handover.h - hands over the socket of a connection: to a sender to a replica, or to the
 * thread that migrates slots. Called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_SOCKET_HANDOVER_H
#define SHERWOOD_SERVER_RESP_SOCKET_HANDOVER_H

#include "server/net/conn.h"
#include "server/repl/peer_socket.h"

/* Duplicates the connection's socket into `socket`, and moves its TLS state there. Returns false if
 * there is no descriptor or no memory. After a success the caller ends the connection, or calls
 * sw_socket_take_back. */
bool sw_socket_hand_over(struct sw_conn *conn, struct sw_peer_socket *socket);
void sw_socket_take_back(struct sw_conn *conn, struct sw_peer_socket *socket);

#endif
