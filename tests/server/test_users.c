/* SPDX-License-Identifier: MIT
 *
 * test_users.c - the users of a server, their files, and logins.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/server/users_fixture.h"

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

/* The right that a user made of these words lacks. */
static enum sw_lack lack_of(const char *words, int command, bool all_keys)
{
    struct sw_users *users = create("", "");
    struct sw_login login = {0};
    cr_assert_eq(set(users, "u", words), 0);
    cr_assert(enter(users, &login, "u", "pw"));
    const enum sw_lack lack = sw_login_lacks(users, &login, command, all_keys);
    cr_assert_eq(sw_login_may(users, &login, command < 0 ? SET : (uint32_t)command),
                 sw_login_lacks(users, &login, command < 0 ? SET : command, false) ==
                     SW_LACKS_NOTHING);
    sw_login_end(&login);
    sw_users_destroy(users);
    return lack;
}

Test(users, one_right_is_lacking)
{
    static const char all[] = "on >pw +@all ~*", some[] = "on >pw +@all ~1-9",
                      reads[] = "on >pw +get ~1-9";
    cr_assert_eq(lack_of(all, FLUSHALL, true), SW_LACKS_NOTHING);
    cr_assert_eq(lack_of(all, -1, false), SW_LACKS_COMMAND); /* no such command */
    cr_assert_eq(lack_of(some, SET, false), SW_LACKS_NOTHING);
    cr_assert_eq(lack_of(some, SET, true), SW_LACKS_ALL_KEYS);
    cr_assert_eq(lack_of(some, FLUSHALL, false), SW_LACKS_ALL_KEYS);
    cr_assert_eq(lack_of(reads, GET, false), SW_LACKS_NOTHING);
    cr_assert_eq(lack_of(reads, GET, true), SW_LACKS_ALL_KEYS);
    cr_assert_eq(lack_of(reads, SET, false), SW_LACKS_COMMAND);
    cr_assert_eq(lack_of(reads, FLUSHALL, true), SW_LACKS_COMMAND); /* it is named first */
    cr_assert_eq(lack_of("on >pw +@all ~* db=0", FLUSHALL, false), SW_LACKS_ALL_TABLES);
    cr_assert_eq(lack_of("on >pw +@all ~* db=0", GET, true), SW_LACKS_NOTHING);
    cr_assert_eq(lack_of("on >pw +@all ~* resetdbs", SET, false), SW_LACKS_NOTHING);
    cr_assert_eq(lack_of("on >pw +@all ~1-9 db=0", FLUSHALL, false), SW_LACKS_ALL_KEYS);
}

/* The rules follow a table that is renamed: first under both names, then under the new one. */
Test(users, rules_follow_a_renamed_table)
{
    struct sw_users *users = create("", "");
    struct sw_login login = {0};
    struct sw_user other;
    cr_assert_eq(set(users, "u", "on >pw +@all ~* db=0,served"), 0);
    cr_assert_eq(set(users, "x", "on >pw +@all ~* db=0"), 0);
    cr_assert(enter(users, &login, "u", "pw"));
    const uint64_t version = *sw_users_version(users);
    cr_assert_eq(sw_users_rename_table(users, "absent", "v2"), 0);
    cr_assert_eq(*sw_users_version(users), version); /* no user has changed */
    cr_assert_eq(sw_users_rename_table(users, "served", "v2"), 0);
    cr_assert_eq(sw_login_refresh(users, &login), SW_LOGIN_IN);
    cr_assert(sw_user_may_use(login.user, 9, "served") && sw_user_may_use(login.user, 9, "v2"));
    cr_assert_eq(sw_users_rename_table(users, "served", NULL), 0);
    cr_assert_eq(sw_login_refresh(users, &login), SW_LOGIN_IN);
    cr_assert(!sw_user_may_use(login.user, 9, "served") && sw_user_may_use(login.user, 9, "v2"));
    cr_assert(sw_user_may_use(login.user, 0, "default"));
    cr_assert(sw_users_find(users, "x", 1, &other) && !sw_user_may_use(&other, 9, "v2"));
    sw_login_end(&login);
    sw_users_destroy(users);
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
    cr_assert_eq(sw_login_refresh(users, &first), SW_LOGIN_IN);
    cr_assert(sw_login_is_free(&first, version));
    cr_assert_not(enter(users, &second, "alice", "pw2"));
    cr_assert_not(enter(users, &second, "Alice", "pw"));
    cr_assert_not(enter(users, &second, "alic", "pw"));
    cr_assert_eq(sw_login_refresh(users, &second), SW_LOGIN_NONE);
    cr_assert(enter(users, &second, "alice", "pw"));
    cr_assert_not(sw_login_is_free(&second, version));
    cr_assert(sw_user_may(second.user, GET) && !sw_user_may(second.user, SET));
    cr_assert_not_null(second.ranges);

    cr_assert_eq(set(users, "alice", "+set gurk"), -1); /* all or nothing */
    cr_assert_eq(sw_login_refresh(users, &second), SW_LOGIN_IN);
    cr_assert_not(sw_user_may(second.user, SET));
    cr_assert_eq(set(users, "alice", "off +@all allkeys"), 0);
    cr_assert_eq(sw_login_refresh(users, &second), SW_LOGIN_IN); /* as in redis, it goes on */
    cr_assert(sw_login_is_free(&second, version));
    cr_assert_null(second.ranges);
    cr_assert_not(enter(users, &first, "alice", "pw"));
    cr_assert_not(sw_login_without_password(users, &first, "alice", 5));
    cr_assert_str_eq(first.user->name, "default"); /* a failure changes nothing */

    cr_assert(sw_users_delete(users, "alice", 5));
    cr_assert_not(sw_users_delete(users, "alice", 5));
    cr_assert_eq(set(users, "alice", "on nopass"), 0); /* another one of that name */
    cr_assert_eq(sw_login_refresh(users, &second), SW_LOGIN_DELETED);
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
    cr_assert_eq(sw_login_refresh(users, &login), SW_LOGIN_NONE);
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
    cr_assert_not_null(strstr(error, "acl:1: Syntax error: 'gurk'"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:3: this user exists already"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:4: "), "%s", error);
    cr_assert_not(sw_users_find(users, "carol", 5, &user));
    cr_assert(sw_users_find(users, "bob", 3, &user));

    write_file(folder.acl, "user carol off\nuser alice on +set\nuser default off\n", 0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), 0, "%s", error);
    cr_assert_eq(sw_login_refresh(users, &bob), SW_LOGIN_DELETED);
    cr_assert_eq(sw_login_refresh(users, &alice), SW_LOGIN_IN); /* the same account */
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

static void expect_notes(struct sw_users *users, const char *acl, const char *text,
                         const char *notes)
{
    char error[SW_USERS_ERROR_BYTES], said[SW_ACL_NOTES_BYTES];
    write_file(acl, text, 0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), 0, "%s", error);
    cr_assert_eq(sw_users_notes(users, said, sizeof(said)), strlen(said));
    cr_assert_null(strstr(said, HASH_OF_PW));
    const char *behind = strstr(said, "acl:");
    cr_assert_str_eq(behind == NULL ? "" : behind + 4, notes);
}

Test(users, files_that_redis_writes)
{
    struct folder folder = make_folder();
    char error[SW_USERS_ERROR_BYTES], text[4096] = "";
    struct sw_user user;
    write_file(folder.acl, "user a on sanitize-payload ~* resetchannels -@all\n", 0600);
    struct sw_users *users = create(folder.acl, "");
    expect_notes(users, folder.acl, "user a on #" HASH_OF_PW " ~* &* +@all\n", "");
    expect_notes(users, folder.acl,
                 "user a on sanitize-payload ~5 resetchannels &news +@all -debug -xinfo|stream\n"
                 "user b on sanitize-payload %R~app:* resetchannels -@all (~1-3  resetchannels "
                 "-@all +get) +set (%W~x +@read)\n",
                 " these words have no effect in this server: 'sanitize-payload' (line 1), '&news' "
                 "(line 1), '-debug' (line 1), '-xinfo|stream' (line 1); this server does not "
                 "grant these rights, and ACL SAVE leaves them out: '%R~app:*' (line 2), '(~1-3  "
                 "resetchannels -@all +get)' (line 2), '(%W~x +@read)' (line 2)");
    cr_assert(sw_users_find(users, "b", 1, &user));
    cr_assert_eq(bits(&user), 1U << SET);
    cr_assert(!user.all_keys && user.ranges.count == 0 && !user.all_channels);

    write_file(folder.acl,
               "user a on (+get ~1\nuser b on +nosuch\nuser c on <secret\nuser d (>secret)\n"
               "user e on\x01>secret\n",
               0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), -1);
    cr_assert_not_null(strstr(error, "acl:1: Unmatched parenthesis in acl selector: '(+get ~1'"));
    cr_assert_not_null(strstr(error, "acl:2: Unknown command or category name in ACL: '+nosuch'"));
    cr_assert_not_null(strstr(error, "acl:3: "), "%s", error);
    cr_assert_not_null(strstr(error, "'on?>...'"), "%s", error);
    cr_assert_null(strstr(error, "secret"), "%s", error);
    cr_assert_gt(sw_users_notes(users, error, sizeof(error)), 0); /* of the file that holds */
    write_file(folder.acl,
               "user a on > secret\nuser b on on>\tsecret\nuser > secret on\n"
               "user d > ~secret\nuser e off wat secret\n",
               0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), -1);
    cr_assert_null(strstr(error, "secret"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:1: Syntax error: a word not shown here"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:2: Syntax error: 'on>'"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:3: Syntax error: a word not shown here"), "%s", error);
    cr_assert_not_null(strstr(error, "acl:4: "), "%s", error);
    cr_assert_not_null(strstr(error, "acl:5: Syntax error: 'wat'"), "%s", error);

    for (int i = 0; i < 99; i++) { /* more words than a sentence has room for */
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "user u%d &some-channel-%d\n", i,
                 i);
    }
    write_file(folder.acl, text, 0600);
    cr_assert_eq(sw_users_load(users, error, sizeof(error)), 0, "%s", error);
    cr_assert_gt(sw_users_notes(users, text, SW_ACL_NOTES_BYTES), 300);
    cr_assert_not_null(strstr(text, " more"), "%s", text);
    cr_assert_eq(set(users, "x", "+get (+set)"), -1); /* the error comes at once */
    cr_assert_eq(set(users, "x", "%R~1"), -1);
    cr_assert_eq(set(users, "x", "+get|x"), -1);
    cr_assert_eq(set(users, "x", "sanitize-payload clearselectors -debug &news %RW~1"), 0);
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
    expect_refusal("", folder.password, "is readable by everybody");
    chmod(folder.password, 0660);
    expect_refusal("", folder.password, "is writable by others");
    chmod(folder.password, 0440);
    sw_users_destroy(create("", folder.password));
    write_file(folder.password, "\nhunter2\n", 0600);
    expect_refusal("", folder.password, "the first line");
    expect_refusal("", folder.name, "a directory, not a regular file");
    write_file(folder.password, "hunter2\n", 0600);
    write_file(folder.acl, "user default on >hunter2\n", 0600);
    expect_refusal(folder.acl, folder.password, "remove one of the definitions");
    write_file(folder.acl, "user default on ~hunter2\n", 0600);
    expect_refusal(folder.acl, "", ":1: Users have no patterns of texts: write ~* for all keys");
    write_file(folder.acl, "user default on ~5-1\n", 0600);
    expect_refusal(folder.acl, "", "a range, smaller number first (~1000-1999)");
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
