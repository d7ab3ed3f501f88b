/* SPDX-License-Identifier: MIT
 *
 * user_text.c - a user as text, in the words of redis' ACL LIST.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/users/user.h"

/* Appends text, and cuts it if it does not fit. SW_USER_LINE_BYTES are always enough. */
__attribute__((format(printf, 4, 5))) static void put(char *out, size_t room, size_t *used,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(out + *used, room - *used, format, arguments);
    va_end(arguments);
    if (size > 0) {
        *used = *used + (size_t)size < room ? *used + (size_t)size : room - 1;
    }
}

size_t sw_user_keys_text(const struct sw_user *user, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    if (user->all_keys) {
        put(out, room, &used, "~*");
    }
    for (uint32_t i = 0; i < user->ranges.count; i++) {
        const struct sw_range *range = &user->ranges.at[i];
        put(out, room, &used, "%s~%" PRIu64, used > 0 ? " " : "", range->first);
        if (range->last != range->first) {
            put(out, room, &used, "-%" PRIu64, range->last);
        }
    }
    return used;
}

size_t sw_user_tables_text(const struct sw_user *user, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    if (user->all_tables) {
        put(out, room, &used, "alldbs");
    }
    for (uint32_t i = 0; i < user->table_count; i++) {
        const struct sw_user_table *table = &user->tables[i];
        put(out, room, &used, used > 0 ? "," : "db=");
        if (table->name[0] != '\0') {
            put(out, room, &used, "%s", table->name);
        } else {
            put(out, room, &used, "%" PRIu32, table->number);
        }
    }
    return used;
}

size_t sw_user_line(const struct sw_user *user, char *out, size_t room)
{
    size_t used = 0;
    char hex[SW_HASH_HEX_BYTES];
    put(out, room, &used, "user %s %s", user->name, user->is_on ? "on" : "off");
    if (user->no_password) {
        put(out, room, &used, " nopass");
    }
    for (uint32_t i = 0; i < user->hash_count; i++) {
        sw_hash_format(&user->hashes[i], hex);
        put(out, room, &used, " #%s", hex);
    }
    if (user->all_keys || user->ranges.count > 0) {
        put(out, room, &used, " ");
        used += sw_user_keys_text(user, out + used, room - used);
    }
    put(out, room, &used, " %s ", user->all_channels ? "&*" : "resetchannels");
    if (user->table_count > 0) {
        used += sw_user_tables_text(user, out + used, room - used);
        put(out, room, &used, " ");
    } else if (!user->all_tables) {
        put(out, room, &used, "resetdbs ");
    }
    put(out, room, &used, "%s", user->commands_text);
    return used;
}
