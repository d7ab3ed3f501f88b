/* SPDX-License-Identifier: MIT
 *
 * command_checks.c - the reasons to refuse a command at any time.
 */
#include "server/resp/command_checks.h"
#include "server/batch/refusals.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "server/resp/resp.h"
#include "server/resp/transaction.h"
#include "server/resp/unsupported_commands.h"

/* Longest list of arguments in an error line. */
#define ARGUMENTS_BYTES 128

/* Refuses a command that redis has and this server does not. */
static void refuse_absent(struct sw_resp_conn *state, const struct sw_resp_argument *name,
                          const char *reason)
{
    char upper[ARGUMENTS_BYTES];
    int size = 0;
    for (; size < (int)name->size && size < (int)sizeof(upper); size++) {
        upper[size] = (char)toupper(name->text[size]);
    }
    sw_resp_error(state->conn, NULL, "ERR %.*s: %s", size, upper, reason);
}

static void refuse_unknown(struct sw_resp_conn *state, const struct sw_resp_command *command)
{
    struct sw_conn *conn = state->conn;
    if (conn->net->cluster.view != NULL && sw_argument_is(&command->arguments[0], "SWAPDB")) {
        sw_resp_error(conn, NULL, "ERR SWAPDB is not allowed in cluster mode");
        return;
    }
    const char *reason =
        sw_unsupported_command_reason(command->arguments[0].text, command->arguments[0].size);
    if (reason != NULL) {
        refuse_absent(state, &command->arguments[0], reason);
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
static void refuse_unsupported(struct sw_resp_conn *state, const struct sw_command *command)
{
    char name[SW_COMMAND_NAME_BYTES];
    sw_command_upper(command, name);
    const struct sw_table_shape *shape = &state->resp->batches->shape;
    const bool is_bits = (command->operations & SW_OPS_BITS) != 0;
    if (is_bits && !shape->has_scores && !shape->has_ids && !shape->is_set) {
        sw_resp_error(state->conn, command, "ERR " SW_NO_BITS);
        return;
    }
    if ((command->operations >> SW_EXPIRE & 1) != 0 && !shape->expires) {
        sw_resp_error(state->conn, command, "ERR the %s engine has no %s%s", shape->engine_name,
                      name, sw_table_no_times(shape));
        return;
    }
    const uint64_t reckons = SW_OPS_INTEGERS & ~SW_OPS_ROWS;
    const bool is_pair = (command->operations & SW_OPS_PAIR) != 0;
    const char *why = "";
    if (command->id == SW_COMMAND_INSERT) {
        why = SW_WHY_NO_SET;
    } else if (shape->is_set) {
        why = command->id == SW_COMMAND_ASSIGN ? SW_WHY_NO_IDS : SW_WHY_NO_VALUES;
    } else if (command->id == SW_COMMAND_ASSIGN || shape->has_ids) {
        why = shape->has_ids ? SW_WHY_IDS : SW_WHY_NO_IDS;
    } else if (command->kind == SW_KIND_RMW && shape->has_scores) {
        why = SW_WHY_EVICTS;
    } else if (shape->has_scores && (command->maker == SW_MAKER_BY_FLOAT ||
                                     command->maker == SW_MAKER_SET_RANGE || is_bits || is_pair)) {
        why = SW_WHY_ONLY_ADD;
    } else if (command->maker == SW_MAKER_BY) {
        why = SW_WHY_NO_COUNTERS;
    } else if ((command->operations & reckons) != 0 && shape->value_format != SW_VALUE_INTEGER) {
        why = SW_WHY_NO_INTEGERS;
    } else if ((command->operations & SW_OPS_STRING) != 0) {
        sw_resp_error(state->conn, command, "ERR %s " SW_NEEDS_STRINGS, name);
        return;
    } else if (shape->engine == SW_ENGINE_CUCKOO) {
        why = SW_WHY_ENGINE;
    }
    sw_resp_error(state->conn, command, "ERR the %s engine has no %s%s%s", shape->engine_name, name,
                  shape->of_rows, why);
}

/* Refuses a command that would show keys, because the table has only the hashes of their texts. */
static void refuse_hidden_keys(struct sw_resp_conn *state, const struct sw_command *command)
{
    char name[SW_COMMAND_NAME_BYTES];
    sw_command_upper(command, name);
    sw_resp_error(state->conn, command,
                  "ERR %s cannot list keys, because the server stores only their hashes: start it "
                  "with --resp-key-text-bytes",
                  name);
}

/* Refuses a wrong number of arguments. EXEC with arguments ends the transaction, as in redis:
 * otherwise a client that believes it has ended would queue its next commands. */
static void refuse_count(struct sw_resp_conn *state, const struct sw_command *command)
{
    bool ends = command->id == SW_COMMAND_EXEC;
    if (ends) {
        sw_transaction_drop(state);
    }
    sw_resp_error(state->conn, command, "%s wrong number of arguments for '%s' command",
                  ends ? "EXECABORT Transaction discarded because of:" : "ERR", command->name);
}

void sw_command_reject_wrong(struct sw_resp_conn *state, const struct sw_command *command,
                             const struct sw_resp_command *arguments)
{
    if (command == NULL) {
        refuse_unknown(state, arguments);
    } else {
        refuse_count(state, command);
    }
    sw_transaction_spoil(state);
}

void sw_commands_find_unsupported(const struct sw_command_set *unsupported,
                                  const struct sw_key_string *keys, struct sw_command_set *unable)
{
    const bool hides = keys->form == SW_RESP_KEYS_HASH && keys->text_bytes == 0;
    for (int id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        unable->has[id] =
            unsupported->has[id] || (hides && (command->batch_kinds & 1U << SW_BATCH_SCAN) != 0);
    }
}

void sw_command_reject_unsupported(struct sw_resp_conn *state, const struct sw_command *command)
{
    if (state->resp->unsupported.has[command->id]) {
        refuse_unsupported(state, command);
    } else {
        refuse_hidden_keys(state, command);
    }
}
