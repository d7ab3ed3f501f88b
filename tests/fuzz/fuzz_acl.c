/* SPDX-License-Identifier: MIT
 *
 * fuzz_acl.c - libFuzzer target for files of users, their rules and unix-users: whatever the text
 * is, what is read can be written, and read again as the same.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/users/unix_users.h"
#include "server/users/users_parts.h"
#include "tests/fuzz/require.h"
#include "tests/support/absent_commands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sw_catalog_command commands[] = {
    {"get", SW_CATEGORY_READ | SW_CATEGORY_FAST, false, SW_SCOPE_SELECTED},
    {"set", SW_CATEGORY_WRITE | SW_CATEGORY_SLOW, false, SW_SCOPE_SELECTED},
    {"config", SW_CATEGORY_ADMIN | SW_CATEGORY_DANGEROUS, false, SW_SCOPE_NONE},
    {"config|get", SW_CATEGORY_ADMIN, false, SW_SCOPE_NONE},
    {"config|set", SW_CATEGORY_ADMIN | SW_CATEGORY_DANGEROUS, false, SW_SCOPE_NONE},
};

static bool is_table_name(const char *name, size_t size)
{
    return size > 0 && name[0] >= 'a' && name[0] <= 'z';
}

static const struct sw_commands catalog = {commands, sizeof(commands) / sizeof(commands[0]),
                                           absence, is_table_name};

/* The line of a user must read back as the same user. */
static void check_user(const struct sw_user *user)
{
    char line[SW_USER_LINE_BYTES];
    char error[SW_USERS_ERROR_BYTES];
    struct sw_user_list again = {0};
    size_t size = sw_user_line(user, line, sizeof(line));
    require(size == strlen(line) && size < sizeof(line) - 1);
    struct sw_acl_notes notes = {.without_effect = {.more = 0}};
    require(sw_acl_text_read(line, size, "line", &catalog, &again, &notes, error, sizeof(error)) ==
            0);
    require(again.count == 1);
    const struct sw_user *other = again.at[0];
    require(other->is_on == user->is_on && other->no_password == user->no_password);
    require(other->all_keys == user->all_keys && other->hash_count == user->hash_count);
    require(memcmp(other->hashes, user->hashes, user->hash_count * sizeof(user->hashes[0])) == 0);
    require(other->ranges.count == user->ranges.count);
    require(memcmp(other->ranges.at, user->ranges.at,
                   user->ranges.count * sizeof(user->ranges.at[0])) == 0);
    for (uint32_t i = 0; i < catalog.count; i++) {
        require(sw_user_may(other, i) == sw_user_may(user, i));
    }
    require(other->all_tables == user->all_tables && other->table_count == user->table_count);
    for (uint32_t i = 0; i < user->table_count; i++) {
        require(other->tables[i].number == user->tables[i].number);
        require(strcmp(other->tables[i].name, user->tables[i].name) == 0);
    }
    require(strcmp(other->commands_text, user->commands_text) == 0);
    for (uint32_t i = 1; i < user->ranges.count; i++) {
        require(user->ranges.at[i].first > user->ranges.at[i - 1].last + 1);
    }
    sw_user_list_free(&again);
}

static void check_unix_users(const uint8_t *data, size_t size)
{
    char error[SW_USERS_ERROR_BYTES];
    struct sw_unix_users users;
    char *text = strndup((const char *)data, size);
    require(text != NULL);
    if (sw_unix_users_parse(text, &users, error, sizeof(error)) == 0) {
        for (uint32_t i = 0; i < users.count; i++) {
            require(sw_unix_users_find(&users, users.at[i].uid) == users.at[i].name);
            require(sw_user_name_fits(users.at[i].name, strlen(users.at[i].name)));
        }
    } else {
        require(error[0] != '\0');
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[SW_USERS_ERROR_BYTES];
    struct sw_user_list list = {0};
    uint8_t *copy = malloc(size + (size == 0)); /* of just its size, so that over-reads are seen */
    require(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    struct sw_acl_notes notes = {.without_effect = {.more = 0}};
    char text[SW_ACL_NOTES_BYTES];
    int result = sw_acl_text_read((const char *)copy, size, "file", &catalog, &list, &notes, error,
                                  sizeof(error));
    require(sw_acl_notes_text(&notes, "file", text, sizeof(text)) == strlen(text));
    require((result == 0) == (error[0] == '\0'));
    for (uint32_t i = 0; i < list.count; i++) {
        check_user(list.at[i]);
        require(sw_user_list_find(&list, list.at[i]->name, strlen(list.at[i]->name)) == list.at[i]);
    }
    sw_user_list_free(&list);
    check_unix_users(copy, size);
    free(copy);
    return 0;
}
