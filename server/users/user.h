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
/* Most tables that the rules of a user list, and the longest name of one, with the NUL. */
#define SW_USER_TABLES_MAX 64
#define SW_USER_TABLE_BYTES 64
/* The longest line about a user, in an ACL file and in ACL LIST. */
#define SW_USER_LINE_BYTES 12288

/* A table that a rule lists: the place with this number, or with this name. */
struct sw_user_table {
    uint32_t number;                /* if there is no name */
    char name[SW_USER_TABLE_BYTES]; /* "": the rule lists the number */
};

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
    bool all_tables;
    uint32_t table_count; /* without all_tables: only `tables`; one more while a table is renamed */
    struct sw_user_table tables[SW_USER_TABLES_MAX + 1];
    uint32_t hash_count;
    struct sw_hash hashes[SW_USER_HASHES_MAX];
};

/* Makes a user who is off, and may do nothing. The name must fit (sw_user_name_fits). */
void sw_user_init(struct sw_user *user, const char *name, size_t size);
/* Makes the user `default` without options: on, no password, all rights. */
void sw_user_init_default(struct sw_user *user, const struct sw_commands *catalog);

/* Returns true if the name is allowed: printable bytes without spaces, and short enough. */
bool sw_user_name_fits(const char *name, size_t size);

/* Applies one word: on, >password, +@read, ~1000-1999 and so on. Returns NULL; or changes nothing
 * and returns an error, in redis' words if it has them. Accepts every word that redis accepts,
 * except key patterns that are not ranges. No word gives a user more rights than in redis. */
const char *sw_user_apply(struct sw_user *user, const struct sw_commands *catalog, const char *word,
                          size_t size);

/* Effect of a word that sw_user_apply accepts. */
enum sw_rule_effect {
    SW_RULE_APPLIED,
    SW_RULE_VOID, /* no effect: the word is about something that this server lacks */
    SW_RULE_LESS  /* no effect, but redis would give the user rights */
};
enum sw_rule_effect sw_user_effect(const struct sw_commands *catalog, const char *word,
                                   size_t size);

static inline bool sw_user_may(const struct sw_user *user, uint32_t command)
{
    return (user->commands[command / 64] >> command % 64 & 1) != 0;
}
/* Returns true if the user may run every command with every key of every table. */
static inline bool sw_user_is_free(const struct sw_user *user)
{
    return user->all_commands && user->all_keys && user->all_tables;
}

/* The tables of a user (user_tables.c). */
#define SW_USER_NO_NUMBER UINT32_MAX
/* Grants all tables, or none. */
void sw_user_set_tables(struct sw_user *user, bool all);
/* Replaces the tables by a list, "0,served": numbers and names. Returns NULL; or changes nothing
 * and returns an error. */
const char *sw_user_apply_tables(struct sw_user *user, const struct sw_commands *catalog,
                                 const char *list, size_t size);
/* Returns true if the user may use the table in the place with this number and this name.
 * SW_USER_NO_NUMBER and "": the place has none. */
bool sw_user_may_use(const struct sw_user *user, uint32_t number, const char *name);
/* Lets the rules that list `name` also list `to`; with `to` NULL they no longer list `name`. If
 * `tables` is full, `to` replaces `name`. Returns true if that changes the user. */
bool sw_user_rename_table(struct sw_user *user, const char *name, const char *to);

/* Text of a user (user_text.c). They write a NUL, and return the length. Spaces separate the keys:
 * "~*" or "~1000-1999 ~5". */
size_t sw_user_keys_text(const struct sw_user *user, char *out, size_t room);
/* "alldbs", "db=0,served", or "" if the user has no table. */
size_t sw_user_tables_text(const struct sw_user *user, char *out, size_t room);
/* "user alice on #<hash> ~1000-1999 resetchannels db=0 -@all +@read": a line of an ACL file. It has
 * no word about tables if the user has all. */
size_t sw_user_line(const struct sw_user *user, char *out, size_t room);

#endif
