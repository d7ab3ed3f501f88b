/* SPDX-License-Identifier: MIT
 *
 * admin_connection.c - CLIENT: the settings of a connection.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "server/resp/admin_call.h"
#include "server/resp/clients.h"

/* Size of the longest line about a client: four texts of at most 64 bytes, and the field names. */
#define CLIENT_LINE_BYTES 512
/* Most ids of CLIENT LIST ID. */
#define IDS_MAX 128

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

void sw_client_store_name(struct sw_call *call, char *name, const struct sw_resp_argument *argument)
{
    sw_clients_lock(call->admin->clients);
    if (argument->size > 0) {
        memcpy(name, argument->text, argument->size);
    }
    name[argument->size] = '\0';
    sw_clients_unlock(call->admin->clients);
}

/* Replies with an error and returns false if the argument cannot be a client's name. */
bool sw_client_name_is_allowed(struct sw_call *call, const struct sw_resp_argument *argument)
{
    if (!name_allowed(argument)) {
        sw_text_error(call->reply, name_error);
        return false;
    }
    if (argument->size >= SW_SESSION_NAME_BYTES) {
        sw_call_error(call, "ERR Client names cannot be longer than %d bytes.",
                      SW_SESSION_NAME_BYTES - 1);
        return false;
    }
    return true;
}

static void client_setname(struct sw_call *call)
{
    if (sw_client_name_is_allowed(call, &call->arguments[2])) {
        sw_client_store_name(call, call->session->name, &call->arguments[2]);
        sw_call_ok(call);
    }
}

static void client_getname(struct sw_call *call)
{
    if (call->session->name[0] == '\0') {
        sw_text_null(call->reply, call->session->resp3);
    } else {
        sw_text_bulk_string(call->reply, call->session->name);
    }
}

static void client_setinfo(struct sw_call *call)
{
    const struct sw_resp_argument *option = &call->arguments[2], *value = &call->arguments[3];
    char *field = NULL;
    const char *what = "lib-name";
    if (sw_argument_is(option, "LIB-NAME")) {
        field = call->session->library_name;
    } else if (sw_argument_is(option, "LIB-VER")) {
        field = call->session->library_version;
        what = "lib-ver";
    } else {
        sw_call_error(call, "ERR Unrecognized option '%.*s'", SW_CALL_SHOWN(option));
        return;
    }
    if (!name_allowed(value)) {
        sw_call_error(call, "ERR %s cannot contain spaces, newlines or special characters.", what);
    } else if (value->size >= SW_SESSION_NAME_BYTES) {
        sw_call_error(call, "ERR %s cannot be longer than %d bytes.", what,
                      SW_SESSION_NAME_BYTES - 1);
    } else {
        sw_client_store_name(call, field, value);
        sw_call_ok(call);
    }
}

static void client_id(struct sw_call *call)
{
    sw_text_unsigned(call->reply, call->session->id);
}

/* Writes a connection as a line of redis' CLIENT LIST, with the fields that have a meaning here.
 * The last command of another connection, and its time, are not recorded. */
static void put_client(struct sw_text *text, const struct sw_session *session, const char *command,
                       bool is_own)
{
    uint64_t now_ms = sw_session_now_ms();
    uint64_t age = now_ms > session->connected_at_ms ? now_ms - session->connected_at_ms : 0;
    sw_text_printf(text, "id=%" PRIu64 " addr=%s name=%s age=%" PRIu64, session->id,
                   session->address, session->name, age / 1000);
    sw_text_printf(text, "%s flags=N db=0 sub=0 psub=0 ssub=0 ", is_own ? " idle=0" : "");
    if (is_own) {
        sw_text_printf(text, "multi=-1 events=r cmd=%s ", command);
    }
    sw_text_printf(text, "user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s\n", session->user,
                   session->resp3 ? 3 : 2, session->library_name, session->library_version);
}

static void reply_text(struct sw_call *call, struct sw_text *text)
{
    sw_text_verbatim(call->reply, text->size > 0 ? text->data : "", text->size,
                     call->session->resp3);
    call->reply->failed = call->reply->failed || text->failed;
    sw_text_fini(text);
}

void sw_client_describe(struct sw_text *text, const struct sw_session *session, const char *command)
{
    put_client(text, session, command, true);
}

static void client_info(struct sw_call *call)
{
    struct sw_text line;
    sw_text_init(&line, CLIENT_LINE_BYTES);
    put_client(&line, call->session, "client|info", true);
    reply_text(call, &line);
}

/* Does CLIENT LIST TYPE name the type of the connections of this server? Replies with an error if
 * the type does not exist. */
static bool type_is_known(struct sw_call *call, bool *matches)
{
    static const char *const types[] = {"NORMAL", "MASTER", "REPLICA", "SLAVE", "PUBSUB"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (sw_argument_is(&call->arguments[3], types[i])) {
            *matches = i == 0;
            return true;
        }
    }
    sw_call_error(call, "ERR Unknown client type '%.*s'", SW_CALL_SHOWN(&call->arguments[3]));
    return false;
}

/* Are all arguments from the fourth on valid ids of connections? */
static bool ids_are_valid(struct sw_call *call)
{
    for (uint32_t i = 3; i < call->count; i++) {
        int64_t id = 0;
        if (!sw_argument_integer(&call->arguments[i], &id) || id < 1) {
            sw_text_error(call->reply, "ERR Invalid client ID");
            return false;
        }
    }
    return true;
}

static bool is_among_ids(const struct sw_call *call, uint64_t wanted)
{
    for (uint32_t i = 3; i < call->count; i++) {
        int64_t id = 0;
        if (sw_argument_integer(&call->arguments[i], &id) && (uint64_t)id == wanted) {
            return true;
        }
    }
    return false;
}

/* Writes a line for each session, or for each whose id is in the arguments. */
static void reply_list(struct sw_call *call, bool by_id)
{
    struct sw_text lines;
    size_t count = 0;
    struct sw_session *sessions = sw_clients_copy(call->admin->clients, &count);
    if (sessions == NULL) {
        sw_text_error(call->reply, "ERR out of memory");
        return;
    }
    sw_text_init(&lines, count * CLIENT_LINE_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (!by_id || is_among_ids(call, sessions[i].id)) {
            put_client(&lines, &sessions[i], "client|list", sessions[i].id == call->session->id);
        }
    }
    free(sessions);
    reply_text(call, &lines);
}

/* Every id is compared with every connection, so their number is bounded. */
static void client_list(struct sw_call *call)
{
    bool by_type = call->count == 4 && sw_argument_is(&call->arguments[2], "TYPE");
    bool by_id = !by_type && call->count > 3 && sw_argument_is(&call->arguments[2], "ID");
    bool matches = true;
    if (!by_type && !by_id && call->count != 2) {
        sw_call_syntax_error(call);
    } else if (by_id && call->count - 3 > IDS_MAX) {
        sw_call_error(call, "ERR at most %d client IDs in one command", IDS_MAX);
    } else if ((by_type && !type_is_known(call, &matches)) || (by_id && !ids_are_valid(call))) {
        return;
    } else if (matches) {
        reply_list(call, by_id);
    } else {
        sw_text_verbatim(call->reply, "", 0, call->session->resp3);
    }
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
        {"GETNAME", 2, client_getname, "", "Return the name of this connection."},
        {"ID", 2, client_id, "", "Return the ID of this connection."},
        {"INFO", 2, client_info, "", "Return a line about this connection."},
        {"LIST", -2, client_list, "[TYPE type | ID id ...]",
         "Return a line about each connection that speaks RESP."},
        {"NO-EVICT", 3, client_on_off, "ON|OFF", "Accepted: connections are not evicted."},
        {"NO-TOUCH", 3, client_on_off, "ON|OFF", "Accepted: keys have no access time."},
        {"REPLY", 3, client_reply, "ON|OFF|SKIP", "Choose whether replies are sent."},
        {"SETINFO", 4, client_setinfo, "LIB-NAME|LIB-VER value", "Set the client library's name."},
        {"SETNAME", 3, client_setname, "name", "Set the name of this connection."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}
