/* SPDX-License-Identifier: MIT
 *
 * unix_users.h - the user of a Unix socket's peer, by the peer's user id from the kernel:
 * "uid:1000=alice,uid:0=default". Constant once it is parsed, so any thread may read it.
 */
#ifndef SHERWOOD_SERVER_USERS_UNIX_USERS_H
#define SHERWOOD_SERVER_USERS_UNIX_USERS_H

#include <stddef.h>
#include <stdint.h>

#include "server/users/user.h"

#define SW_UNIX_USERS_MAX 16

struct sw_unix_users {
    uint32_t count;
    struct sw_unix_user {
        uint64_t uid;
        char name[SW_USER_NAME_BYTES];
    } at[SW_UNIX_USERS_MAX];
};

/* Parses the option. An empty text has no users. Returns 0; or -1 and an error in `error`. */
int sw_unix_users_parse(const char *text, struct sw_unix_users *out, char *error,
                        size_t error_bytes);
/* Returns the name of the user with this user id, or NULL. */
const char *sw_unix_users_find(const struct sw_unix_users *users, uint64_t uid);

#endif
