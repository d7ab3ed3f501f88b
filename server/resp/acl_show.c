/* SPDX-License-Identifier: MIT
 *
 * acl_show.c - ACL DRYRUN and ACL LOG.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/resp/acl_call.h"
#include "server/resp/acl_catalog.h"
#include "server/resp/permit.h"

#define LOG_STANDARD 10

/* --- DRYRUN ----------------------------------------------------------------------------------- */

/* Returns the first key of the command that the user may not access, or NULL. Skips arguments that
 * are not valid keys: the command reports them. */
static const struct sw_resp_argument *bad_key(const struct sw_user *user,
                                              const struct sw_key_string *keys,
                                              const struct sw_command *command,
                                              const struct sw_resp_command *arguments)
{
    uint32_t last = command->last_key < 0 ? arguments->count - 1 : (uint32_t)command->last_key;
    for (uint32_t i = (uint32_t)command->first_key; i != 0 && i <= last && i < arguments->count;
         i += (uint32_t)command->key_step) {
        const struct sw_resp_argument *key = &arguments->arguments[i];
        uint64_t number = 0;
        if (sw_key_string_read(keys, key, &number) &&
            !sw_ranges_hold(&user->ranges, &number, sizeof(number), 1)) {
            return key;
        }
    }
    return NULL;
}

static void show_line(struct sw_call *call, const char *format, int size, const char *text)
{
    char line[256];
    int used = snprintf(line, sizeof(line), format, size, text);
    sw_text_bulk(call->reply, line, (size_t)used < sizeof(line) ? (size_t)used : sizeof(line) - 1);
}

/* Shows the table that the command needs and the user lacks, or OK. The selected table is that of
 * this connection. */
static void show_tables(struct sw_call *call, const struct sw_user *user,
                        const struct sw_command *command, uint32_t row,
                        const struct sw_resp_command *arguments)
{
    char table[SW_USER_TABLE_BYTES];
    if (!user->all_tables && sw_acl_catalog()->commands[row].scope == SW_SCOPE_ALL) {
        sw_text_bulk_string(call->reply, "This user has no permissions to access all databases");
    } else if (sw_permit_lacks_table(call->session->conn, user, command, row, arguments, table)) {
        show_line(call, "This user has no permissions to access the '%.*s' database",
                  (int)sizeof(table), table);
    } else {
        sw_call_ok(call);
    }
}

void sw_acl_dryrun(struct sw_call *call)
{
    struct sw_user user;
    struct sw_resp_command arguments = {
        .arguments = (struct sw_resp_argument *)(uintptr_t)&call->arguments[3],
        .count = call->count - 3,
    };
    const struct sw_resp_argument *name = &call->arguments[2], *first = &call->arguments[3];
    const struct sw_command *command = sw_command_find(first->text, first->size);
    if (!sw_users_find(call->admin->users, (const char *)name->text, name->size, &user)) {
        sw_call_error(call, "ERR User '%.*s' not found", SW_CALL_SHOWN(name));
        return;
    }
    if (command == NULL) {
        sw_call_error(call, "ERR Command '%.*s' not found", SW_CALL_SHOWN(first));
        return;
    }
    if (!sw_command_arity_fits(command, arguments.count)) {
        sw_call_error(call, "ERR wrong number of arguments for '%s' command", command->name);
        return;
    }
    if (sw_permit_needs_no_login(command)) {
        sw_call_ok(call);
        return;
    }
    uint32_t row = sw_acl_row(command, &arguments);
    const struct sw_resp_argument *key =
        user.all_keys ? NULL : bad_key(&user, &call->admin->keys, command, &arguments);
    if (!sw_user_may(&user, row)) {
        show_line(call, "This user has no permissions to run the '%.*s' command", 64,
                  sw_acl_catalog()->commands[row].name);
    } else if (!user.all_keys && sw_acl_catalog()->commands[row].all_keys) {
        show_line(call, "This user has no permissions to access the '%.*s' key", 1, "*");
    } else if (key != NULL) {
        char shown[SW_ACL_LOG_TEXT_BYTES];
        sw_key_string_show(key, shown, sizeof(shown));
        show_line(call, "This user has no permissions to access the '%.*s' key", (int)sizeof(shown),
                  shown);
    } else {
        show_tables(call, &user, command, row, &arguments);
    }
}

/* --- LOG -------------------------------------------------------------------------------------- */

static void put_entry(struct sw_call *call, const struct sw_acl_entry *entry, uint64_t now_ms)
{
    static const char *const reasons[] = {[SW_ACL_COMMAND] = "command",
                                          [SW_ACL_KEY] = "key",
                                          [SW_ACL_AUTH] = "auth",
                                          [SW_ACL_DATABASE] = "database"};
    char age[32];
    uint64_t ms = now_ms > entry->at_ms ? now_ms - entry->at_ms : 0;
    snprintf(age, sizeof(age), "%llu.%03llu", (unsigned long long)ms / 1000,
             (unsigned long long)ms % 1000);
    sw_text_map(call->reply, 7, call->session->resp3);
    sw_text_bulk_string(call->reply, "count");
    sw_text_unsigned(call->reply, entry->count);
    sw_text_bulk_string(call->reply, "reason");
    sw_text_bulk_string(call->reply, reasons[entry->reason]);
    sw_text_bulk_string(call->reply, "context");
    sw_text_bulk_string(call->reply, entry->in_multi ? "multi" : "toplevel");
    sw_text_bulk_string(call->reply, "object");
    sw_text_bulk_string(call->reply, entry->object);
    sw_text_bulk_string(call->reply, "username");
    sw_text_bulk_string(call->reply, entry->user);
    sw_text_bulk_string(call->reply, "age-seconds");
    if (call->session->resp3) {
        sw_text_printf(call->reply, ",%s\r\n", age);
    } else {
        sw_text_bulk_string(call->reply, age);
    }
    sw_text_bulk_string(call->reply, "client-info");
    sw_text_bulk_string(call->reply, entry->client);
}

void sw_acl_log_call(struct sw_call *call)
{
    struct sw_acl_log *log = sw_users_log(call->admin->users);
    int64_t max = LOG_STANDARD;
    if (call->count > 3) {
        sw_call_syntax_error(call);
        return;
    }
    if (call->count == 3 && sw_argument_is(&call->arguments[2], "RESET")) {
        sw_acl_log_reset(log);
        sw_call_ok(call);
        return;
    }
    if (call->count == 3 && !sw_argument_integer(&call->arguments[2], &max)) {
        sw_text_error(call->reply, "ERR value is not an integer or out of range");
        return;
    }
    max = max < 0 ? 0 : max > SW_ACL_LOG_MAX ? SW_ACL_LOG_MAX : max;
    struct sw_acl_entry *entries = calloc(SW_ACL_LOG_MAX, sizeof(*entries));
    if (entries == NULL) {
        sw_text_error(call->reply, "ERR out of memory");
        return;
    }
    size_t count = sw_acl_log_copy(log, entries, (size_t)max);
    sw_text_array(call->reply, count);
    for (size_t i = 0; i < count; i++) {
        put_entry(call, &entries[i], sw_session_now_ms());
    }
    free(entries);
}
