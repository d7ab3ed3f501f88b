/* SPDX-License-Identifier: MIT
 *
 * take_wire.h - a connection whose socket somebody else goes on with: a sender to a replica, or the
 * thread that moves slots. By the connection's loop.
 */
#ifndef SHERWOOD_SERVER_RESP_TAKE_WIRE_H
#define SHERWOOD_SERVER_RESP_TAKE_WIRE_H

#include "server/net/conn.h"
#include "server/repl/wire.h"

/* The connection's socket, and its TLS, become a wire. Returns false if there is no descriptor or
 * no memory. The connection is to be ended then, or gets back what was taken. */
bool sw_wire_take(struct sw_conn *conn, struct sw_wire *wire);
void sw_wire_give_back(struct sw_conn *conn, struct sw_wire *wire);

#endif
