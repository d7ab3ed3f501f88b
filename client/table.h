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
/* Requests the facts of the table of the running call once more, because another one may lie in its
 * place. Returns SHERWOOD_OK if it has the same shape; SHERWOOD_E_TABLE if it has another one; or
 * `status` if there is no reply. */
int sw_client_table_renew(struct sherwood *client, int status);

#endif
