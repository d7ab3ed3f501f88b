/* SPDX-License-Identifier: MIT
 *
 * admin_clients.c - CLIENT INFO, LIST, KILL, UNBLOCK and UNPAUSE. Connections come from the client
 * list, which has those of both protocols.
 */
#include "server/resp/admin_clients.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/operation.h"
#include "server/net/client_list.h"
#include "server/net/conn.h"

/* Size of the longest line about a client: six texts of at most 64 bytes, and the rest. */
#define CLIENT_LINE_BYTES 1024
/* Most ids in one command: every one is compared with every connection. */
#define IDS_MAX 128

/* The connections that a command selects. 0, NULL and -1: any. */
struct filter {
    uint64_t ids[IDS_MAX];
    uint32_t id_count;
    bool no_type; /* a type that no connection of this server has */
    const struct sw_resp_argument *user, *peer, *own;
    int64_t age_min; /* seconds */
    bool skips_own;  /* excludes the connection of the command */
};

/* --- selecting -------------------------------------------------------------------------------- */

static uint64_t own_id(const struct sw_call *call)
{
    return call->session->conn->peer.id;
}

static uint64_t age_of(const struct sw_clients_entry *entry)
{
    uint64_t now_ms = sw_session_now_ms();
    return now_ms > entry->open_at_ms ? (now_ms - entry->open_at_ms) / 1000 : 0;
}

static bool is_text(const struct sw_resp_argument *argument, const char *text)
{
    return argument == NULL ||
           (argument->size == strlen(text) && memcmp(argument->text, text, argument->size) == 0);
}

/* A command that selects connections. */
struct search {
    const struct sw_call *call;
    const struct filter *filter;
    bool found_own; /* KILL: the connection of the command is selected */
};

static bool is_meant(void *context, const struct sw_clients_entry *entry)
{
    const struct search *search = context;
    const struct filter *filter = search->filter;
    bool has_id = filter->id_count == 0;
    for (uint32_t i = 0; i < filter->id_count && !has_id; i++) {
        has_id = filter->ids[i] == entry->id;
    }
    return has_id && !filter->no_type && is_text(filter->peer, entry->peer) &&
           is_text(filter->own, entry->own) && is_text(filter->user, entry->user) &&
           (filter->age_min == 0 || (int64_t)age_of(entry) >= filter->age_min) &&
           !(filter->skips_own && entry->id == own_id(search->call));
}

/* --- LIST and INFO ---------------------------------------------------------------------------- */

static void put_command(struct sw_text *text, uint64_t request)
{
    char name[SW_COMMAND_NAME_BYTES + 8] = "NULL";
    if ((request & SW_CLIENTS_FRAME) != 0) {
        snprintf(name, sizeof(name), "frame|%s", sw_operation_name((uint32_t)request));
    } else if (request != 0) {
        snprintf(name, sizeof(name), "%s", sw_command_at((enum sw_command_id)(request - 1))->name);
    }
    for (char *at = name; request != 0 && *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    sw_text_printf(text, " cmd=%s", name);
}

/* Writes a connection as a line of redis' CLIENT LIST. Fields without a meaning here are 0.
 * `doing`: the command that the connection runs now; NULL: it is not the connection of the command.
 */
static void put_client(struct sw_text *text, const struct sw_clients_entry *entry,
                       const char *doing)
{
    const struct sw_clients_stats *stats = &entry->stats;
    uint64_t now_ms = sw_session_now_ms();
    uint64_t idle_ms = now_ms > stats->active_ms ? now_ms - stats->active_ms : 0;
    bool is_unix = strncmp(entry->peer, "unix:", 5) == 0;
    bool is_blocked = stats->is_paused != 0 || entry->waits != SW_CLIENTS_WAITS_NOT;
    char flags[5] = "";
    snprintf(flags, sizeof(flags), "%s%s%s%s", stats->is_monitor != 0 ? "O" : "",
             stats->queued >= 0 ? "x" : "", is_blocked ? "b" : "", is_unix ? "U" : "");
    sw_text_printf(text, "id=%" PRIu64 " addr=%s laddr=%s name=%s age=%" PRIu64 " idle=%" PRIu64,
                   entry->id, entry->peer, entry->own, entry->name, age_of(entry),
                   doing != NULL ? 0 : idle_ms / 1000);
    sw_text_printf(text,
                   " flags=%s db=%" PRIu32 " sub=0 psub=0 ssub=0 multi=%" PRId64 " qbuf=%" PRIu64,
                   flags[0] != '\0' ? flags : "N", __atomic_load_n(&entry->place, __ATOMIC_RELAXED),
                   stats->queued, stats->input_bytes);
    sw_text_printf(text,
                   " qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=%" PRIu64
                   " tot-mem=%" PRIu64 " events=r",
                   stats->output_bytes, stats->memory_bytes);
    if (doing != NULL) {
        sw_text_printf(text, " cmd=%s", doing);
    } else {
        put_command(text, stats->last_request);
    }
    sw_text_printf(text, " user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s\n", entry->user,
                   entry->resp_version, entry->library_name, entry->library_version);
}

void sw_client_describe(struct sw_text *text, const struct sw_conn *conn, const char *command)
{
    struct sw_clients_entry entry = {.id = 0};
    sw_clients_copy_entry(&conn->shown, &entry);
    entry.stats = (struct sw_clients_stats){.queued = conn->queued_commands};
    put_client(text, &entry, command);
}

/* Replies with a line for each selected connection. */
static void reply_list(struct sw_call *call, const struct filter *filter, const char *doing)
{
    struct sw_text lines;
    size_t count;
    struct search search = {call, filter, false};
    struct sw_clients_entry *entries =
        sw_clients_copy(call->admin->clients, is_meant, &search, &count);
    if (entries == NULL) {
        sw_text_error(call->reply, "ERR out of memory");
        return;
    }
    sw_text_init(&lines, count * CLIENT_LINE_BYTES);
    for (size_t i = 0; i < count; i++) {
        put_client(&lines, &entries[i], entries[i].id == own_id(call) ? doing : NULL);
    }
    sw_text_verbatim(call->reply, lines.size > 0 ? lines.data : "", lines.size,
                     call->session->resp3);
    call->reply->failed = call->reply->failed || lines.failed;
    sw_text_fini(&lines);
    free(entries);
}

void sw_client_info(struct sw_call *call)
{
    const struct filter filter = {.ids = {own_id(call)}, .id_count = 1};
    reply_list(call, &filter, "client|info");
}

/* --- filters ---------------------------------------------------------------------------------- */

/* Every connection here is a normal one. Replies with an error if the type does not exist. */
static bool take_type(struct sw_call *call, const struct sw_resp_argument *type,
                      struct filter *filter)
{
    static const char *const types[] = {"NORMAL", "MASTER", "REPLICA", "SLAVE", "PUBSUB"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (sw_argument_is(type, types[i])) {
            filter->no_type = i != 0;
            return true;
        }
    }
    sw_call_error(call, "ERR Unknown client type '%.*s'", SW_CALL_SHOWN(type));
    return false;
}

static bool take_id(struct sw_call *call, const struct sw_resp_argument *argument, int64_t least,
                    const char *error, struct filter *filter)
{
    int64_t id = 0;
    if (!sw_argument_integer(argument, &id) || id < least) {
        sw_text_error(call->reply, error);
        return false;
    }
    filter->ids[filter->id_count++] = (uint64_t)id;
    return true;
}

void sw_client_list(struct sw_call *call)
{
    struct filter filter = {.id_count = 0};
    bool by_type = call->count == 4 && sw_argument_is(&call->arguments[2], "TYPE");
    bool by_id = !by_type && call->count > 3 && sw_argument_is(&call->arguments[2], "ID");
    if (!by_type && !by_id && call->count != 2) {
        sw_call_syntax_error(call);
        return;
    }
    if (by_id && call->count - 3 > IDS_MAX) {
        sw_call_error(call, "ERR at most %d client IDs in one command", IDS_MAX);
        return;
    }
    if (by_type && !take_type(call, &call->arguments[3], &filter)) {
        return;
    }
    for (uint32_t i = 3; by_id && i < call->count; i++) {
        if (!take_id(call, &call->arguments[i], INT64_MIN, "ERR Invalid client ID", &filter)) {
            return;
        }
    }
    reply_list(call, &filter, "client|list");
}

/* --- KILL ------------------------------------------------------------------------------------- */

static bool take_age(struct sw_call *call, const struct sw_resp_argument *value,
                     struct filter *filter)
{
    if (!sw_argument_integer(value, &filter->age_min)) {
        sw_text_error(call->reply, "ERR maxage is not an integer or out of range");
        return false;
    }
    if (filter->age_min <= 0) {
        sw_text_error(call->reply, "ERR maxage should be greater than 0");
        return false;
    }
    return true;
}

static bool take_skipme(struct sw_call *call, const struct sw_resp_argument *value,
                        struct filter *filter)
{
    filter->skips_own = sw_argument_is(value, "YES");
    if (!filter->skips_own && !sw_argument_is(value, "NO")) {
        sw_call_syntax_error(call);
        return false;
    }
    return true;
}

/* Replies with an error, and returns false, if there is no such user. */
static bool user_exists(struct sw_call *call, const struct sw_resp_argument *name)
{
    struct sw_user user;
    if (sw_users_find(call->admin->users, (const char *)name->text, name->size, &user)) {
        return true;
    }
    sw_call_error(call, "ERR No such user '%.*s'", SW_CALL_SHOWN(name));
    return false;
}

/* Reads the new form: pairs of a filter and its value. Replies with an error if it is wrong. */
static bool take_filters(struct sw_call *call, struct filter *filter)
{
    for (uint32_t i = 2; i < call->count; i += 2) {
        const struct sw_resp_argument *name = &call->arguments[i], *value = name + 1;
        bool fine = true;
        if (i + 1 == call->count) {
            sw_call_syntax_error(call);
            return false;
        }
        if (sw_argument_is(name, "ID")) {
            filter->id_count = 0;
            fine = take_id(call, value, 1, "ERR client-id should be greater than 0", filter);
        } else if (sw_argument_is(name, "TYPE")) {
            fine = take_type(call, value, filter);
        } else if (sw_argument_is(name, "ADDR")) {
            filter->peer = value;
        } else if (sw_argument_is(name, "LADDR")) {
            filter->own = value;
        } else if (sw_argument_is(name, "USER")) {
            filter->user = value;
            fine = user_exists(call, value);
        } else if (sw_argument_is(name, "SKIPME")) {
            fine = take_skipme(call, value, filter);
        } else if (sw_argument_is(name, "MAXAGE")) {
            fine = take_age(call, value, filter);
        } else {
            sw_call_syntax_error(call);
            fine = false;
        }
        if (!fine) {
            return false;
        }
    }
    return true;
}

/* Leaves out the connection of the command: it closes after its reply instead. */
static bool is_other(void *context, const struct sw_clients_entry *entry)
{
    struct search *search = context;
    const bool meant = is_meant(search, entry);
    const bool is_own = meant && entry->id == own_id(search->call);
    search->found_own |= is_own;
    return meant && !is_own;
}

void sw_client_kill(struct sw_call *call)
{
    struct filter filter = {.skips_own = call->count > 3};
    if (call->count == 3) { /* the old form */
        filter.peer = &call->arguments[2];
    } else if (!take_filters(call, &filter)) {
        return;
    }
    struct search search = {call, &filter, false};
    size_t killed = sw_clients_kill(call->admin->clients, is_other, &search);
    killed += search.found_own;
    call->session->close_after_reply |= search.found_own;
    if (call->count > 3) {
        sw_text_integer(call->reply, (int64_t)killed);
    } else if (killed > 0) {
        sw_call_ok(call);
    } else {
        sw_text_error(call->reply, "ERR No such client");
    }
}

/* --- UNBLOCK and UNPAUSE ---------------------------------------------------------------------- */

static void wrong_words(struct sw_call *call)
{
    sw_call_error(
        call, "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try CLIENT HELP.",
        SW_CALL_SHOWN(&call->arguments[1]));
}

void sw_client_unblock(struct sw_call *call)
{
    bool with_error = call->count == 4 && sw_argument_is(&call->arguments[3], "ERROR");
    int64_t id = 0;
    if (call->count > 4) {
        wrong_words(call);
    } else if (call->count == 4 && !with_error && !sw_argument_is(&call->arguments[3], "TIMEOUT")) {
        sw_text_error(call->reply, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    } else if (!sw_argument_integer(&call->arguments[2], &id)) {
        sw_text_error(call->reply, "ERR value is not an integer or out of range");
    } else {
        sw_text_integer(call->reply,
                        sw_clients_unblock(call->admin->clients, (uint64_t)id, with_error));
    }
}

/* Only refuses: control_pause.c runs CLIENT PAUSE with three or four arguments. */
void sw_client_pause(struct sw_call *call)
{
    wrong_words(call);
}

void sw_client_unpause(struct sw_call *call)
{
    sw_pause_end(&call->admin->clients->pause);
    sw_call_ok(call);
}
