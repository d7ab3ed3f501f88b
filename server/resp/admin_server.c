/* SPDX-License-Identifier: MIT
 *
 * admin_server.c - LATENCY, SLOWLOG, WAIT and SHUTDOWN.
 */
#include "server/resp/admin_call.h"

static void reply_empty_array(struct sw_call *call)
{
    sw_text_array(call->reply, 0);
}

static void reply_empty_map(struct sw_call *call)
{
    sw_text_map(call->reply, 0, call->session->resp3);
}

static void reply_zero(struct sw_call *call)
{
    sw_text_integer(call->reply, 0);
}

/* The latency of batches is in /metrics; that of single commands is not recorded. */
void sw_call_latency(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"HISTOGRAM", -2, reply_empty_map, "[command ...]", "Empty: see /metrics."},
        {"HISTORY", 3, reply_empty_array, "<event>", "Empty: no events are recorded."},
        {"LATEST", 2, reply_empty_array, "", "Empty: no events are recorded."},
        {"RESET", -2, reply_zero, "[event ...]", "0: no events are recorded."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}

static void slowlog_get(struct sw_call *call)
{
    int64_t count = 0;
    if (call->count > 3) {
        sw_text_error(call->reply, "ERR unknown subcommand or wrong number of arguments for 'GET'. "
                                   "Try SLOWLOG HELP.");
    } else if (call->count == 3 &&
               (!sw_argument_integer(&call->arguments[2], &count) || count < -1)) {
        sw_text_error(call->reply, "ERR count should be greater than or equal to -1");
    } else {
        sw_text_array(call->reply, 0);
    }
}

void sw_call_slowlog(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"GET", -2, slowlog_get, "[count]", "Empty: no command is logged."},
        {"LEN", 2, reply_zero, "", "0: no command is logged."},
        {"RESET", 2, sw_call_ok, "", "Nothing to forget."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}

void sw_call_wait(struct sw_call *call)
{
    int64_t replicas = 0, timeout_ms = 0;
    if (!sw_argument_integer(&call->arguments[1], &replicas)) {
        sw_text_error(call->reply, "ERR value is not an integer or out of range");
    } else if (!sw_argument_integer(&call->arguments[2], &timeout_ms)) {
        sw_text_error(call->reply, "ERR timeout is not an integer or out of range");
    } else if (timeout_ms < 0) {
        sw_text_error(call->reply, "ERR timeout is negative");
    } else {
        sw_text_integer(call->reply, 0);
    }
}

/* As in redis, SHUTDOWN has no reply if it succeeds: the connection is closed. */
void sw_call_shutdown(struct sw_call *call)
{
    bool save = false, nosave = false, abort = false;
    for (uint32_t i = 1; i < call->count; i++) {
        const struct sw_resp_argument *word = &call->arguments[i];
        if (sw_argument_is(word, "SAVE")) {
            save = true;
        } else if (sw_argument_is(word, "NOSAVE")) {
            nosave = true;
        } else if (sw_argument_is(word, "ABORT")) {
            abort = true;
        } else if (!sw_argument_is(word, "NOW") && !sw_argument_is(word, "FORCE")) {
            sw_call_syntax_error(call);
            return;
        }
    }
    if ((save && nosave) || (abort && call->count > 2)) {
        sw_call_syntax_error(call);
    } else if (abort) {
        sw_text_error(call->reply, "ERR No shutdown in progress.");
    } else if (save && call->admin->saver == NULL) {
        sw_text_error(call->reply,
                      "ERR there is no persistence, nothing can be saved: use SHUTDOWN NOSAVE");
    } else {
        call->session->shutdown_asked = true;
        call->session->shutdown_unsaved = nosave;
        call->session->close_after_reply = true;
    }
}
