/* SPDX-License-Identifier: MIT
 *
 * place.h - the place that a RESP connection has selected.
 *
 * A connection names a place by its number, and uses the RESP state of the table that lies there
 * (struct sw_resp). It changes to another table between two commands, when its earlier commands
 * have their replies: after SELECT, and after the loop has adopted a view in which another table
 * lies in the place. So its replies keep their order, and each command has one table.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_PLACE_H
#define SHERWOOD_SERVER_RESP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/resp/resp.h"

/* Returns whether there is a place with this number. */
bool sw_place_exists(const struct sw_conn *conn, int64_t number);
/* Returns the error line of a place that does not exist: `line`, or LOADING if the server may still
 * have to load the table of this place. */
const char *sw_place_absence(const struct sw_resp_conn *state, const char *line);
/* Allocates what this loop needs for commands on the table in a place. Returns 0, also if there is
 * no table; or -1 if there is no memory. */
int sw_place_open(const struct sw_conn *conn, uint32_t number);
/* Returns an error line if the connection cannot select another place now, or NULL. */
const char *sw_place_refusal(const struct sw_resp_conn *state);
/* Returns whether SELECT with this argument would leave the connection's place for another one. */
bool sw_place_is_left(const struct sw_resp_conn *state, const struct sw_resp_argument *word);
/* Selects a place. It takes effect before the next command. */
void sw_place_select(struct sw_resp_conn *state, uint32_t number);

/* Returns true if a SCAN must not continue at this cursor: the connection's last SCAN was of this
 * place, and another table lies there now. Notes the place and the table. */
bool sw_place_cuts_scan(struct sw_resp_conn *state, uint64_t cursor);

#endif
