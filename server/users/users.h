/* SPDX-License-Identifier: MIT
 *
 * users.h - the users of a server, and the logins of connections.
 *
 * The rights of a user are a struct that never changes (struct sw_user). A change of a user
 * replaces the struct, under a lock, and raises the version of all users. A login has a reference
 * to the struct, and the version at which it read the struct. While the version is the same, the
 * struct is current, so a connection needs no lock. A login with all rights needs one load and one
 * comparison a request (sw_login_is_free). After a change, the next request of each connection
 * reads its user again.
 *
 * Threads: any for functions of `struct sw_users`. A login belongs to one thread.
 */
#ifndef SHERWOOD_SERVER_USERS_USERS_H
#define SHERWOOD_SERVER_USERS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/users/acl_log.h"
#include "server/users/acl_notes.h"
#include "server/users/catalog.h"
#include "server/users/user.h"

#define SW_USERS_MAX 4096
#define SW_USERS_ERROR_BYTES 512

struct sw_users;
struct sw_account; /* a named user, whose rights may be replaced */

/* The users copy texts, and borrow the catalog. File names may be relative to
 * $CREDENTIALS_DIRECTORY: see secret.h. */
struct sw_users_options {
    const struct sw_commands *catalog;
    const char *acl_file;         /* empty: none */
    const char *requirepass_file; /* the password of `default`; empty: none */
    bool keys_are_hashes;         /* refuse ranges of keys: a range of hashes has no meaning */
};

/* Reads the files. Returns 0; or -1 and an error without secrets in `error`. */
int sw_users_create(const struct sw_users_options *options, struct sw_users **out, char *error,
                    size_t error_bytes);
/* Writes a sentence about the words of the ACL file that have no effect, at most SW_ACL_NOTES_BYTES
 * with the NUL. Returns its length; 0: every word has an effect. */
size_t sw_users_notes(struct sw_users *users, char *out, size_t out_bytes);
/* Every login must have ended. NULL is allowed. */
void sw_users_destroy(struct sw_users *users);

const struct sw_commands *sw_users_catalog(const struct sw_users *users);
/* Returns the address of the version, which a change of users raises. It is never 0. Read it with a
 * relaxed atomic load. */
const uint64_t *sw_users_version(const struct sw_users *users);
/* Change and return the number of connections that have not logged in. */
void sw_users_count_waiting(struct sw_users *users, int change);
uint64_t sw_users_waiting(const struct sw_users *users);
/* Returns true if a login needs no password: `default` is on and has none. */
bool sw_users_are_open(struct sw_users *users);

/* --- logins ----------------------------------------------------------------------------------- */

struct sw_login {
    uint64_t free_at; /* the version at which the user has all rights; 0: rights must be checked */
    uint64_t version; /* at which `user` was read */
    const struct sw_user *user;     /* a reference; NULL: nobody has logged in */
    const struct sw_ranges *ranges; /* the keys that the user may touch; NULL: all */
    struct sw_account *account;     /* a reference */
};

enum sw_login_state {
    SW_LOGIN_NONE,   /* nobody has logged in */
    SW_LOGIN_IN,     /* login->user is what the user may do now */
    SW_LOGIN_DELETED /* the user has been deleted: the connection has to be closed */
};

/* Returns true if the login has all rights. No other check is needed then. */
static inline bool sw_login_is_free(const struct sw_login *login, const uint64_t *version)
{
    return login->free_at == __atomic_load_n(version, __ATOMIC_RELAXED);
}

/* Begins a login, which is all zero: as `default` if that is on and has no password, else as
 * nobody. */
void sw_login_begin(struct sw_users *users, struct sw_login *login);
/* Logs in, and replaces the current user. If the password is wrong, or the user is unknown or off,
 * changes nothing and returns false. Neither the result nor its duration shows which. */
bool sw_login_with_password(struct sw_users *users, struct sw_login *login, const char *name,
                            size_t name_size, const void *password, size_t password_size);
/* Logs in a user who was identified without a password: by a Unix socket's peer or a certificate.
 * If the user is unknown or off, changes nothing and returns false. */
bool sw_login_without_password(struct sw_users *users, struct sw_login *login, const char *name,
                               size_t name_size);
void sw_login_end(struct sw_login *login);
/* Reads the user again, if users have changed. */
enum sw_login_state sw_login_refresh(struct sw_users *users, struct sw_login *login);
/* Makes a second login of the same user, for work that outlives the connection. The caller ends it
 * separately. `from` has logged in. */
void sw_login_copy(struct sw_users *users, const struct sw_login *from, struct sw_login *to);
/* The right that a login lacks. */
enum sw_lack { SW_LACKS_NOTHING, SW_LACKS_COMMAND, SW_LACKS_ALL_KEYS, SW_LACKS_ALL_TABLES };
/* Returns the right that the login lacks for a command of the catalog. `command` negative: the
 * catalog lacks the command. `all_keys`: the request may touch any key, even if the command does
 * not. The caller checks the tables that a command selects or names (sw_user_may_use). Uses the
 * rules that sw_login_refresh has read. All protocols use this check. */
enum sw_lack sw_login_lacks(const struct sw_users *users, const struct sw_login *login, int command,
                            bool all_keys);
/* Returns true if the current rules let the login run this command, with all keys and all tables if
 * the command needs them. One thread at a time uses a login. */
bool sw_login_may(struct sw_users *users, struct sw_login *login, uint32_t command);

/* --- looking and changing ----------------------------------------------------------------------
 */

/* Copies the user with this name. Returns false if there is none. */
bool sw_users_find(struct sw_users *users, const char *name, size_t size, struct sw_user *out);
/* Calls `each` with every user, in the order of names, under the lock: it must not call back. */
void sw_users_each(struct sw_users *users, void (*each)(void *context, const struct sw_user *user),
                   void *context);

/* A word of a rule; not ended by NUL. */
struct sw_word {
    const char *text;
    size_t size;
};

/* Creates or changes a user, by all of the words or none. Returns 0; or -1 and redis' error text in
 * `error`. The text repeats the wrong word, so it is only for the client, not for a log. */
int sw_users_set(struct sw_users *users, const char *name, size_t size, const struct sw_word *words,
                 uint32_t count, char *error, size_t error_bytes);
/* Deletes a user; its connections find it deleted. Returns false if there is no such user. */
bool sw_users_delete(struct sw_users *users, const char *name, size_t size);

/* Lets the rules of all users that list the table `name` also list `to`; with `to` NULL they no
 * longer list `name`. So a user keeps a table that is renamed. Returns 0; or -1 if there is no
 * memory, and nothing has changed. */
int sw_users_rename_table(struct sw_users *users, const char *name, const char *to);

/* Load reads the ACL file again, and changes nothing if anything in it is wrong. Save writes it,
 * and waits until it is on storage. Both return 0; or -1 and redis' error texts in `error`. */
int sw_users_load(struct sw_users *users, char *error, size_t error_bytes);
int sw_users_save(struct sw_users *users, char *error, size_t error_bytes);

/* Returns the log of refusals, which has a lock of its own. */
struct sw_acl_log *sw_users_log(struct sw_users *users);

#endif
