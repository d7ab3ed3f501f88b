/* SPDX-License-Identifier: MIT
 *
 * users_fixture.h - a catalog of a few commands, and users made of words.
 */
#ifndef SHERWOOD_TESTS_SERVER_USERS_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_USERS_FIXTURE_H

#include <criterion/criterion.h>
#include <string.h>
#include <strings.h>

#include "server/users/users.h"
#include "tests/support/absent_commands.h"

static const struct sw_catalog_command commands[] = {
    {"get", SW_CATEGORY_READ | SW_CATEGORY_FAST, false, SW_SCOPE_SELECTED},
    {"set", SW_CATEGORY_WRITE | SW_CATEGORY_SLOW, false, SW_SCOPE_SELECTED},
    {"flushall", SW_CATEGORY_WRITE | SW_CATEGORY_DANGEROUS, true, SW_SCOPE_ALL},
    {"client", SW_CATEGORY_ADMIN, false, SW_SCOPE_NONE},
    {"client|id", SW_CATEGORY_CONNECTION, false, SW_SCOPE_NONE},
    {"client|kill", SW_CATEGORY_ADMIN | SW_CATEGORY_CONNECTION, false, SW_SCOPE_NONE},
};
enum { GET, SET, FLUSHALL, CLIENT, CLIENT_ID, CLIENT_KILL };

static bool is_table_name(const char *name, size_t size)
{
    return size > 0 && name[0] >= 'a' && name[0] <= 'z';
}

static const struct sw_commands catalog = {commands, sizeof(commands) / sizeof(commands[0]),
                                           absence, is_table_name};

#define HASH_OF_PW "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4"

/* Applies words separated by blanks to a new user. Returns the first refusal, or NULL. */
static inline const char *apply(struct sw_user *user, const char *words)
{
    while (*words != '\0') {
        size_t size = strcspn(words, " ");
        const char *why = sw_user_apply(user, &catalog, words, size);
        if (why != NULL) {
            return why;
        }
        words += size;
        words += *words == ' ';
    }
    return NULL;
}

static inline void make(struct sw_user *user, const char *words)
{
    memset(user, 0, sizeof(*user));
    sw_user_init(user, "u", 1);
    const char *why = apply(user, words);
    cr_assert_null(why, "%s: %s", words, why);
}

static inline unsigned bits(const struct sw_user *user)
{
    unsigned set = 0;
    for (uint32_t i = 0; i < catalog.count; i++) {
        set |= (unsigned)sw_user_may(user, i) << i;
    }
    return set;
}

#endif
