/* SPDX-License-Identifier: MIT
 *
 * test_operations.c - each row of proto/ops/operations.h against the server's commands and rights.
 */
#include <ctype.h>
#include <string.h>

#include <criterion/criterion.h>

#include "proto/operation.h"
#include "server/bulk/permit.h"
#include "server/resp/acl_catalog.h"
#include "server/resp/command.h"
#include "server/users/users.h"
#include "table/op.h"

#define ROW_OF_KEYS(name, number, op, verb, guard, element, on, use, times, device, acl, command, \
                    ...)                                                                          \
    {#name, number, #acl, command},
#define ROW_OF_CONTROL(name, number, who, needs, effect, acl, command, ...) \
    {#name, number, #acl, command},
static const struct row {
    const char *name;
    uint32_t number;
    const char *acl, *command;
} rows[] = {SW_DATA_OPERATION_MAP(ROW_OF_KEYS) SW_COMPOSED_OPERATION_MAP(ROW_OF_KEYS)
                SW_CONTROL_OPERATION_MAP(ROW_OF_CONTROL)};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* The command with this name, or NULL. */
static const struct sw_command *command_of(const char *name)
{
    for (int id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

/* Is the operation's name the command's, or does it begin with it, as ADD_F32 does with add? */
static bool is_named(const char *operation, const char *command)
{
    size_t i = 0;
    while (command[i] != '\0' && tolower((unsigned char)operation[i]) == command[i]) {
        i++;
    }
    return command[i] == '\0' && (operation[i] == '\0' || operation[i] == '_');
}

/* A user without the right to a command cannot do the same by a frame. An operation with the name
 * of a command requires the right of that command. If a row says SAME, the command uses the
 * operation. */
Test(operations, need_the_rights_of_the_command_that_does_the_same)
{
    for (int i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        cr_assert_str_eq(sw_operation_right(row->number), row->command, "%s", row->name);
        for (int id = 0; id < SW_COMMAND_COUNT; id++) {
            const struct sw_command *named = sw_command_at((enum sw_command_id)id);
            cr_assert(
                !(is_named(row->name, named->name) && strlen(named->name) == strlen(row->name)) ||
                    strcmp(named->name, row->command) == 0,
                "%s needs the rights of %s, and there is a command %s", row->name, row->command,
                named->name);
        }
        if (strcmp(row->acl, "SAME") != 0 || !sw_operation_is_data(row->number)) {
            continue;
        }
        const struct sw_command *command = command_of(row->command);
        cr_assert_not_null(command, "%s: there is no command %s", row->name, row->command);
        cr_assert(is_named(row->name, row->command) ||
                      (command->operations >> sw_operation_op(row->number) & 1) != 0,
                  "%s does not do what %s does: the command that does is the one whose rights it "
                  "needs",
                  row->name, row->command);
    }
}

/* A command that is one operation has the effect and the operand of the operation's row. */
Test(operations, give_effect_and_operand_to_commands)
{
    for (int id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        const bool reads = SW_OPS_HAS(SW_OPS_READ, command->op),
                   deletes = SW_OPS_HAS(SW_OPS_DELETE, command->op),
                   inserts = SW_OPS_HAS(SW_OPS_INSERT, command->op),
                   has_operand = SW_OPS_HAS(SW_OPS_OPERAND, command->op);
        if (command->kind != SW_KIND_DATA ||
            (command->maker != SW_MAKER_ONE_KEY && command->maker != SW_MAKER_EACH_KEY)) {
            continue;
        }
        const enum sw_command_effect effect = reads     ? SW_COMMAND_EFFECT_READ
                                              : deletes ? SW_COMMAND_EFFECT_DELETE
                                              : inserts ? SW_COMMAND_EFFECT_INSERT
                                                        : SW_COMMAND_EFFECT_WRITE;
        cr_assert_eq(command->effect, effect, "%s", command->name);
        cr_assert_eq(command->operand != 0, has_operand, "%s", command->name);
    }
}

/* The catalog has the right of each operation, so an ACL rule can grant it. */
Test(operations, have_rights_that_rules_can_name)
{
    char error[256];
    struct sw_users *users = NULL;
    struct sw_bulk_rights rights;
    const struct sw_users_options options = {
        .catalog = sw_acl_catalog(), .acl_file = "", .requirepass_file = ""};
    cr_assert_eq(sw_users_create(&options, &users, error, sizeof(error)), 0, "%s", error);
    sw_bulk_rights_init(&rights, users);
    for (int i = 0; i < ROWS; i++) {
        cr_assert((rights.row[rows[i].number] >= 0) == (rows[i].command[0] != '\0'), "%s: %s",
                  rows[i].name, rows[i].command);
    }
    sw_users_destroy(users);
}
