/* SPDX-License-Identifier: MIT
 *
 * refuse.c - why a command is refused before it runs, or is held back.
 */
#include "server/resp/refuse.h"
#include "server/batch/refusals.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "server/log/saver.h"
#include "server/repl/repl.h"
#include "server/resp/absent.h"
#include "server/resp/permit.h"
#include "server/resp/resp.h"
#include "server/resp/transaction.h"

/* Longest list of arguments in an error line. */
#define ARGUMENTS_BYTES 128

#define DOWN_LINE "CLUSTERDOWN The cluster is down: this member of the shard knows of no primary"
#define LOADING_LINE "LOADING Sherwood is loading the dataset in memory"

/* Refuses a command that redis has and this server does not. */
static void refuse_absent(struct sw_conn *conn, const struct sw_resp_argument *name,
                          const char *reason)
{
    char upper[ARGUMENTS_BYTES];
    int size = 0;
    for (; size < (int)name->size && size < (int)sizeof(upper); size++) {
        upper[size] = (char)toupper(name->text[size]);
    }
    sw_resp_error(conn, NULL, "ERR %.*s: %s", size, upper, reason);
}

static void refuse_unknown(struct sw_conn *conn, const struct sw_resp_command *command)
{
    if (conn->net->seat.view != NULL && sw_argument_is(&command->arguments[0], "SWAPDB")) {
        sw_resp_error(conn, NULL, "ERR SWAPDB is not allowed in cluster mode");
        return;
    }
    const char *reason = sw_absent_reason(command->arguments[0].text, command->arguments[0].size);
    if (reason != NULL) {
        refuse_absent(conn, &command->arguments[0], reason);
        return;
    }
    char arguments[ARGUMENTS_BYTES + sizeof("'' ")] = "";
    size_t used = 0;
    /* the last one is cut, as redis does */
    for (uint32_t i = 1; i < command->count && used < ARGUMENTS_BYTES; i++) {
        const size_t room = ARGUMENTS_BYTES - used, given = command->arguments[i].size;
        const int size = (int)(given < room ? given : room);
        used += (size_t)snprintf(arguments + used, sizeof(arguments) - used, "'%.*s' ", size,
                                 (const char *)command->arguments[i].text);
    }
    int size = (int)(command->arguments[0].size < 128 ? command->arguments[0].size : 128);
    sw_resp_error(conn, NULL, "ERR unknown command '%.*s', with args beginning with: %s", size,
                  (const char *)command->arguments[0].text, arguments);
}

/* Refuses a command that the engine does not support. */
static void refuse_unsupported(struct sw_conn *conn, const struct sw_command *command)
{
    char name[SW_COMMAND_NAME_BYTES];
    sw_command_upper(command, name);
    const struct sw_table_shape *shape = &sw_resp_of(conn)->resp->batches->shape;
    const uint32_t reckons = SW_OPS_INTEGERS & ~SW_OPS_ROWS;
    const char *why = "";
    if (command->kind == SW_KIND_ALONE && shape->has_scores) {
        why = SW_WHY_EVICTS;
    } else if ((command->operations & reckons) != 0 && shape->value_format != SW_VALUE_INTEGER) {
        why = SW_WHY_NO_INTEGERS;
    }
    sw_resp_error(conn, command, "ERR the %s engine has no %s%s%s", shape->engine_name, name,
                  sw_table_lacking(shape, command->operations), why);
}

/* Refuses a command that would show keys whose texts nobody has kept. Returns true if so. */
static bool refuse_hidden_keys(struct sw_conn *conn, const struct sw_command *command)
{
    const struct sw_key_text *keys = &sw_resp_of(conn)->resp->keys;
    if (keys->form != SW_RESP_KEYS_HASH || keys->text_bytes > 0 ||
        (command->batch_kinds & 1U << SW_BATCH_SCAN) == 0) {
        return false;
    }
    char name[SW_COMMAND_NAME_BYTES];
    sw_command_upper(command, name);
    sw_resp_error(conn, command,
                  "ERR %s: keys are kept as hashes of their texts (--resp-keys hash), so they "
                  "cannot be listed",
                  name);
    return true;
}

/* Refuses a wrong number of arguments. EXEC with arguments ends the transaction, as in redis:
 * otherwise a client that believes it has ended would queue its next commands. */
static void refuse_count(struct sw_conn *conn, const struct sw_command *command)
{
    bool ends = command->id == SW_COMMAND_EXEC;
    if (ends) {
        sw_transaction_drop(conn);
    }
    sw_resp_error(conn, command, "%s wrong number of arguments for '%s' command",
                  ends ? "EXECABORT Transaction discarded because of:" : "ERR", command->name);
}

/* Whether a command is served before the data is there: what does not touch the table, but PING,
 * whose answer is to say whether the server serves. */
static bool is_served_while_loading(const struct sw_command *command)
{
    return command->kind == SW_KIND_TRANSACTION || command->id == SW_COMMAND_INFO ||
           command->id == SW_COMMAND_SHUTDOWN || command->id == SW_COMMAND_CLUSTER ||
           (command->kind == SW_KIND_SESSION && command->id != SW_COMMAND_PING);
}

static bool is_down(const struct sw_resp_owner *owner)
{
    return owner->repl != NULL && sw_repl_is_down(&owner->repl->state);
}

const char *sw_refusal_of_reads(const struct sw_resp_owner *owner)
{
    if (is_down(owner)) {
        return DOWN_LINE;
    }
    return owner->repl != NULL && sw_repl_lacks_data(&owner->repl->state) ? LOADING_LINE : NULL;
}

const char *sw_refusal_of_writes(const struct sw_resp_owner *owner)
{
    if (is_down(owner)) {
        return DOWN_LINE;
    }
    if (owner->repl != NULL && sw_repl_is_replica(&owner->repl->state)) {
        return "READONLY You can't write against a read only replica.";
    }
    return owner->saver == NULL || !sw_saver_refuses_writes(owner->saver)
               ? NULL
               : "MISCONF Sherwood is configured to save snapshots, but it's currently unable to "
                 "persist to disk. Commands that may modify the data set are disabled, because "
                 "this instance is configured to report errors during writes if snapshotting fails "
                 "(stop-writes-on-bgsave-error option). Please check the Sherwood logs for details "
                 "about the error.";
}

static bool is_about_keys(const struct sw_command *command)
{
    return command->kind == SW_KIND_DATA || command->kind == SW_KIND_ALONE;
}

/* Does the command show what the table holds? */
static bool shows_data(const struct sw_command *command)
{
    return is_about_keys(command) || command->batch_kinds != 0 ||
           command->id == SW_COMMAND_DBSIZE || command->id == SW_COMMAND_DIGEST;
}

/* Returns an error line if the server cannot carry the command out now, in the words of redis. */
static const char *not_now(const struct sw_conn *conn, const struct sw_command *command)
{
    const struct sw_resp_owner *owner = &sw_resp_of((struct sw_conn *)(uintptr_t)conn)->resp->owner;
    bool loads = owner->saver != NULL && sw_saver_is_loading(owner->saver);
    /* Clients of a cluster take LOADING for an error of theirs: requests on keys get CLUSTERDOWN,
     * or MOVED (redirect.c). */
    bool is_redirected = conn->net->seat.view != NULL && is_about_keys(command);
    if (loads && !is_redirected && !is_served_while_loading(command)) {
        return LOADING_LINE;
    }
    if (is_redirected && owner->repl != NULL && sw_repl_is_replica(&owner->repl->state)) {
        return NULL;
    }
    const char *line = shows_data(command) ? sw_refusal_of_reads(owner) : NULL;
    if (line == NULL && command->id == SW_COMMAND_WATCH && owner->repl != NULL &&
        sw_repl_is_replica(&owner->repl->state)) {
        return "ERR WATCH: the writes of a replica come from its primary, and mark no keys";
    }
    return line == NULL && sw_command_is_numbered(command) ? sw_refusal_of_writes(owner) : line;
}

/* Is the command about the connection or the server, so that it never waits for them? */
static bool is_for_operators(const struct sw_command *command)
{
    switch (command->id) {
    case SW_COMMAND_CLIENT:
    case SW_COMMAND_AUTH:
    case SW_COMMAND_HELLO:
    case SW_COMMAND_QUIT:
    case SW_COMMAND_RESET:
    case SW_COMMAND_CLUSTER:
        return true;
    default:
        return strcmp(command->group, "server") == 0 && command->effect != SW_COMMAND_EFFECT_READ;
    }
}

bool sw_is_held_back(const struct sw_conn *conn, const struct sw_command *command)
{
    const enum sw_pause_mode mode = conn->net->pause.mode;
    bool writes = sw_command_is_numbered(command) ||
                  (command->id == SW_COMMAND_EXEC && sw_transaction_writes(conn));
    return (mode != SW_PAUSE_NONE && writes) ||
           (mode == SW_PAUSE_ALL && !is_for_operators(command));
}

bool sw_refuse_wrong(struct sw_conn *conn, const struct sw_command *command,
                     const struct sw_resp_command *arguments)
{
    if (command == NULL) {
        refuse_unknown(conn, arguments);
    } else if (!sw_command_arity_fits(command, arguments->count)) {
        refuse_count(conn, command);
    } else if (!sw_conn_is_free(conn) && sw_permit_refuses(conn, command, arguments)) {
        /* it has replied */
    } else if (sw_resp_of(conn)->resp->unsupported.has[command->id]) {
        refuse_unsupported(conn, command);
    } else if (refuse_hidden_keys(conn, command)) {
        /* it has replied */
    } else {
        const char *line = not_now(conn, command);
        if (line == NULL) {
            return false;
        }
        sw_resp_error(conn, command, "%s", line);
    }
    sw_transaction_spoil(conn);
    return true;
}
