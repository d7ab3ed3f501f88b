/* SPDX-License-Identifier: MIT
 *
 * admin_connection.c - CLIENT: the settings of a connection.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/admin_clients.h"

static const char name_error[] =
    "ERR Client names cannot contain spaces, newlines or special characters.";

/* Is the argument allowed as a name: printable, without spaces, and short enough? */
static bool name_allowed(const struct sw_resp_argument *argument)
{
    for (uint32_t i = 0; i < argument->size; i++) {
        if (argument->text[i] < '!' || argument->text[i] > '~') {
            return false;
        }
    }
    return true;
}

void sw_client_set_name(struct sw_call *call, const struct sw_resp_argument *name)
{
    struct sw_conn *conn = call->session->conn;
    sw_clients_set_text(conn, conn->shown.name, name->text, name->size);
}

/* Replies with an error and returns false if the argument cannot be a client's name. */
bool sw_client_name_is_allowed(struct sw_call *call, const struct sw_resp_argument *argument)
{
    if (!name_allowed(argument)) {
        sw_text_error(call->reply, name_error);
        return false;
    }
    if (argument->size >= SW_CLIENTS_NAME_BYTES) {
        sw_call_error(call, "ERR Client names cannot be longer than %d bytes.",
                      SW_CLIENTS_NAME_BYTES - 1);
        return false;
    }
    return true;
}

static void client_setname(struct sw_call *call)
{
    if (sw_client_name_is_allowed(call, &call->arguments[2])) {
        sw_client_set_name(call, &call->arguments[2]);
        sw_call_ok(call);
    }
}

static void client_getname(struct sw_call *call)
{
    const char *name = call->session->conn->shown.name;
    if (name[0] == '\0') {
        sw_text_null(call->reply, call->session->resp3);
    } else {
        sw_text_bulk_string(call->reply, name);
    }
}

static void client_setinfo(struct sw_call *call)
{
    const struct sw_resp_argument *option = &call->arguments[2], *value = &call->arguments[3];
    struct sw_conn *conn = call->session->conn;
    char *field = NULL;
    const char *what = "lib-name";
    if (sw_argument_is(option, "LIB-NAME")) {
        field = conn->shown.library_name;
    } else if (sw_argument_is(option, "LIB-VER")) {
        field = conn->shown.library_version;
        what = "lib-ver";
    } else {
        sw_call_error(call, "ERR Unrecognized option '%.*s'", SW_CALL_SHOWN(option));
        return;
    }
    if (!name_allowed(value)) {
        sw_call_error(call, "ERR %s cannot contain spaces, newlines or special characters.", what);
    } else if (value->size >= SW_CLIENTS_NAME_BYTES) {
        sw_call_error(call, "ERR %s cannot be longer than %d bytes.", what,
                      SW_CLIENTS_NAME_BYTES - 1);
    } else {
        sw_clients_set_text(conn, field, value->text, value->size);
        sw_call_ok(call);
    }
}

/* --- tracking of changed keys, which is not supported ----------------------------------------- */

static void client_getredir(struct sw_call *call)
{
    sw_text_integer(call->reply, -1);
}

static void client_caching(struct sw_call *call)
{
    sw_text_error(call->reply, "ERR CLIENT CACHING can be called only when the client is in "
                               "tracking mode with OPTIN or OPTOUT mode enabled");
}

/* Is argument `i` an option of CLIENT TRACKING? Returns how many arguments it has, or 0. */
static uint32_t tracking_option(const struct sw_call *call, uint32_t i)
{
    static const char *const alone[] = {"BCAST", "OPTIN", "OPTOUT", "NOLOOP"};
    const struct sw_resp_argument *word = &call->arguments[i];
    for (size_t at = 0; at < sizeof(alone) / sizeof(alone[0]); at++) {
        if (sw_argument_is(word, alone[at])) {
            return 1;
        }
    }
    bool has_value = sw_argument_is(word, "REDIRECT") || sw_argument_is(word, "PREFIX");
    return has_value && i + 1 < call->count ? 2 : 0;
}

static void client_tracking(struct sw_call *call)
{
    const struct sw_resp_argument *value = &call->arguments[2];
    for (uint32_t i = 3, size; i < call->count; i += size) {
        size = tracking_option(call, i);
        if (size == 0) {
            sw_call_syntax_error(call);
            return;
        }
    }
    if (sw_argument_is(value, "ON")) {
        sw_text_error(
            call->reply,
            "ERR CLIENT TRACKING is not available: this server sends no invalidation messages");
    } else if (sw_argument_is(value, "OFF")) {
        sw_call_ok(call);
    } else {
        sw_call_syntax_error(call);
    }
}

static void client_trackinginfo(struct sw_call *call)
{
    struct sw_text *reply = call->reply;
    sw_text_map(reply, 3, call->session->resp3);
    sw_text_bulk_string(reply, "flags");
    sw_text_append(reply, call->session->resp3 ? "~1\r\n" : "*1\r\n", 4); /* a set of one */
    sw_text_bulk_string(reply, "off");
    sw_text_bulk_string(reply, "redirect");
    sw_text_integer(reply, -1);
    sw_text_bulk_string(reply, "prefixes");
    sw_text_array(reply, 0);
}

/* ---------------------------------------------------------------------------------------------- */

static void client_id(struct sw_call *call)
{
    sw_text_unsigned(call->reply, call->session->conn->peer.id);
}

static void client_on_off(struct sw_call *call)
{
    const struct sw_resp_argument *value = &call->arguments[2];
    if (sw_argument_is(value, "ON") || sw_argument_is(value, "OFF")) {
        sw_call_ok(call);
    } else {
        sw_call_syntax_error(call);
    }
}

static void client_reply(struct sw_call *call)
{
    const struct sw_resp_argument *value = &call->arguments[2];
    if (sw_argument_is(value, "ON")) {
        call->session->reply_mode = SW_REPLY_ON;
        call->reply_anyway = true;
        sw_call_ok(call);
    } else if (sw_argument_is(value, "OFF")) {
        call->session->reply_mode = SW_REPLY_OFF;
    } else if (sw_argument_is(value, "SKIP")) {
        if (call->session->reply_mode != SW_REPLY_OFF) {
            call->session->reply_mode = SW_REPLY_SKIP_NEXT;
        }
    } else {
        sw_call_syntax_error(call);
    }
}

void sw_call_client(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"CACHING", 3, client_caching, "YES|NO",
         "Return an error: this connection tracks no keys."},
        {"GETNAME", 2, client_getname, "", "Return the name of this connection."},
        {"GETREDIR", 2, client_getredir, "",
         "Return -1: this server sends no invalidation messages."},
        {"ID", 2, client_id, "", "Return the ID of this connection."},
        {"INFO", 2, sw_client_info, "", "Return a line about this connection."},
        {"KILL", -3, sw_client_kill, "ip:port | <filter> <value> ...",
         "Close connections: ADDR, LADDR, ID, MAXAGE, SKIPME yes|no, TYPE, USER."},
        {"LIST", -2, sw_client_list, "[TYPE type | ID id ...]",
         "Return a line about each connection, including those of bulk frames."},
        {"NO-EVICT", 3, client_on_off, "ON|OFF",
         "Accepted without effect: connections are never evicted."},
        {"NO-TOUCH", 3, client_on_off, "ON|OFF",
         "Accepted without effect: keys have no access time."},
        {"PAUSE", -3, sw_client_pause, "<milliseconds> [WRITE|ALL]",
         "Pause requests that write, or all requests on keys, by RESP and by frames."},
        {"REPLY", 3, client_reply, "ON|OFF|SKIP", "Choose whether the server sends replies."},
        {"SETINFO", 4, client_setinfo, "LIB-NAME|LIB-VER value", "Set the client library's name."},
        {"SETNAME", 3, client_setname, "name", "Set the name of this connection."},
        {"TRACKING", -3, client_tracking, "ON|OFF [<option> ...]",
         "Only OFF is accepted: this server sends no invalidation messages."},
        {"TRACKINGINFO", 2, client_trackinginfo, "", "Return that tracking is off."},
        {"UNBLOCK", -3, sw_client_unblock, "<id> [TIMEOUT|ERROR]",
         "End the WAIT or WAITAOF of a connection."},
        {"UNPAUSE", 2, sw_client_unpause, "", "End CLIENT PAUSE."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}
