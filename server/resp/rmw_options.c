/* SPDX-License-Identifier: MIT
 *
 * rmw_options.c - reads the options of SET and COPY.
 */
#include "server/resp/rmw.h"

#include "server/config/table_options.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/resp.h"
#include "server/tables/tables.h"

bool sw_rmw_compares(const struct sw_resp_command *arguments)
{
    for (uint32_t i = 3; i + 1 < arguments->count; i++) {
        if (sw_argument_is(&arguments->arguments[i], "IFEQ")) {
            return true;
        }
    }
    return false;
}

/* Returns the place that the word names; NULL: there is none. */
static const struct sw_place *find(const struct sw_conn *conn, const struct sw_resp_argument *word)
{
    const struct sw_tables_view *view = conn->net->tables.view;
    return view == NULL ? NULL : sw_tables_find(view, word->text, word->size);
}

/* Returns the error of redis for a word that names no place. In a server of several tables a name
 * is one, as for SELECT. */
static const char *refuse_place(const struct sw_tables_view *view,
                                const struct sw_resp_argument *word)
{
    int64_t database = 0;
    if (view != NULL && view->catalog.count > 1 &&
        sw_place_name_is_allowed((const char *)word->text, word->size)) {
        return SW_NO_SUCH_TABLE;
    }
    if (!sw_argument_integer(word, &database)) {
        return "ERR value is not an integer or out of range";
    }
    if (database < INT32_MIN || database > INT32_MAX) {
        return "ERR value is out of range, value must between -2147483648 and 2147483647";
    }
    return "ERR DB index is out of range";
}

/* Checks the word behind DB. */
static const char *check_place(struct sw_conn *conn, const struct sw_resp_argument *word)
{
    const struct sw_tables_view *view = conn->net->tables.view;
    const struct sw_place *place = find(conn, word);
    const struct sw_served *from =
        view == NULL ? NULL : sw_tables_at(view, sw_resp_of(conn)->place);
    if (place == NULL) {
        int64_t database = -1; /* place 0 needs no view, in tests */
        return view == NULL && sw_argument_integer(word, &database) && database == 0
                   ? NULL
                   : refuse_place(view, word);
    }
    return from == NULL || sw_config_is_of_one_shape(from->config,
                                                     sw_tables_at(view, place->number)->config)
               ? NULL
               : "ERR COPY needs tables of one shape (TABLE INFO): read the value, and SET it";
}

/* Returns the place behind the last DB; NULL: the connection's. */
static const struct sw_place *place_of(const struct sw_conn *conn,
                                       const struct sw_resp_command *arguments)
{
    const struct sw_place *place = NULL;
    for (uint32_t i = 3; i + 1 < arguments->count; i++) {
        if (sw_argument_is(&arguments->arguments[i], "DB")) {
            place = find(conn, &arguments->arguments[++i]);
        }
    }
    return place;
}

const char *sw_rmw_copy_options(struct sw_conn *conn, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    for (uint32_t i = 3; i < arguments->count; i++) {
        if (sw_argument_is(&words[i], "REPLACE")) {
            continue;
        }
        if (!sw_argument_is(&words[i], "DB") || i + 1 == arguments->count) {
            return "ERR syntax error";
        }
        const char *error = check_place(conn, &words[++i]);
        if (error != NULL) {
            return error;
        }
    }
    return NULL;
}

struct sw_resp *sw_rmw_copy_target(struct sw_conn *conn, const struct sw_resp_command *arguments)
{
    const struct sw_tables_handle *tables = &conn->net->tables;
    const struct sw_place *place = place_of(conn, arguments);
    return place == NULL ? sw_resp_of(conn)->resp
                         : sw_tables_at(tables->view, place->number)->loops[tables->loop].resp;
}

bool sw_rmw_copy_replaces(const struct sw_resp_command *arguments)
{
    bool has = false;
    for (uint32_t i = 3; i < arguments->count; i++) {
        has |= sw_argument_is(&arguments->arguments[i], "REPLACE");
        i += sw_argument_is(&arguments->arguments[i], "DB");
    }
    return has;
}
