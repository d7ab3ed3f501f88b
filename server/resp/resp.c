/* SPDX-License-Identifier: MIT
 *
 * resp.c - the command loop of a RESP connection.
 */
#include "server/resp/resp.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"
#include "server/observe/log.h"
#include "server/resp/absent.h"
#include "server/resp/control.h"
#include "server/resp/data.h"

/* Longest error line: 128 bytes each of a command's name and arguments, and the words around. */
#define ERROR_BYTES 512

void sw_resp_error(struct sw_conn *conn, const struct sw_command *command, const char *format, ...)
{
    struct sw_round *round = conn->loop->gathering;
    size_t first = round->text.size;
    char line[ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (conn->session.reply_mode == SW_REPLY_ON) {
        sw_text_error(&round->text, line);
    } else if (conn->session.reply_mode == SW_REPLY_SKIP_NEXT) {
        conn->session.reply_mode = SW_REPLY_ON;
    }
    sw_round_answer_text(round, conn, command, first);
}

/* A command that redis has and this server does not. */
static void refuse_absent(struct sw_conn *conn, const struct sw_resp_argument *name,
                          const char *reason)
{
    char upper[ERROR_BYTES / 4];
    int size = 0;
    for (; size < (int)name->size && size < (int)sizeof(upper); size++) {
        upper[size] = (char)toupper(name->text[size]);
    }
    sw_resp_error(conn, NULL, "ERR %.*s: %s", size, upper, reason);
}

static void refuse_unknown(struct sw_conn *conn, const struct sw_resp_command *command)
{
    const char *reason = sw_absent_reason(command->arguments[0].text, command->arguments[0].size);
    if (reason != NULL) {
        refuse_absent(conn, &command->arguments[0], reason);
        return;
    }
    char arguments[ERROR_BYTES / 4] = "";
    size_t used = 0;
    for (uint32_t i = 1; i < command->count && used < sizeof(arguments) - 1; i++) {
        int room = (int)(sizeof(arguments) - used);
        int size = (int)(command->arguments[i].size < 128 ? command->arguments[i].size : 128);
        int count = snprintf(arguments + used, (size_t)room, "'%.*s' ", size,
                             (const char *)command->arguments[i].text);
        if (count < 0 || count >= room) {
            arguments[used] = '\0';
            break;
        }
        used += (size_t)count;
    }
    int size = (int)(command->arguments[0].size < 128 ? command->arguments[0].size : 128);
    sw_resp_error(conn, NULL, "ERR unknown command '%.*s', with args beginning with: %s", size,
                  (const char *)command->arguments[0].text, arguments);
}

/* A command that this engine does not have. */
static void refuse_lacking(struct sw_conn *conn, const struct sw_command *command)
{
    char name[SW_COMMAND_NAME_BYTES];
    sw_command_upper(command, name);
    sw_resp_error(conn, command, "ERR the %s engine has no %s", conn->loop->shape.engine_name,
                  name);
}

/* A reply that has failed, for it was longer than a round's text may be, or there was no memory for
 * it: an error is the reply. If there is no memory for that either the connection is closed, since
 * its client would wait for ever. */
static void refuse_long_reply(struct sw_conn *conn, const struct sw_command *command, size_t first)
{
    struct sw_text *text = &conn->loop->gathering->text;
    text->failed = false;
    text->size = first;
    sw_resp_error(conn, command, "ERR the reply of '%s' would be too long: ask for less of it",
                  command->name);
    if (text->failed) {
        text->failed = false;
        text->size = first;
        sw_log(SW_LOG_ERROR, "no memory for a reply to '%s': the connection was closed",
               command->name);
        sw_conn_abort(conn);
    }
}

/* Commands whose answer is a text made now. */
static void run_admin(struct sw_conn *conn, const struct sw_command *command,
                      const struct sw_resp_command *arguments)
{
    struct sw_loop *loop = conn->loop;
    struct sw_text *text = &loop->gathering->text;
    size_t first = text->size;
    sw_admin_run(&loop->admin, command, arguments, &conn->session, text);
    if (text->failed) {
        refuse_long_reply(conn, command, first);
        return;
    }
    sw_round_answer_text(loop->gathering, conn, command, first);
    if (conn->session.shutdown_asked) {
        loop->owner.stop(loop->owner.server);
    }
}

/* A browser or a cross-protocol attack speaks HTTP here: redis closes on these words, so do we. */
static bool is_http(const struct sw_resp_argument *name)
{
    return sw_argument_is(name, "POST") || sw_argument_is(name, "HOST:");
}

/* Carries out one command. Returns false, with nothing done and the connection stalled, if it has
 * to wait. */
static bool run(struct sw_conn *conn, const struct sw_resp_command *arguments)
{
    const struct sw_command *command =
        sw_command_find(arguments->arguments[0].text, arguments->arguments[0].size);
    if (!sw_round_has_room(conn->loop->gathering, 0)) {
        SW_COUNT(&conn->loop->counters, round_pauses, !conn->retried);
        sw_conn_stall(conn, SW_STALL_ROUND);
        return false;
    }
    if (command == NULL && is_http(&arguments->arguments[0])) {
        sw_log(SW_LOG_WARNING, "%s speaks HTTP to the RESP port: closed", conn->session.address);
        SW_COUNT(&conn->loop->counters, resp_protocol_errors, 1);
        sw_conn_abort(conn);
        return true;
    }
    if (command == NULL) {
        refuse_unknown(conn, arguments);
        return true;
    }
    if (!sw_command_arity_fits(command, arguments->count)) {
        sw_resp_error(conn, command, "ERR wrong number of arguments for '%s' command",
                      command->name);
        return true;
    }
    if (conn->loop->lacking.has[command->id]) {
        refuse_lacking(conn, command);
        return true;
    }
    if ((command->kind == SW_KIND_CONTROL && conn->in_flight > 0) ||
        (command->kind == SW_KIND_REPORT && conn->data_in_flight > 0)) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return false;
    }
    switch (command->kind) {
    case SW_KIND_DATA:
        return conn->loop->run_data(conn, command, arguments);
    case SW_KIND_CONTROL:
        return sw_control_run(conn, command, arguments);
    default:
        run_admin(conn, command, arguments);
        return true;
    }
}

/* The commands before the broken one have been accepted and are answered first. */
static void refuse_bytes(struct sw_conn *conn, int error, uint8_t got)
{
    char text[64];
    sw_resp_error_text(error, got, text, sizeof(text));
    SW_COUNT(&conn->loop->counters, resp_protocol_errors, 1);
    conn->session.reply_mode = SW_REPLY_ON;
    sw_resp_error(conn, NULL, "ERR Protocol error: %s", text);
    sw_conn_drain(conn, false);
}

/* Notes that `size` bytes of an incomplete command were parsed in vain; `again` if some were
 * before. Of a long argument only the beginning and the end are looked at. Returns false if that
 * was too often. */
static bool may_wait(struct sw_conn *conn, size_t size, const struct sw_resp_command *command,
                     bool again)
{
    struct sw_conn_input *input = &conn->input;
    size_t looked = (size_t)command->begun * SW_RESP_ARGUMENT_COST;
    size = looked > 0 && looked < size ? looked : size;
    input->need = command->need;
    input->reparsed = again ? input->reparsed + size : size;
    return input->reparsed <= SW_RESP_PASSES_MAX * conn->loop->config->resp_request_bytes_max;
}

size_t sw_resp_feed(struct sw_conn *conn, const uint8_t *bytes, size_t size)
{
    struct sw_loop *loop = conn->loop;
    size_t at = 0;
    if (conn->exclusive) {
        sw_conn_stall(conn, SW_STALL_BARRIER);
        return 0;
    }
    while (at < size) {
        struct sw_resp_command command = {
            .arguments = loop->arguments,
            .unquoted = loop->unquoted,
        };
        int64_t consumed = sw_resp_parse(bytes + at, size - at, &loop->resp_limits, &command);
        if (consumed == 0) {
            if (may_wait(conn, size - at, &command, at == 0)) {
                break;
            }
            consumed = SW_RESP_E_REQUEST_SIZE;
        }
        if (consumed < 0) {
            if (!sw_round_has_room(loop->gathering, 0)) {
                sw_conn_stall(conn, SW_STALL_ROUND);
                break;
            }
            refuse_bytes(conn, (int)consumed, command.got);
            return size;
        }
        if (command.count > 0 && !run(conn, &command)) {
            break;
        }
        at += (size_t)consumed;
        if (conn->session.close_after_reply) {
            sw_conn_drain(conn, false);
        }
        if (conn->state > SW_CONN_DRAINING || conn->session.close_after_reply) {
            return size;
        }
        if (conn->stall != SW_STALL_NONE) {
            break; /* a control command is under way */
        }
    }
    return at;
}
