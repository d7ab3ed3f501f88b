/* SPDX-License-Identifier: MIT
 *
 * sherwood-tables.h - the tables of a server that has several.
 *
 *     struct sherwood *users;
 *     if (sherwood_table_open(client, "users", &users) != SHERWOOD_OK) ...
 *     if (sherwood_get(users, keys, count, values, found) != SHERWOOD_OK) ...
 *     sherwood_close(users);
 *
 * A table lies in a place, which has a number and a name. The handle of a table is a handle for
 * every call of libsherwood, and sherwood_server() returns the facts of its table. It uses the
 * connections of the handle that opened it: their limits, regions and ring are common, and so are
 * sherwood_error(), sherwood_wait_any() and the lists of requests. Both handles belong to one
 * thread at a time.
 *
 * A handle names its place by the number. If another table of the same shape is swapped into the
 * place, later requests are for that table. A scan does not go on in another table: it returns
 * SHERWOOD_E_TABLE, and begins again with the cursor 0. A request whose table was dropped returns
 * SHERWOOD_E_TABLE. If a table with other widths got the number, the request returns
 * SHERWOOD_E_TABLE or SHERWOOD_E_REQUEST. The server does nothing then: close the handle of the
 * table and open it again.
 */
#ifndef SHERWOOD_TABLES_H
#define SHERWOOD_TABLES_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the table with this name, or with this number in decimal, on the connections of `client`,
 * which may be the handle of another table. Sends one request and allocates. The caller closes
 * *table with sherwood_close, before it closes the handle that has the connections. On failure
 * *table is NULL: SHERWOOD_E_TABLE if there is no such table, SHERWOOD_E_REQUEST if the server is
 * older than tables. Not for handles of clusters. */
SHERWOOD_MUST_CHECK int sherwood_table_open(struct sherwood *client, const char *name,
                                            struct sherwood **table);

/* Returns the name of the handle's table when it was opened, which the handle owns; "" for a handle
 * that sherwood_connect made. */
const char *sherwood_table_name(const struct sherwood *table);

#ifdef __cplusplus
}
#endif

#endif
