/* SPDX-License-Identifier: MIT
 *
 * place_change.h - moves RESP connections from one table to another (place.h).
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_PLACE_CHANGE_H
#define SHERWOOD_SERVER_RESP_PLACE_CHANGE_H

#include <stdbool.h>

#include "server/resp/resp.h"

/* Changes to the table that lies in the connection's place now. Returns false, and stalls the
 * connection, if earlier commands wait for their replies. */
bool sw_place_change(struct sw_resp_conn *state);

/* Does the connection use the table that lies in its place? If not, changes to it as
 * sw_place_change does. Call it before a command is parsed. */
static inline bool sw_place_is_followed(struct sw_resp_conn *state)
{
    return state->view_number == state->conn->net->tables.number || sw_place_change(state);
}

/* Moves the idle connections that use `resp`, whose table no place has, to the tables of their
 * places. Returns true if no connection is left that uses the table. */
bool sw_place_vacate(struct sw_net *net, const struct sw_resp *resp);

#endif
