/* SPDX-License-Identifier: MIT
 *
 * users.h - the users of a server, and the logins of connections.
 *
 * What a user may do is a struct that never changes (struct sw_user). To change a user is to put
 * another struct in its place, under a lock, and to raise the version of all users. A login keeps a
 * reference to the struct, and the version it looked at: while the version stands, the struct is
 * the current one, so a connection needs no lock, and a login that may do everything needs one load
 * and one comparison a request (sw_login_is_free). After a change, the next request of each
 * connection looks again.
 *
 * Functions about `struct sw_users` may be called from any thread. A login belongs to one thread.
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
struct sw_account; /* a user's name, as long as it is not deleted */

/* Texts are copied, the catalog is borrowed. Files may be named relative to
 * $CREDENTIALS_DIRECTORY: see secret.h. */
struct sw_users_options {
    const struct sw_catalog *catalog;
    const char *acl_file;         /* empty: none */
    const char *requirepass_file; /* the password of `default`; empty: none */
    bool keys_are_hashes;         /* ranges of keys are refused: a range of hashes means nothing */
};

/* Reads the files. Returns 0, or -1 with a sentence that shows no secret in `error`. */
int sw_users_create(const struct sw_users_options *options, struct sw_users **out, char *error,
                    size_t error_bytes);
/* Writes a sentence about the words of the ACL file that have no effect here, at most
 * SW_ACL_NOTES_BYTES with the NUL. Returns its length; 0: every word has its effect. */
size_t sw_users_notes(struct sw_users *users, char *out, size_t out_bytes);
/* Every login must have ended. NULL is allowed. */
void sw_users_destroy(struct sw_users *users);

const struct sw_catalog *sw_users_catalog(const struct sw_users *users);
/* The number that a change of users raises; never 0. It is read with a relaxed atomic load. */
const uint64_t *sw_users_version(const struct sw_users *users);
/* Connections that have not logged in: adds to their number, and tells it. */
void sw_users_count_waiting(struct sw_users *users, int change);
uint64_t sw_users_waiting(const struct sw_users *users);
/* Does everybody get in, because `default` is on and has no password? */
bool sw_users_are_open(struct sw_users *users);

/* --- logins ----------------------------------------------------------------------------------- */

struct sw_login {
    uint64_t free_at; /* the version at which the user may do everything; 0: it has to be asked */
    uint64_t version; /* at which `user` was looked at */
    const struct sw_user *user;     /* a reference; NULL: nobody has logged in */
    const struct sw_ranges *ranges; /* the keys that the user may touch; NULL: all */
    struct sw_account *account;     /* a reference */
};

enum sw_login_state {
    SW_LOGIN_NONE,   /* nobody has logged in */
    SW_LOGIN_IN,     /* login->user is what the user may do now */
    SW_LOGIN_DELETED /* the user has been deleted: the connection has to be closed */
};

/* May the login do everything? Then nothing else has to be asked. */
static inline bool sw_login_is_free(const struct sw_login *login, const uint64_t *version)
{
    return login->free_at == __atomic_load_n(version, __ATOMIC_RELAXED);
}

/* Begins a login, of all zeros: as `default` if that is on and has no password, else of nobody. */
void sw_login_begin(struct sw_users *users, struct sw_login *login);
/* Logs in, instead of whoever was before. Returns false, with nothing changed, if the password is
 * wrong, there is no such user, or it is off: which of these it is does not show, in the time it
 * takes either. */
bool sw_login_with_password(struct sw_users *users, struct sw_login *login, const char *name,
                            size_t name_size, const void *password, size_t password_size);
/* Logs in a user whose identity something else has shown: a Unix socket's peer, a certificate.
 * Returns false, with nothing changed, if there is no such user, or it is off. */
bool sw_login_without_password(struct sw_users *users, struct sw_login *login, const char *name,
                               size_t name_size);
void sw_login_end(struct sw_login *login);
/* Looks what the user is by now. */
enum sw_login_state sw_login_look(struct sw_users *users, struct sw_login *login);
/* Makes a second login of the same user, to be ended by itself: for what goes on without the
 * connection. `from` has logged in. */
void sw_login_copy(struct sw_users *users, const struct sw_login *from, struct sw_login *to);
/* The right that a login lacks. */
enum sw_lack { SW_LACKS_NOTHING, SW_LACKS_COMMAND, SW_LACKS_ALL_KEYS };
/* Compares what the user of a login may do with a command of the catalog; negative: the catalog has
 * no such command. `all_keys`: the request touches any key, even if the command does not. The rules
 * are those that sw_login_look has seen. All protocols ask this function. */
enum sw_lack sw_login_lacks(const struct sw_users *users, const struct sw_login *login, int command,
                            bool all_keys);
/* May the login run this command of the catalog as the rules are now, with all keys if it needs
 * them? One thread at a time uses a login. */
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

/* Makes a user or changes one, by all of the words or none. Returns 0, or -1 with redis' sentence
 * in `error`, which repeats the wrong word: it is for whoever has sent it, and not for a log. */
int sw_users_set(struct sw_users *users, const char *name, size_t size, const struct sw_word *words,
                 uint32_t count, char *error, size_t error_bytes);
/* Deletes a user; its connections find it deleted. Returns false if there is no such user. */
bool sw_users_delete(struct sw_users *users, const char *name, size_t size);

/* Read the ACL file again, all of it or, if anything in it is wrong, nothing; write it. Return 0,
 * or -1 with redis' sentences in `error`. The second waits for the file to be on storage. */
int sw_users_load(struct sw_users *users, char *error, size_t error_bytes);
int sw_users_save(struct sw_users *users, char *error, size_t error_bytes);

/* The log of what was refused, which has a lock of its own. */
struct sw_acl_log *sw_users_log(struct sw_users *users);

#endif
