/* SPDX-License-Identifier: MIT
 *
 * take_wire.h - hands over the socket of a connection: to a sender to a replica, or to the thread
 * that migrates slots. Called on the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_TAKE_WIRE_H
#define SHERWOOD_SERVER_RESP_TAKE_WIRE_H

#include "server/net/conn.h"
#include "server/repl/wire.h"

/* Duplicates the connection's socket into `wire`, and moves its TLS state there. Returns false if
 * there is no descriptor or no memory. After a success the caller ends the connection, or calls
 * sw_wire_give_back. */
bool sw_wire_take(struct sw_conn *conn, struct sw_wire *wire);
void sw_wire_give_back(struct sw_conn *conn, struct sw_wire *wire);

#endif
