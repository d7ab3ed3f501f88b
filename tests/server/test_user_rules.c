/* SPDX-License-Identifier: MIT
 *
 * test_user_rules.c - the words of rules, and the users they make.
 */
#include <stdio.h>

#include "tests/server/users_fixture.h"

Test(user_rules, rules_as_text)
{
    static const char *const rows[][2] = {
        {"", "user u off resetchannels -@all"},
        {"on nopass allkeys allcommands allchannels", "user u on nopass ~* &* +@all"},
        {"on >pw", "user u on #" HASH_OF_PW " resetchannels -@all"},
        {"on #" HASH_OF_PW, "user u on #" HASH_OF_PW " resetchannels -@all"},
        {"nopass >pw", "user u off #" HASH_OF_PW " resetchannels -@all"},
        {">pw >pw nopass", "user u off nopass resetchannels -@all"},
        {">pw <pw", "user u off resetchannels -@all"},
        {">pw !" HASH_OF_PW, "user u off resetchannels -@all"},
        {">pw >x resetpass", "user u off resetchannels -@all"},
        {"~5 ~1-3 ~4", "user u off ~1-5 resetchannels -@all"},
        {"~5 ~7", "user u off ~5 ~7 resetchannels -@all"},
        {"~5 allkeys", "user u off ~* resetchannels -@all"},
        {"~* resetkeys ~9", "user u off ~9 resetchannels -@all"},
        {"~0-18446744073709551615", "user u off ~0-18446744073709551615 resetchannels -@all"},
        {"+get -get +set", "user u off resetchannels -@all -get +set"},
        {"+@READ +GET", "user u off resetchannels -@all +@read +get"},
        {"+client|kill +client", "user u off resetchannels -@all +client"},
        {"+client -client|kill", "user u off resetchannels -@all +client -client|kill"},
        {"+get +@all", "user u off resetchannels +@all"},
        {"+@all -@dangerous", "user u off resetchannels +@all -@dangerous"},
        {"on >pw ~1 +get reset", "user u off resetchannels -@all"},
        {"+@scripting", "user u off resetchannels -@all +@scripting"},
        {"sanitize-payload skip-sanitize-payload clearselectors &news",
         "user u off resetchannels -@all"},
        {"+@all -debug -XINFO|stream", "user u off resetchannels +@all -debug -xinfo|stream"},
        {"-@all +xinfo +debug|sleep", "user u off resetchannels -@all +xinfo +debug|sleep"},
        {"%RW~1-3 %wr~7 %R~9 %W~*", "user u off ~1-3 ~7 resetchannels -@all"},
        {"+@all -dump", "user u off resetchannels +@all -dump"},
        {"+@all -dump +dump", "user u off resetchannels +@all -dump"},
        {"-dump +get", "user u off resetchannels -@all -dump +get"},
        {"+get|x", "user u off resetchannels -@all"},
        {"resetdbs", "user u off resetchannels resetdbs -@all"},
        {"db=0,served,v2", "user u off resetchannels db=0,served,v2 -@all"},
        {"DB=7 db=1,2,1", "user u off resetchannels db=1,2 -@all"},
        {"db=4294967294 +get", "user u off resetchannels db=4294967294 -@all +get"},
        {"db=1 alldbs", "user u off resetchannels -@all"},
        {"db=1 resetdbs", "user u off resetchannels resetdbs -@all"},
        {"db=1 reset", "user u off resetchannels -@all"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_user user, again;
        char line[SW_USER_LINE_BYTES];
        make(&user, rows[i][0]);
        sw_user_line(&user, line, sizeof(line));
        cr_assert_str_eq(line, rows[i][1], "%s: %s", rows[i][0], line);
        make(&again, line + strlen("user u "));
        cr_assert_eq(memcmp(user.commands, again.commands, sizeof(user.commands)), 0, "%s", line);
        cr_assert(user.all_tables == again.all_tables && user.table_count == again.table_count,
                  "%s", line);
    }
}

Test(user_rules, refused_words)
{
    static const char *const words[] = {
        "gurk",
        "",
        "+nosuch",
        "+@nosuch",
        "-",
        "+",
        "~",
        "~a",
        "~1-",
        "~-1",
        "~3-2",
        "~1-2-3",
        "~00x",
        "~18446744073709551616",
        "#12",
        "#" HASH_OF_PW "0",
        "#30C952FAB122C3F9759F02A6D95C3758B246B4FEE239957B2D4FEE46E26170C4",
        "#30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170cg",
        "<none",
        "!" HASH_OF_PW,
        "%~1",
        "%RR~1",
        "%X~1",
        "%R",
        "%RW~a",
        "(+get ~1",
        "(",
        "(gurk)",
        "(+nosuch)",
        "((+get))",
        "-get|x",
        "+client|x",
        "-debug|x",
        "+xinfo|x",
        "+debug|",
        "+nosuch|x",
        "+@nosuch|x",
        "-@read|x",
        "db=",
        "db=,",
        "db=1,",
        "db=,1",
        "db=1,,2",
        "db=-1",
        "db=4294967295",
        "db=A",
        "db",
        "(db=)",
    };
    struct sw_user user, before;
    make(&user, "on ~1-5 +get");
    before = user;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *why = sw_user_apply(&user, &catalog, words[i], strlen(words[i]));
        cr_assert_not_null(why, "%s", words[i]);
        cr_assert_eq(memcmp(&user, &before, sizeof(user)), 0, "%s", words[i]);
    }
    cr_assert_not_null(apply(&user, "~* ~7")); /* it would have no effect */
}

Test(user_rules, who_may_do_what)
{
    static const struct {
        const char *words;
        unsigned may;
    } rows[] = {
        {"", 0},
        {"+@all", 0x3f},
        {"+@all -client", 0x3f & ~(1U << CLIENT | 1U << CLIENT_ID | 1U << CLIENT_KILL)},
        {"+@all -client +client|id", 0x3f & ~(1U << CLIENT | 1U << CLIENT_KILL)},
        {"+@connection", 1U << CLIENT_ID | 1U << CLIENT_KILL},
        {"+@connection -@admin", 1U << CLIENT_ID},
        {"+@write -@dangerous", 1U << SET},
        {"-@dangerous +@write", 1U << SET | 1U << FLUSHALL},
        {"+@read +@write -get", 1U << SET | 1U << FLUSHALL},
        {"+@all -debug -xinfo", 0x3f},
        {"+@all -dump", 0x3e}, /* GET does here what DUMP does in redis */
        {"+dump +xinfo +get|x +debug|x", 0},
        {"-dump +dump +set", 1U << SET},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_user user;
        make(&user, rows[i].words);
        cr_assert_eq(bits(&user), rows[i].may, "%s: %x", rows[i].words, bits(&user));
        cr_assert_eq(user.all_commands, rows[i].may == 0x3f, "%s", rows[i].words);
    }
    struct sw_user user;
    make(&user, "+@all -get +get allkeys");
    cr_assert(sw_user_is_free(&user)); /* by whatever words */
    make(&user, "+@all ~1");
    cr_assert_not(sw_user_is_free(&user));
    make(&user, "+@all ~* db=0");
    cr_assert_not(sw_user_is_free(&user));
}

Test(user_rules, tables_have_numbers_and_names)
{
    struct sw_user user;
    char list[SW_USER_LINE_BYTES] = "db=";
    make(&user, "db=7,served");
    cr_assert(sw_user_may_use(&user, 7, "other"));
    cr_assert(sw_user_may_use(&user, 65536, "served"));
    cr_assert_not(sw_user_may_use(&user, 65536, "serve"));
    cr_assert_not(sw_user_may_use(&user, SW_USER_NO_NUMBER, ""));
    cr_assert_not(sw_user_may_use(&user, 0, "7"));
    make(&user, "resetdbs");
    cr_assert_not(sw_user_may_use(&user, 0, "default"));
    make(&user, "");
    cr_assert(sw_user_may_use(&user, 0, "default"));
    for (unsigned i = 0; i < SW_USER_TABLES_MAX; i++) {
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%sn%062u", i > 0 ? "," : "", i);
    }
    make(&user, list);
    cr_assert_eq(user.table_count, SW_USER_TABLES_MAX);
    strcat(list, ",1");
    cr_assert_not_null(apply(&user, list)); /* one too many */
    cr_assert_eq(user.table_count, SW_USER_TABLES_MAX);
    cr_assert(sw_user_rename_table(&user, user.tables[0].name, "another"));
    cr_assert_eq(user.table_count, SW_USER_TABLES_MAX + 1);
    const struct sw_user_table kept = user.tables[1]; /* as if the old name was not removed */
    cr_assert(sw_user_rename_table(&user, user.tables[0].name, "third"));
    cr_assert_eq(user.table_count, SW_USER_TABLES_MAX + 1);
    cr_assert(sw_user_may_use(&user, SW_USER_NO_NUMBER, "third"));
    cr_assert(sw_user_may_use(&user, SW_USER_NO_NUMBER, "another"));
    cr_assert(sw_user_may_use(&user, SW_USER_NO_NUMBER, kept.name));
}

/* No word grants what redis would not, and some grant nothing. */
Test(user_rules, what_words_do_here)
{
    static const struct {
        const char *word;
        enum sw_rule_effect effect;
    } rows[] = {
        {"on", SW_RULE_APPLIED},
        {"+get", SW_RULE_APPLIED},
        {"-client|kill", SW_RULE_APPLIED},
        {"&*", SW_RULE_APPLIED},
        {"%RW~1", SW_RULE_APPLIED},
        {"-dump", SW_RULE_APPLIED},
        {"clearselectors", SW_RULE_APPLIED},
        {"db=0", SW_RULE_APPLIED},
        {"(alldbs db=1 +get)", SW_RULE_LESS},
        {"sanitize-payload", SW_RULE_VOID},
        {"Skip-Sanitize-Payload", SW_RULE_VOID},
        {"&news", SW_RULE_VOID},
        {"-debug", SW_RULE_VOID},
        {"+xinfo|stream", SW_RULE_VOID},
        {"+dump", SW_RULE_VOID},
        {"+debug|x", SW_RULE_VOID},
        {"%R~*", SW_RULE_LESS},
        {"%W~1", SW_RULE_LESS},
        {"(+@all ~*)", SW_RULE_LESS},
        {"()", SW_RULE_LESS},
        {"+get|x", SW_RULE_LESS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_user user, before;
        make(&user, "on ~1-5 +set");
        before = user;
        const size_t size = strlen(rows[i].word);
        cr_assert_null(sw_user_apply(&user, &catalog, rows[i].word, size), "%s", rows[i].word);
        cr_assert_eq(sw_user_effect(&catalog, rows[i].word, size), rows[i].effect, "%s",
                     rows[i].word);
        if (rows[i].effect != SW_RULE_APPLIED) {
            cr_assert_eq(bits(&user), bits(&before), "%s", rows[i].word);
            cr_assert_eq(memcmp(&user.ranges, &before.ranges, sizeof(user.ranges)), 0, "%s",
                         rows[i].word);
            cr_assert(!user.all_keys && !user.all_commands, "%s", rows[i].word);
        }
    }
}

Test(user_rules, limits_are_kept)
{
    struct sw_user user;
    char word[32];
    make(&user, "");
    for (int i = 0; i < SW_USER_HASHES_MAX; i++) {
        snprintf(word, sizeof(word), ">%d", i);
        cr_assert_null(apply(&user, word));
    }
    cr_assert_not_null(apply(&user, ">one more"));
    cr_assert_null(apply(&user, ">7")); /* it has this one */
    for (int i = 0; i < SW_RANGES_MAX; i++) {
        snprintf(word, sizeof(word), "~%d", i * 2);
        cr_assert_null(apply(&user, word));
    }
    cr_assert_not_null(apply(&user, "~1000"));
    cr_assert_null(apply(&user, "~1")); /* joins two */
    cr_assert_eq(user.ranges.count, SW_RANGES_MAX - 1);
    char line[SW_USER_LINE_BYTES];
    cr_assert_lt(sw_user_line(&user, line, sizeof(line)), sizeof(line) - SW_USER_COMMANDS_BYTES);
}
