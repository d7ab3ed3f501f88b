/* SPDX-License-Identifier: MIT
 *
 * test_acl_catalog.c - what the rows of commands and subcommands say of the keys that a user needs.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/resp/acl_catalog.h"
#include "server/resp/admit.h"

static const struct sw_catalog_command *row_of(const char *name)
{
    const struct sw_commands *catalog = sw_acl_catalog();
    int row = sw_catalog_find(catalog, name, strlen(name));
    cr_assert_geq(row, 0, "%s", name);
    return &catalog->commands[row];
}

static bool is_container(const char *name)
{
    const struct sw_commands *catalog = sw_acl_catalog();
    for (uint32_t i = SW_COMMAND_COUNT; i < catalog->count; i++) {
        if (sw_catalog_is_within(catalog, i, (uint32_t)(row_of(name) - catalog->commands))) {
            return true;
        }
    }
    return false;
}

/* A command that names no key and works on the table, or is an administrator's, cannot be limited
 * to keys. The same is true of subcommands that their list lacks. */
Test(acl_catalog, what_cannot_be_limited_to_keys_needs_all)
{
    static const char *const figures[] = {"dbsize", "command"};
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        bool is_figure = false;
        for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
            is_figure |= strcmp(figures[i], command->name) == 0;
        }
        bool needed = command->first_key == 0 && !is_figure &&
                      (command->batch_kinds != 0 || command->effect != SW_COMMAND_EFFECT_NONE ||
                       is_container(command->name));
        cr_assert_eq(row_of(command->name)->all_keys, needed, "%s", command->name);
    }
}

/* A command that names keys, or runs a batch on the table, needs the right to the selected table. A
 * command that needs all keys needs that right, the right to the tables it names, or to all. */
Test(acl_catalog, commands_need_tables)
{
    const struct sw_commands *catalog = sw_acl_catalog();
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct sw_catalog_command *row = &catalog->commands[i];
        cr_assert(!row->all_keys || row->scope != SW_SCOPE_NONE, "%s", row->name);
    }
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        const struct sw_catalog_command *row = row_of(command->name);
        if (command->first_key != 0 || command->batch_kinds != 0 ||
            (command->operations != 0 && command->kind == SW_KIND_DATA)) {
            cr_assert_eq(row->scope, id == SW_COMMAND_FLUSHALL ? SW_SCOPE_ALL : SW_SCOPE_SELECTED,
                         "%s", row->name);
        }
        if (sw_command_is_about_table(command) && id != SW_COMMAND_SWAPDB) {
            cr_assert(row->scope == SW_SCOPE_SELECTED || row->scope == SW_SCOPE_ALL, "%s",
                      row->name);
        }
    }
}

Test(acl_catalog, subcommands_have_columns_of_their_own)
{
    static const char *const all[] = {"acl|setuser",  "acl|load",
                                      "acl|log",      "config|set",
                                      "slowlog|get",  "cluster|getkeysinslot",
                                      "client|pause", "cluster|countkeysinslot"};
    static const char *const none[] = {"acl|whoami",    "config|get", "slowlog|len", "client|id",
                                       "cluster|slots", "ha|status",  "memory|usage"};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cr_assert(row_of(all[i])->all_keys, "%s", all[i]);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        cr_assert_not(row_of(none[i])->all_keys, "%s", none[i]);
    }
}

/* "+@fast" gives no user what only an administrator has, except what redis has in it. */
Test(acl_catalog, no_order_is_fast)
{
    static const char *const as_redis[] = {"role", "lastsave"};
    const struct sw_commands *catalog = sw_acl_catalog();
    for (uint32_t i = 0; i < catalog->count; i++) {
        const uint32_t both = SW_CATEGORY_FAST | SW_CATEGORY_ADMIN;
        bool is_known = false;
        for (size_t j = 0; j < sizeof(as_redis) / sizeof(as_redis[0]); j++) {
            is_known |= strcmp(as_redis[j], catalog->commands[i].name) == 0;
        }
        cr_assert(is_known || (catalog->commands[i].categories & both) != both, "%s",
                  catalog->commands[i].name);
    }
}
