/* SPDX-License-Identifier: MIT
 *
 * table.h - the facts of a table that is opened by its name. Threads: the one that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_TABLE_H
#define SHERWOOD_CLIENT_TABLE_H

#include "client/handle.h"

/* Requests the facts of the table with this name. `call`: the name of the call, for errors. Returns
 * a status. */
int sw_client_table_greet(struct sherwood *root, const char *call, const char *name,
                          struct sw_client_table *table);
/* After the refusal of a call because the table in its place has changed, requests the facts of the
 * new one. Returns SHERWOOD_OK if it has the same shape; otherwise the status of the call. */
int sw_client_table_again(struct sherwood *client, const struct sw_client_call *call);

#endif
