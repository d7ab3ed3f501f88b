/* SPDX-License-Identifier: MIT
 *
 * user.h - the rights of a user: one struct, changed by the words of redis' ACL rules.
 *
 * A struct that connections can see never changes: a change of a user is made in a copy. Threads:
 * any.
 */
#ifndef SHERWOOD_SERVER_USERS_USER_H
#define SHERWOOD_SERVER_USERS_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/users/catalog.h"
#include "server/users/password.h"
#include "server/users/ranges.h"

#define SW_USER_NAME_BYTES 64 /* with the NUL */
/* Most passwords of a user. Each is compared at a login. */
#define SW_USER_HASHES_MAX 32
/* Longest text of the rules about commands, with the NUL. */
#define SW_USER_COMMANDS_BYTES 2048
/* The longest line about a user, in an ACL file and in ACL LIST. */
#define SW_USER_LINE_BYTES 8192

struct sw_user {
    uint64_t refs; /* atomic reference count (user_list.c) */
    char name[SW_USER_NAME_BYTES];
    bool is_on;
    bool no_password; /* every password is right */
    bool all_keys;
    bool all_channels; /* only stored in ACL files: this server has no channels */
    bool all_commands; /* every command of the catalog */
    uint64_t commands[SW_CATALOG_COMMANDS_MAX / 64]; /* a bit each, of the catalog's index */
    char commands_text[SW_USER_COMMANDS_BYTES];      /* "-@all +@read" */
    struct sw_ranges ranges;                         /* without all_keys: only these keys */
    uint32_t hash_count;
    struct sw_hash hashes[SW_USER_HASHES_MAX];
};

/* Makes a user who is off, and may do nothing. The name must fit (sw_user_name_fits). */
void sw_user_init(struct sw_user *user, const char *name, size_t size);
/* Makes the user `default` without options: on, no password, all rights. */
void sw_user_init_default(struct sw_user *user, const struct sw_catalog *catalog);

/* Returns true if the name is allowed: printable bytes without spaces, and short enough. */
bool sw_user_name_fits(const char *name, size_t size);

/* Applies one word: on, >password, +@read, ~1000-1999 and so on. Returns NULL; or changes nothing
 * and returns an error, in redis' words if it has them. Accepts every word that redis accepts,
 * except key patterns that are not ranges. No word gives a user more rights than in redis. */
const char *sw_user_apply(struct sw_user *user, const struct sw_catalog *catalog, const char *word,
                          size_t size);

/* Effect of a word that sw_user_apply accepts. */
enum sw_rule_effect {
    SW_RULE_APPLIED,
    SW_RULE_VOID, /* no effect: the word is about something that this server lacks */
    SW_RULE_LESS  /* no effect, but redis would give the user rights */
};
enum sw_rule_effect sw_user_effect(const struct sw_catalog *catalog, const char *word, size_t size);

static inline bool sw_user_may(const struct sw_user *user, uint32_t command)
{
    return (user->commands[command / 64] >> command % 64 & 1) != 0;
}
/* Returns true if the user may run every command with every key. */
static inline bool sw_user_is_free(const struct sw_user *user)
{
    return user->all_commands && user->all_keys;
}

/* Text of a user (user_text.c). Both write a NUL, and return the length. Spaces separate the keys:
 * "~*" or "~1000-1999 ~5". */
size_t sw_user_keys_text(const struct sw_user *user, char *out, size_t room);
/* "user alice on #<hash> ~1000-1999 resetchannels -@all +@read": a line of an ACL file. */
size_t sw_user_line(const struct sw_user *user, char *out, size_t room);

#endif
