/* SPDX-License-Identifier: MIT
 *
 * user_tables.c - the tables that a user may use.
 */
#include <string.h>

#include "proto/decimal.h"
#include "server/users/user.h"

void sw_user_set_tables(struct sw_user *user, bool all)
{
    user->all_tables = all;
    user->table_count = 0;
}

static bool is_same(const struct sw_user_table *table, uint32_t number, const char *name)
{
    return table->name[0] == '\0' ? table->number == number : strcmp(table->name, name) == 0;
}

/* Returns the first entry that lists the table, or table_count. */
static uint32_t entry_of(const struct sw_user *user, uint32_t number, const char *name)
{
    uint32_t at = 0;
    while (at < user->table_count && !is_same(&user->tables[at], number, name)) {
        at++;
    }
    return at;
}

static bool lists(const struct sw_user *user, uint32_t number, const char *name)
{
    return entry_of(user, number, name) < user->table_count;
}

bool sw_user_may_use(const struct sw_user *user, uint32_t number, const char *name)
{
    return user->all_tables || lists(user, number, name);
}

/* Reads a number, or the name of a table. */
static bool read_table(const struct sw_commands *catalog, const char *word, size_t size,
                       struct sw_user_table *out)
{
    uint64_t number = 0;
    *out = (struct sw_user_table){.number = SW_USER_NO_NUMBER};
    if (sw_decimal_parse((const uint8_t *)word, size, SW_USER_NO_NUMBER - 1, &number)) {
        out->number = (uint32_t)number;
        return true;
    }
    if (size >= sizeof(out->name) || catalog->is_table_name == NULL ||
        !catalog->is_table_name(word, size)) {
        return false;
    }
    memcpy(out->name, word, size);
    return true;
}

const char *sw_user_apply_tables(struct sw_user *user, const struct sw_commands *catalog,
                                 const char *list, size_t size)
{
    struct sw_user_table tables[SW_USER_TABLES_MAX];
    uint32_t count = 0;
    for (size_t at = 0, length = 0; at <= size; at += length + 1) {
        const char *comma = memchr(list + at, ',', size - at);
        length = comma == NULL ? size - at : (size_t)(comma - list) - at;
        if (count == SW_USER_TABLES_MAX) {
            return "The user has too many tables: use alldbs";
        }
        if (!read_table(catalog, list + at, length, &tables[count])) {
            return "db= is followed by the numbers or names of tables, with commas between them";
        }
        count++;
    }
    sw_user_set_tables(user, false);
    for (uint32_t i = 0; i < count; i++) {
        if (!lists(user, tables[i].number, tables[i].name)) {
            user->tables[user->table_count++] = tables[i];
        }
    }
    return NULL;
}

bool sw_user_rename_table(struct sw_user *user, const char *name, const char *to)
{
    const bool has = lists(user, SW_USER_NO_NUMBER, name);
    uint32_t count = 0;
    if (to != NULL) {
        const bool adds = has && !lists(user, SW_USER_NO_NUMBER, to);
        if (adds) {
            const bool is_full = user->table_count > SW_USER_TABLES_MAX;
            struct sw_user_table *table =
                &user->tables[is_full ? entry_of(user, SW_USER_NO_NUMBER, name)
                                      : user->table_count++];
            *table = (struct sw_user_table){.number = SW_USER_NO_NUMBER};
            memcpy(table->name, to, strlen(to) + 1);
        }
        return adds;
    }
    for (uint32_t i = 0; i < user->table_count; i++) {
        if (!is_same(&user->tables[i], SW_USER_NO_NUMBER, name)) {
            user->tables[count++] = user->tables[i];
        }
    }
    user->table_count = count;
    return has;
}
