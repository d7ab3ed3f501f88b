/* SPDX-License-Identifier: MIT
 *
 * permit.c - the rights of users to run commands.
 */
#include "server/resp/permit.h"

#include <stdio.h>
#include <string.h>

#include "server/resp/acl_catalog.h"
#include "server/resp/admin_call.h"
#include "server/resp/resp.h"
#include "server/resp/transaction.h"

#define KEY_REFUSED "this user has no permissions to access one of the keys used as arguments"
#define QUEUED_REFUSED                                                                          \
    "ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " \
    "This command is no longer allowed for the following reason: "

static void copy_text(char *out, size_t room, const char *text, size_t size)
{
    size = size < room ? size : room - 1;
    memcpy(out, text, size);
    out[size] = '\0';
}

void sw_permit_log(struct sw_conn *conn, enum sw_acl_reason reason, const char *object,
                   const char *command, const char *user, size_t user_size)
{
    struct sw_acl_entry entry = {.reason = reason,
                                 .at_ms = sw_session_now_ms(),
                                 .in_multi = sw_resp_of(conn)->transaction != NULL};
    struct sw_text client;
    sw_text_init(&client, sizeof(entry.client) - 1);
    sw_client_describe(&client, conn, command);
    copy_text(entry.client, sizeof(entry.client), client.data != NULL ? client.data : "",
              client.size);
    entry.client[strcspn(entry.client, "\n")] = '\0';
    sw_text_fini(&client);
    copy_text(entry.object, sizeof(entry.object), object, strlen(object));
    copy_text(entry.user, sizeof(entry.user), user, user_size);
    sw_acl_log_add(sw_users_log(conn->net->users), &entry);
}

static void note_refusal(struct sw_conn *conn, enum sw_acl_reason reason, const char *object,
                         const char *command)
{
    const char *user = conn->login.user->name;
    SW_COUNT(conn->net->counters, permission_refusals, 1);
    sw_permit_log(conn, reason, object, command, user, strlen(user));
}

bool sw_permit_needs_no_login(const struct sw_command *command)
{
    return command->id == SW_COMMAND_AUTH || command->id == SW_COMMAND_HELLO ||
           command->id == SW_COMMAND_QUIT || command->id == SW_COMMAND_RESET;
}

/* Refuses a command on a table that its user may not use. */
static bool refuses_table(struct sw_resp_conn *state, const struct sw_command *command,
                          uint32_t row, const struct sw_resp_command *arguments, const char *prefix)
{
    char table[SW_USER_TABLE_BYTES];
    struct sw_conn *conn = state->conn;
    if (!sw_permit_lacks_table(conn, conn->login.user, command, row, arguments, table)) {
        return false;
    }
    note_refusal(conn, SW_ACL_DATABASE, table, sw_acl_catalog()->commands[row].name);
    sw_resp_error(conn, command, "NOPERM %sNo permissions to access database '%s'", prefix, table);
    return true;
}

/* Refuses a command that the rules of the user forbid. `prefix` precedes the reason. */
static bool refuses_by_rules(struct sw_resp_conn *state, const struct sw_command *command,
                             const struct sw_resp_command *arguments, const char *prefix)
{
    struct sw_conn *conn = state->conn;
    uint32_t row = sw_acl_row(command, arguments);
    const char *name = sw_acl_catalog()->commands[row].name;
    switch (sw_login_lacks(conn->net->users, &conn->login, (int)row, false)) {
    case SW_LACKS_NOTHING:
        return refuses_table(state, command, row, arguments, prefix);
    case SW_LACKS_COMMAND:
        note_refusal(conn, SW_ACL_COMMAND, name, name);
        sw_resp_error(conn, command,
                      "NOPERM %sthis user has no permissions to run the '%s' command", prefix,
                      name);
        break;
    case SW_LACKS_ALL_KEYS:
        note_refusal(conn, SW_ACL_KEY, "*", name);
        sw_resp_error(conn, command,
                      "NOPERM %sthis user has no permissions to access all keys (~*), which the "
                      "'%s' command needs",
                      prefix, name);
        break;
    case SW_LACKS_ALL_TABLES:
        note_refusal(conn, SW_ACL_DATABASE, name, name);
        sw_resp_error(conn, command,
                      "NOPERM %sNo permissions to access all databases (alldbs), which the '%s' "
                      "command needs",
                      prefix, name);
        break;
    }
    return true;
}

bool sw_permit_refuses(struct sw_resp_conn *state, const struct sw_command *command,
                       const struct sw_resp_command *arguments)
{
    struct sw_conn *conn = state->conn;
    enum sw_login_state login = sw_login_refresh(conn->net->users, &conn->login);
    if (login == SW_LOGIN_DELETED) { /* redis also closes such a connection */
        state->session.close_after_reply = true;
        return true;
    }
    if (sw_permit_needs_no_login(command)) {
        return false;
    }
    if (login == SW_LOGIN_NONE) {
        SW_COUNT(conn->net->counters, unauthenticated_requests, 1);
        sw_resp_error(conn, command, "NOAUTH Authentication required.");
        return true;
    }
    return refuses_by_rules(state, command, arguments, "");
}

bool sw_permit_refuses_queued(struct sw_resp_conn *state, const struct sw_command *command,
                              const struct sw_resp_command *arguments)
{
    return !sw_conn_is_free(state->conn) &&
           refuses_by_rules(state, command, arguments, QUEUED_REFUSED);
}

bool sw_permit_still(struct sw_conn *conn, enum sw_command_id id)
{
    return sw_conn_is_free(conn) || sw_login_may(conn->net->users, &conn->login, id);
}

void sw_permit_refuse_key(struct sw_resp_conn *state, const struct sw_command *command,
                          const struct sw_resp_argument *key)
{
    char object[SW_ACL_LOG_TEXT_BYTES];
    sw_key_string_show(key, object, sizeof(object));
    note_refusal(state->conn, SW_ACL_KEY, object, command->name);
    sw_resp_error(state->conn, command, "NOPERM %s" KEY_REFUSED,
                  state->in_exec ? QUEUED_REFUSED : "");
}
