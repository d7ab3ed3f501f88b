/* SPDX-License-Identifier: MIT
 *
 * permit_tables.c - the tables that a command reads, changes or names, and the rights to them.
 */
#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/resp/acl_catalog.h"
#include "server/resp/permit.h"
#include "server/resp/resp.h"
#include "server/tables/tables.h"

struct check {
    const struct sw_net *net;
    const struct sw_user *user;
    char *name; /* receives the name of a table that the user lacks */
};

static bool lacks(const struct check *check, const struct sw_resp_argument *word)
{
    const int shown =
        (int)(word->size < SW_USER_TABLE_BYTES ? word->size : SW_USER_TABLE_BYTES - 1);
    snprintf(check->name, SW_USER_TABLE_BYTES, "%.*s", shown, (const char *)word->text);
    return true;
}

static bool lacks_place(const struct check *check, const struct sw_place *place)
{
    if (sw_net_may_use(check->net, check->user, place->number)) {
        return false;
    }
    memcpy(check->name, place->name, sizeof(place->name));
    return true;
}

/* A user without the right learns not whether the table exists. */
static bool lacks_named(const struct check *check, const struct sw_resp_argument *word,
                        const struct sw_resp_argument *number)
{
    const struct sw_tables_view *view = check->net->tables.view;
    const struct sw_place *place =
        view == NULL ? NULL : sw_tables_find(view, word->text, word->size);
    char name[SW_USER_TABLE_BYTES] = "";
    uint64_t value = SW_USER_NO_NUMBER;
    if (place != NULL) {
        return lacks_place(check, place);
    }
    if (word->size >= sizeof(name)) {
        return !check->user->all_tables && lacks(check, word);
    }
    memcpy(name, word->text, word->size);
    if (!sw_decimal_parse(number->text, number->size, SW_USER_NO_NUMBER - 1, &value)) {
        value = SW_USER_NO_NUMBER;
    }
    return !sw_user_may_use(check->user, (uint32_t)value, name) && lacks(check, word);
}

static bool lacks_selected(const struct check *check, uint32_t number)
{
    const struct sw_tables_view *view = check->net->tables.view;
    const struct sw_place *place = view == NULL ? NULL : sw_places_numbered(&view->catalog, number);
    if (place != NULL) {
        return lacks_place(check, place);
    }
    /* a command on a dropped table is refused for that */
    if (number != 0 || sw_net_may_use(check->net, check->user, number)) {
        return false;
    }
    strcpy(check->name, SW_PLACE_DEFAULT);
    return true;
}

/* Does the user lack a table that an argument behind this word names? */
static bool lacks_behind(const struct check *check, const struct sw_resp_command *arguments,
                         const char *word)
{
    const struct sw_resp_argument *words = arguments->arguments;
    bool any = false;
    for (uint32_t i = 3; i + 1 < arguments->count && !any; i++) {
        any = sw_argument_is(&words[i], word) && lacks_named(check, &words[i + 1], &words[i + 1]);
    }
    return any;
}

/* The argument that has the number of the table: the one behind the last NUMBER, or its name. */
static const struct sw_resp_argument *number_of(const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments, *number = &words[2];
    for (uint32_t i = 3; i + 1 < arguments->count; i++) {
        number = sw_argument_is(&words[i], "NUMBER") ? &words[i + 1] : number;
    }
    return number;
}

/* TABLE: the first argument behind the subcommand is a table; SWAP and LIKE name another one. */
static bool lacks_of_table(const struct check *check, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    if (arguments->count < 3) {
        return false;
    }
    if (sw_argument_is(&words[1], "SWAP") && arguments->count > 3 &&
        lacks_named(check, &words[3], &words[3])) {
        return true;
    }
    return lacks_named(check, &words[2], number_of(arguments)) ||
           lacks_behind(check, arguments, "LIKE");
}

bool sw_permit_lacks_table(const struct sw_conn *conn, const struct sw_user *user,
                           const struct sw_command *command, uint32_t row,
                           const struct sw_resp_command *arguments, char name[SW_USER_TABLE_BYTES])
{
    const struct check check = {conn->net, user, name};
    const enum sw_scope scope = sw_acl_catalog()->commands[row].scope;
    if (user->all_tables || scope == SW_SCOPE_NONE || scope == SW_SCOPE_ALL) {
        return false;
    }
    if (scope == SW_SCOPE_SELECTED) {
        return lacks_selected(&check, sw_resp_of((struct sw_conn *)(uintptr_t)conn)->place) ||
               (command->id == SW_COMMAND_COPY && lacks_behind(&check, arguments, "DB"));
    }
    if (command->id == SW_COMMAND_TABLE) {
        return lacks_of_table(&check, arguments);
    }
    bool any = false;
    for (uint32_t i = 1; i < arguments->count && !any; i++) { /* SELECT, SWAPDB */
        any = lacks_named(&check, &arguments->arguments[i], &arguments->arguments[i]);
    }
    return any;
}
