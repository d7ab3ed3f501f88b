/* SPDX-License-Identifier: MIT
 *
 * test_users.c - the words of rules, the users they make, and logins.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/users/users.h"

static const struct sw_catalog_command commands[] = {
    {"get", SW_CATEGORY_READ | SW_CATEGORY_FAST, false},
    {"set", SW_CATEGORY_WRITE | SW_CATEGORY_SLOW, false},
    {"flushall", SW_CATEGORY_WRITE | SW_CATEGORY_DANGEROUS, false},
    {"client", SW_CATEGORY_ADMIN, false},
    {"client|id", SW_CATEGORY_CONNECTION, false},
    {"client|kill", SW_CATEGORY_ADMIN | SW_CATEGORY_CONNECTION, false},
};
enum { GET, SET, FLUSHALL, CLIENT, CLIENT_ID, CLIENT_KILL };
static const struct sw_catalog catalog = {commands, sizeof(commands) / sizeof(commands[0])};

#define HASH_OF_PW "30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4"

/* Applies words separated by blanks to a new user. Returns the first refusal, or NULL. */
static const char *apply(struct sw_user *user, const char *words)
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

static void make(struct sw_user *user, const char *words)
{
    memset(user, 0, sizeof(*user));
    sw_user_init(user, "u", 1);
    const char *why = apply(user, words);
    cr_assert_null(why, "%s: %s", words, why);
}

Test(users, rules_as_text)
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
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_user user, again;
        char line[SW_USER_LINE_BYTES];
        make(&user, rows[i][0]);
        sw_user_line(&user, line, sizeof(line));
        cr_assert_str_eq(line, rows[i][1], "%s: %s", rows[i][0], line);
        make(&again, line + strlen("user u "));
        cr_assert_eq(memcmp(user.commands, again.commands, sizeof(user.commands)), 0, "%s", line);
    }
}

Test(users, refused_words)
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
        "<none",
        "!" HASH_OF_PW,
        "&news",
        "%R~1",
        "(+get ~1)",
        "+get|x",
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

static unsigned bits(const struct sw_user *user)
{
    unsigned set = 0;
    for (uint32_t i = 0; i < catalog.count; i++) {
        set |= (unsigned)sw_user_may(user, i) << i;
    }
    return set;
}

Test(users, who_may_do_what)
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
}

Test(users, limits_are_kept)
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

/* --- users and logins ---------------------------------------------------------------------------
 */

static struct sw_users *create(const char *acl_file, const char *requirepass_file)
{
    const struct sw_users_options options = {&catalog, acl_file, requirepass_file, false};
    struct sw_users *users = NULL;
    char error[SW_USERS_ERROR_BYTES] = "";
    cr_assert_eq(sw_users_create(&options, &users, error, sizeof(error)), 0, "%s", error);
    return users;
}

static int set(struct sw_users *users, const char *name, const char *text)
{
    struct sw_word words[16];
    uint32_t count = 0;
    char error[SW_USERS_ERROR_BYTES];
    while (*text != '\0') {
        words[count] = (struct sw_word){text, strcspn(text, " ")};
        text += words[count].size;
        text += *text == ' ';
        count++;
    }
    return sw_users_set(users, name, strlen(name), words, count, error, sizeof(error));
}

static bool enter(struct sw_users *users, struct sw_login *login, const char *name,
                  const char *password)
{
    return sw_login_with_password(users, login, name, strlen(name), password, strlen(password));
}

Test(users, logins_follow_changes)
{
    struct sw_users *users = create("", "");
    struct sw_login first = {0}, second = {0};
    const uint64_t *version = sw_users_version(users);
    cr_assert(sw_users_are_open(users));
    sw_login_begin(users, &first);
    cr_assert(sw_login_is_free(&first, version));
    cr_assert_not(enter(users, &second, "alice", "pw")); /* there is no such user */
    cr_assert_eq(set(users, "alice", "on >pw +get"), 0);
    cr_assert_not(sw_login_is_free(&first, version)); /* it has to look */
    cr_assert_eq(sw_login_look(users, &first), SW_LOGIN_IN);
    cr_assert(sw_login_is_free(&first, version));
    cr_assert_not(enter(users, &second, "alice", "pw2"));
    cr_assert_not(enter(users, &second, "Alice", "pw"));
    cr_assert_not(enter(users, &second, "alic", "pw"));
    cr_assert_eq(sw_login_look(users, &second), SW_LOGIN_NONE);
    cr_assert(enter(users, &second, "alice", "pw"));
    cr_assert_not(sw_login_is_free(&second, version));
    cr_assert(sw_user_may(second.user, GET) && !sw_user_may(second.user, SET));
    cr_assert_not_null(second.ranges);

    cr_assert_eq(set(users, "alice", "+set gurk"), -1); /* all or nothing */
    cr_assert_eq(sw_login_look(users, &second), SW_LOGIN_IN);
    cr_assert_not(sw_user_may(second.user, SET));
    cr_assert_eq(set(users, "alice", "off +@all allkeys"), 0);
    cr_assert_eq(sw_login_look(users, &second), SW_LOGIN_IN); /* as in redis, it goes on */
    cr_assert(sw_login_is_free(&second, version));
    cr_assert_null(second.ranges);
    cr_assert_not(enter(users, &first, "alice", "pw"));
    cr_assert_not(sw_login_without_password(users, &first, "alice", 5));
    cr_assert_str_eq(first.user->name, "default"); /* a failure changes nothing */

    cr_assert(sw_users_delete(users, "alice", 5));
    cr_assert_not(sw_users_delete(users, "alice", 5));
    cr_assert_eq(set(users, "alice", "on nopass"), 0); /* another one of that name */
    cr_assert_eq(sw_login_look(users, &second), SW_LOGIN_DELETED);
    sw_login_end(&second);
    cr_assert(sw_login_without_password(users, &second, "alice", 5));
    sw_login_end(&first);
    sw_login_end(&second);
    sw_users_destroy(users);
}

Test(users, passwords_of_users)
{
    struct sw_users *users = create("", "");
    struct sw_login login = {0};
    char word[64];
    for (int i = 0; i < 5; i++) {
        snprintf(word, sizeof(word), "on >pass%d", i);
        cr_assert_eq(set(users, "many", word), 0);
    }
    for (int i = 0; i < 5; i++) {
        snprintf(word, sizeof(word), "pass%d", i);
        cr_assert(enter(users, &login, "many", word));
    }
    cr_assert_not(enter(users, &login, "many", "pass5"));
    cr_assert_not(enter(users, &login, "many", ""));
    cr_assert_eq(set(users, "none", "on"), 0); /* has no password, and is not nopass */
    cr_assert_not(enter(users, &login, "none", ""));
    cr_assert_eq(set(users, "default", "resetpass"), 0);
    cr_assert_not(sw_users_are_open(users));
    sw_login_end(&login);
    sw_login_begin(users, &login);
    cr_assert_eq(sw_login_look(users, &login), SW_LOGIN_NONE);
    cr_assert_not(sw_login_is_free(&login, sw_users_version(users)));
    cr_assert_eq(set(users, "a b", "on"), -1);
    cr_assert_eq(set(users, "", "on"), -1);
    sw_users_destroy(users);
}

/* --- files
 * ---------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text, mode_t mode)
{
    unlink(path);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
}

struct folder {
    char name[64], acl[96], password[96];
};

static struct folder make_folder(void)
{
    struct folder folder = {.name = "/tmp/sherwood-users-XXXXXX"};
    cr_assert_not_null(mkdtemp(folder.name));
    snprintf(folder.acl, sizeof(folder.acl), "%s/acl", folder.name);
    snprintf(folder.password, sizeof(folder.password), "%s/password", folder.name);
    return folder;
}

static void remove_folder(const struct folder *folder)
{
    unlink(folder->acl);
    unlink(folder->password);
    cr_assert_eq(rmdir(folder->name), 0); /* nothing else was left there */
}

Test(users, files_are_all_or_nothing)
{
    struct folder folder = make_folder();
    struct sw_user user;
    char error[SW_USERS_ERROR_BYTES];
    write_file(folder.acl, "# people\n\nuser alice on >pw +get\r\nuser bob on nopass\n", 0600);
    struct sw_users *users = create(folder.acl, "");
    struct sw_login alice = {0}, bob = {0};
    cr_assert(enter(users, &alice, "alice", "pw") && enter(users, &bob, "bob", ""));
    cr_assert(sw_users_are_open(users)); /* the file does not speak of default */

    write_file(folder.acl, "user alice on gurk\nuser carol on\nuser carol off\nusr dave\n", 0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), -1);
    cr_assert_not_null(strstr(error, "acl:1: Syntax error"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:3: this user is there already"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:4: "), "%s", error);
    cr_assert_not(sw_users_find(users, "carol", 5, &user));
    cr_assert(sw_users_find(users, "bob", 3, &user));

    write_file(folder.acl, "user carol off\nuser alice on +set\nuser default off\n", 0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), 0, "%s", error);
    cr_assert_eq(sw_login_look(users, &bob), SW_LOGIN_DELETED);
    cr_assert_eq(sw_login_look(users, &alice), SW_LOGIN_IN); /* the same account */
    cr_assert(sw_user_may(alice.user, SET) && !sw_user_may(alice.user, GET));
    cr_assert_not(sw_users_are_open(users));

    cr_assert_eq(set(users, "erin", "on >secret ~1-5 +@read"), 0);
    cr_assert_eq(sw_users_save(users, error, sizeof(error)), 0, "%s", error);
    struct stat status;
    cr_assert(stat(folder.acl, &status) == 0 && (status.st_mode & 0777) == 0600);
    struct sw_users *again = create(folder.acl, "");
    cr_assert(sw_users_find(again, "erin", 4, &user) && user.hash_count == 1);
    sw_users_destroy(again);
    sw_login_end(&alice);
    sw_login_end(&bob);
    sw_users_destroy(users);
    remove_folder(&folder);
}

static void expect_refusal(const char *acl, const char *password, const char *sentence)
{
    const struct sw_users_options options = {&catalog, acl, password, false};
    struct sw_users *users = NULL;
    char error[SW_USERS_ERROR_BYTES] = "";
    cr_assert_eq(sw_users_create(&options, &users, error, sizeof(error)), -1, "%s", sentence);
    cr_assert_not_null(strstr(error, sentence), "%s: %s", sentence, error);
    cr_assert_null(strstr(error, "hunter2"), "%s", error);
}

Test(users, files_of_secrets)
{
    struct folder folder = make_folder();
    write_file(folder.password, "hunter2\n", 0600);
    struct sw_users *users = create("", folder.password);
    struct sw_login login = {0};
    cr_assert_not(sw_users_are_open(users));
    cr_assert(enter(users, &login, "default", "hunter2"));
    cr_assert_not(enter(users, &login, "default", "hunter2\n"));
    cr_assert(sw_login_is_free(&login, sw_users_version(users)));
    sw_login_end(&login);
    sw_users_destroy(users);

    setenv("CREDENTIALS_DIRECTORY", folder.name, 1);
    sw_users_destroy(create("", "password"));
    unsetenv("CREDENTIALS_DIRECTORY");
    expect_refusal("", "password", "No such file");
    chmod(folder.password, 0644);
    expect_refusal("", folder.password, "may be read by everybody");
    chmod(folder.password, 0660);
    expect_refusal("", folder.password, "may be written by others");
    chmod(folder.password, 0440);
    sw_users_destroy(create("", folder.password));
    write_file(folder.password, "\nhunter2\n", 0600);
    expect_refusal("", folder.password, "the first line");
    expect_refusal("", folder.name, "a directory, not a regular file");
    write_file(folder.password, "hunter2\n", 0600);
    write_file(folder.acl, "user default on >hunter2\n", 0600);
    expect_refusal(folder.acl, folder.password, "which of them is right?");
    write_file(folder.acl, "user default on ~hunter2\n", 0600);
    expect_refusal(folder.acl, "", ":1: Keys are integers");
    remove_folder(&folder);
}

Test(users, log_of_refusals)
{
    struct sw_acl_log *log = sw_acl_log_create();
    struct sw_acl_entry entry = {.reason = SW_ACL_AUTH, .at_ms = 1000}, out[SW_ACL_LOG_MAX];
    for (int i = 0; i < 3 * SW_ACL_LOG_MAX; i++) {
        snprintf(entry.object, sizeof(entry.object), "%d", i / 2);
        sw_acl_log_add(log, &entry);
    }
    cr_assert_eq(sw_acl_log_copy(log, out, SW_ACL_LOG_MAX), SW_ACL_LOG_MAX);
    cr_assert(out[0].count == 2 && atoi(out[0].object) == 3 * SW_ACL_LOG_MAX / 2 - 1);
    entry.at_ms += 60000; /* too late to be the same */
    sw_acl_log_add(log, &entry);
    cr_assert_eq(sw_acl_log_copy(log, out, 1), 1);
    cr_assert_eq(out[0].count, 1);
    sw_acl_log_reset(log);
    cr_assert_eq(sw_acl_log_copy(log, out, SW_ACL_LOG_MAX), 0);
    sw_acl_log_destroy(log);
}
