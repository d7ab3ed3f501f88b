/* SPDX-License-Identifier: MIT
 *
 * table_rights.h - the tables that the words of a command name, and the rights of a user to them.
 *
 * Functions that return true write the name of a table that the user lacks to `name`. A user
 * without the right does not learn whether the table exists. `view` NULL: there is one table (in
 * tests). The functions are pure.
 */
#ifndef SHERWOOD_SERVER_NET_TABLE_RIGHTS_H
#define SHERWOOD_SERVER_NET_TABLE_RIGHTS_H

#include <stdbool.h>

#include "proto/resp.h"
#include "server/tables/tables.h"
#include "server/users/user.h"

/* Does the user lack this place? */
bool sw_net_lacks_place(const struct sw_user *user, const struct sw_place *place,
                        char name[SW_USER_TABLE_BYTES]);
/* Does the user lack the table that `word` names? `number`: has the number of the place, if none
 * has the name. */
bool sw_net_lacks_named(const struct sw_user *user, const struct sw_tables_view *view,
                        const struct sw_resp_argument *word, const struct sw_resp_argument *number,
                        char name[SW_USER_TABLE_BYTES]);
/* Does the user lack a table that a word behind this keyword names? */
bool sw_net_lacks_behind(const struct sw_user *user, const struct sw_tables_view *view,
                         const struct sw_resp_argument *words, uint32_t count, const char *keyword,
                         char name[SW_USER_TABLE_BYTES]);
/* Does the user lack a table of a TABLE command? The first word is the subcommand, the second one a
 * table; SWAP and LIKE name another one. */
bool sw_net_lacks_change(const struct sw_user *user, const struct sw_tables_view *view,
                         const struct sw_resp_argument *words, uint32_t count,
                         char name[SW_USER_TABLE_BYTES]);

#endif
