/* SPDX-License-Identifier: MIT
 *
 * unix_users.c - parses "uid:1000=alice,uid:0=default".
 */
#include "server/users/unix_users.h"

#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"

static bool parse_one(const char *text, size_t size, struct sw_unix_user *out)
{
    const char *equals = memchr(text, '=', size);
    if (size < 4 || memcmp(text, "uid:", 4) != 0 || equals == NULL) {
        return false;
    }
    const char *name = equals + 1;
    size_t name_size = size - (size_t)(name - text);
    if (!sw_decimal_parse((const uint8_t *)text + 4, (size_t)(equals - text) - 4, UINT32_MAX,
                          &out->uid) ||
        !sw_user_name_fits(name, name_size)) {
        return false;
    }
    memcpy(out->name, name, name_size);
    out->name[name_size] = '\0';
    return true;
}

int sw_unix_users_parse(const char *text, struct sw_unix_users *out, char *error,
                        size_t error_bytes)
{
    *out = (struct sw_unix_users){0};
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        struct sw_unix_user one;
        if (out->count == SW_UNIX_USERS_MAX || !parse_one(text, size, &one)) {
            snprintf(error, error_bytes,
                     "unix-users: '%.*s' is not uid:NUMBER=USER, or there are more than %d of them",
                     (int)(size < 64 ? size : 64), text, SW_UNIX_USERS_MAX);
            return -1;
        }
        if (sw_unix_users_find(out, one.uid) != NULL) {
            snprintf(error, error_bytes, "unix-users: uid %llu occurs twice",
                     (unsigned long long)one.uid);
            return -1;
        }
        out->at[out->count++] = one;
        text += size;
        text += *text == ',';
    }
    return 0;
}

const char *sw_unix_users_find(const struct sw_unix_users *users, uint64_t uid)
{
    for (uint32_t i = 0; i < users->count; i++) {
        if (users->at[i].uid == uid) {
            return users->at[i].name;
        }
    }
    return NULL;
}
