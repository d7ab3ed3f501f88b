/* SPDX-License-Identifier: MIT
 *
 * admin.c - running commands of kind REPORT and SESSION, and the functions of the small ones.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/log/saver.h"
#include "server/resp/admin_call.h"
#include "server/resp/control.h"
#include "server/resp/place.h"
#include "server/resp/resp_memory.h"
#include "table/info.h"

/* Longest text of INFO, with all sections. */
#define INFO_BYTES_MAX (64 * 1024)

void sw_call_ping(struct sw_call *call)
{
    if (call->count > 2) {
        sw_text_error(call->reply, "ERR wrong number of arguments for 'ping' command");
    } else if (call->count == 2) {
        sw_text_bulk(call->reply, call->arguments[1].text, call->arguments[1].size);
    } else {
        sw_text_simple(call->reply, "PONG");
    }
}

void sw_call_quit(struct sw_call *call)
{
    call->session->close_after_reply = true;
    sw_call_ok(call);
}

/* Selects a place, unless the connection cannot leave its own now. */
static void select_place(struct sw_call *call, uint32_t number)
{
    struct sw_resp_conn *state = sw_resp_of(call->session->conn);
    const char *refusal = number == state->place ? NULL : sw_place_refusal(state);
    if (refusal == NULL && sw_place_open(call->session->conn, number) != 0) {
        refusal = SW_NO_PLACE_MEMORY;
    }
    if (refusal != NULL) {
        sw_text_error(call->reply, refusal);
    } else {
        sw_place_select(state, number);
        sw_call_ok(call);
    }
}

/* Selects the place with this name. Returns false if SELECT reads the argument as a number, as
 * redis does: also if no place has the name, and there is one place. */
static bool select_name(struct sw_call *call)
{
    const struct sw_resp_argument *name = &call->arguments[1];
    const struct sw_tables_view *view = call->session->conn->net->tables.view;
    if (view == NULL || !sw_place_name_is_allowed((const char *)name->text, name->size)) {
        return false;
    }
    const struct sw_place *place = sw_tables_find(view, name->text, name->size);
    if (place != NULL) {
        select_place(call, place->number);
    } else if (view->catalog.count > 1) {
        sw_text_error(call->reply,
                      sw_place_absence(sw_resp_of(call->session->conn), SW_NO_SUCH_TABLE));
    }
    return place != NULL || view->catalog.count > 1;
}

void sw_call_select(struct sw_call *call)
{
    const struct sw_resp_conn *state = sw_resp_of(call->session->conn);
    int64_t database = 0;
    if (select_name(call)) {
        return;
    }
    if (!sw_argument_integer(&call->arguments[1], &database)) {
        sw_text_error(call->reply,
                      sw_place_absence(state, "ERR value is not an integer or out of range"));
    } else if (database < INT32_MIN || database > INT32_MAX) {
        sw_text_error(call->reply,
                      "ERR value is out of range, value must between -2147483648 and 2147483647");
    } else if (database != 0 && call->admin->cluster->view != NULL) {
        sw_text_error(call->reply, "ERR SELECT is not allowed in cluster mode");
    } else if (!sw_place_exists(call->session->conn, database)) {
        sw_text_error(call->reply, sw_place_absence(state, "ERR DB index is out of range"));
    } else {
        select_place(call, (uint32_t)database);
    }
}

void sw_call_dbsize(struct sw_call *call)
{
    struct sw_table_stats stats;
    sw_table_stats(call->admin->table, &stats);
    sw_text_unsigned(call->reply, stats.occupied);
}

void sw_call_info(struct sw_call *call)
{
    struct sw_server_stats snapshot;
    struct sw_text text;
    call->admin->snapshot(call->admin->server, &snapshot);
    sw_text_init(&text, INFO_BYTES_MAX);
    sw_info_render(&snapshot, call->arguments + 1, call->count - 1, &text);
    sw_text_verbatim(call->reply, text.data, text.size, call->session->resp3);
    call->reply->failed = call->reply->failed || text.failed;
    sw_text_fini(&text);
}

/* SCHEDULE is for servers in which something else may be in the way of a snapshot. */
void sw_call_bgsave(struct sw_call *call)
{
    struct sw_saver *saver = call->admin->saver;
    if (call->count > 1 && (call->count > 2 || !sw_argument_is(&call->arguments[1], "SCHEDULE"))) {
        sw_call_syntax_error(call);
    } else if (saver == NULL) {
        sw_text_error(call->reply, SW_NO_PERSISTENCE);
    } else if (sw_saver_ask(saver) == 0) {
        sw_text_error(call->reply, SW_SAVE_IN_PROGRESS);
    } else {
        sw_text_simple(call->reply, "Background saving started");
    }
}

/* Starts a snapshot in place of a rewritten log. It makes older log files unnecessary. */
void sw_call_bgrewriteaof(struct sw_call *call)
{
    struct sw_saver *saver = call->admin->saver;
    if (saver == NULL) {
        sw_text_error(call->reply, SW_NO_PERSISTENCE);
    } else if (sw_saver_ask(saver) == 0) {
        sw_text_error(call->reply, "ERR Background append only file rewriting already in progress");
    } else {
        sw_text_simple(call->reply, "Background append only file rewriting started");
    }
}

void sw_call_time(struct sw_call *call)
{
    struct timespec now;
    char digits[24];
    clock_gettime(CLOCK_REALTIME, &now);
    sw_text_array(call->reply, 2);
    snprintf(digits, sizeof(digits), "%lld", (long long)now.tv_sec);
    sw_text_bulk_string(call->reply, digits);
    snprintf(digits, sizeof(digits), "%ld", now.tv_nsec / 1000);
    sw_text_bulk_string(call->reply, digits);
}

void sw_call_echo(struct sw_call *call)
{
    sw_text_bulk(call->reply, call->arguments[1].text, call->arguments[1].size);
}

void sw_call_lastsave(struct sw_call *call)
{
    struct sw_persistence facts = {.saved_at = 0};
    if (call->admin->saver != NULL) {
        sw_saver_status(call->admin->saver, &facts);
    }
    sw_text_integer(call->reply, (int64_t)facts.saved_at);
}

/* The functions of the rows of kind REPORT and SESSION. */
#define SW_CALL_REPORT(function) sw_call_##function
#define SW_CALL_SESSION(function) sw_call_##function
#define SW_CALL_RMW(...) NULL
#define SW_CALL_ONE_KEY(...) NULL
#define SW_CALL_EACH_KEY(...) NULL
#define SW_CALL_KEY_FUNCTION(...) NULL
#define SW_CALL_TABLE(...) NULL
#define SW_CALL_SAVER(...) NULL
#define SW_CALL_TRANSACTION(...) NULL
#define SW_CALL(id, name, arity, keys, group, effect, speed, in_multi, how, summary) SW_CALL_##how,
static void (*const calls[SW_COMMAND_COUNT])(struct sw_call *call) = {SW_COMMAND_MAP(SW_CALL)};

void sw_admin_run(const struct sw_admin *admin, const struct sw_command *command,
                  const struct sw_resp_command *arguments, struct sw_session *session,
                  struct sw_text *reply)
{
    struct sw_call call = {.admin = admin,
                           .command = command,
                           .count = arguments->count,
                           .arguments = arguments->arguments,
                           .session = session,
                           .reply = reply};
    size_t size_before = reply->size;
    bool skip = session->reply_mode == SW_REPLY_SKIP_NEXT;

    if (skip) {
        session->reply_mode = SW_REPLY_ON;
    }
    if (calls[command->id] != NULL) {
        calls[command->id](&call);
    } else {
        sw_call_error(&call, "ERR '%s' is not a command of this kind", command->name);
    }
    if (session->reply_mode == SW_REPLY_OFF || (skip && !call.reply_anyway)) {
        reply->size = size_before;
        reply->failed = false;
    }
}
