/* SPDX-License-Identifier: MIT
 *
 * permit_tables.c - the tables that a command reads, changes or names, and the rights to them.
 */
#include <string.h>

#include "server/net/table_rights.h"
#include "server/resp/acl_catalog.h"
#include "server/resp/permit.h"
#include "server/resp/resp.h"

static bool lacks_selected(const struct sw_net *net, const struct sw_user *user, uint32_t number,
                           char name[SW_USER_TABLE_BYTES])
{
    const struct sw_tables_view *view = net->tables.view;
    const struct sw_place *place = view == NULL ? NULL : sw_places_numbered(&view->catalog, number);
    if (place != NULL) {
        return sw_net_lacks_place(user, place, name);
    }
    /* a command on a dropped table is refused for that */
    if (number != 0 || sw_net_may_use(net, user, number)) {
        return false;
    }
    strcpy(name, SW_PLACE_DEFAULT);
    return true;
}

bool sw_permit_lacks_table(const struct sw_conn *conn, const struct sw_user *user,
                           const struct sw_command *command, uint32_t row,
                           const struct sw_resp_command *arguments, char name[SW_USER_TABLE_BYTES])
{
    const struct sw_tables_view *view = conn->net->tables.view;
    const struct sw_resp_argument *words = arguments->arguments;
    const uint32_t count = arguments->count;
    const enum sw_scope scope = sw_acl_catalog()->commands[row].scope;
    if (user->all_tables || scope == SW_SCOPE_NONE || scope == SW_SCOPE_ALL) {
        return false;
    }
    if (scope == SW_SCOPE_SELECTED) {
        const uint32_t place = sw_resp_of_const(conn)->place;
        return lacks_selected(conn->net, user, place, name) ||
               (command->id == SW_COMMAND_COPY && count > 3 &&
                sw_net_lacks_behind(user, view, words + 3, count - 3, "DB", name));
    }
    if (command->id == SW_COMMAND_TABLE) {
        return sw_net_lacks_change(user, view, words + 1, count - 1, name);
    }
    bool any = false;
    for (uint32_t i = 1; i < count && !any; i++) { /* SELECT, SWAPDB */
        any = sw_net_lacks_named(user, view, &words[i], &words[i], name);
    }
    return any;
}
