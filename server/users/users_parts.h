/* SPDX-License-Identifier: MIT
 *
 * users_parts.h - internals shared by users.c, login.c, user_list.c and acl_file.c.
 *
 * An account has a name. Its `user` has the rights, and is replaced as a whole. Logins have
 * references to both, so both have reference counts: a deleted account is freed when its last login
 * has ended.
 */
#ifndef SHERWOOD_SERVER_USERS_USERS_PARTS_H
#define SHERWOOD_SERVER_USERS_USERS_PARTS_H

#include <pthread.h>

#include "server/users/acl_notes.h"
#include "server/users/secret.h"
#include "server/users/users.h"

struct sw_account {
    uint64_t refs;              /* atomic: one for the list until deletion, one for each login */
    bool is_deleted;            /* under the lock */
    const struct sw_user *user; /* under the lock; a reference */
};

struct sw_users {
    const struct sw_commands *catalog;
    char acl_file[SW_SECRET_PATH_BYTES];
    struct sw_acl_log *log;
    bool keys_are_hashes;
    struct sw_hash nobody; /* compared for an unknown user, so that it takes equally long */

    pthread_mutex_t lock;         /* protects the fields below; `version` may be read without it */
    struct sw_account **accounts; /* in the order of names */
    uint32_t count;
    bool has_requirepass;
    struct sw_hash requirepass; /* of `default`, if the ACL file has no line for it */
    struct sw_acl_notes notes;  /* of the ACL file that was read last */

    uint64_t waiting;              /* atomic: connections that have not logged in */
    _Alignas(64) uint64_t version; /* read by every request: a cache line of its own */
    uint8_t rest_of_line[56];
};

/* The users of a file: a growing array that owns a reference to each user. */
struct sw_user_list {
    struct sw_user **at;
    uint32_t count, capacity;
};

/* Copies all fields except `refs`, which other threads change. */
void sw_user_copy(struct sw_user *to, const struct sw_user *from);
struct sw_user *sw_user_create(const struct sw_user *like);
const struct sw_user *sw_user_keep(const struct sw_user *user);
void sw_user_put(const struct sw_user *user);
void sw_account_put(struct sw_account *account);
bool sw_user_is_named(const struct sw_user *user, const char *name, size_t size);

/* Returns the account with this name, or NULL. Call it with the lock held. */
struct sw_account *sw_users_account(const struct sw_users *users, const char *name, size_t size);

void sw_user_list_free(struct sw_user_list *list);
/* Returns the user with this name, or NULL. */
struct sw_user *sw_user_list_find(const struct sw_user_list *list, const char *name, size_t size);
/* Appends, and owns the user from then on. Returns false if there is no room or no memory. */
bool sw_user_list_add(struct sw_user_list *list, struct sw_user *user);

/* Reads the users of a file, and notes the words without effect. Returns 0; or -1 and an error for
 * every wrong line. */
int sw_acl_file_read(const char *path, const struct sw_commands *catalog, struct sw_user_list *list,
                     struct sw_acl_notes *notes, char *error, size_t error_bytes);
/* Does the same with a text. `path` is for the errors. */
int sw_acl_text_read(const char *text, size_t size, const char *path,
                     const struct sw_commands *catalog, struct sw_user_list *list,
                     struct sw_acl_notes *notes, char *error, size_t error_bytes);
/* Replaces the file by one with these users, and waits until it is on storage. */
int sw_acl_file_write(const char *path, const struct sw_user_list *list, char *error,
                      size_t error_bytes);

#endif
