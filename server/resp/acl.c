/* SPDX-License-Identifier: MIT
 *
 * acl.c - ACL: the users, and their rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/log.h"
#include "server/resp/acl_call.h"
#include "server/resp/acl_catalog.h"
#include "server/resp/permit.h"

/* Most words of a SETUSER: a rule for every range, password and command, and some more. */
#define WORDS_MAX 512

static const struct sw_user *find(struct sw_call *call, const struct sw_resp_argument *name,
                                  struct sw_user *out)
{
    return sw_users_find(call->admin->users, (const char *)name->text, name->size, out) ? out
                                                                                        : NULL;
}

static void acl_whoami(struct sw_call *call)
{
    const struct sw_user *user = call->session->conn->login.user;
    sw_text_bulk_string(call->reply, user != NULL ? user->name : "default");
}

/* --- lists ------------------------------------------------------------------------------------ */

/* One lock covers the counting and the writing of the users, so that the count is right. */
struct listing {
    struct sw_text lines;
    uint64_t count;
    bool names_only;
};

static void put_user(void *context, const struct sw_user *user)
{
    struct listing *listing = context;
    char line[SW_USER_LINE_BYTES];
    size_t size = strlen(user->name);
    listing->count++;
    if (!listing->names_only) {
        size = sw_user_line(user, line, sizeof(line));
    }
    sw_text_bulk(&listing->lines, listing->names_only ? user->name : line, size);
}

static void reply_users(struct sw_call *call, bool names_only)
{
    struct listing listing = {.names_only = names_only};
    sw_text_init(&listing.lines, call->reply->limit);
    sw_users_each(call->admin->users, put_user, &listing);
    sw_text_array(call->reply, listing.count);
    sw_text_append(call->reply, listing.lines.data, listing.lines.size);
    call->reply->failed |= listing.lines.failed;
    sw_text_fini(&listing.lines);
}

static void acl_list(struct sw_call *call)
{
    reply_users(call, false);
}

static void acl_users(struct sw_call *call)
{
    reply_users(call, true);
}

static void acl_cat(struct sw_call *call)
{
    const struct sw_commands *catalog = sw_acl_catalog();
    uint64_t count = 0;
    if (call->count > 3) {
        sw_text_error(call->reply, "ERR unknown subcommand or wrong number of arguments for 'CAT'. "
                                   "Try ACL HELP.");
        return;
    }
    if (call->count == 2) {
        sw_text_array(call->reply, SW_CATEGORY_COUNT);
        for (unsigned i = 0; i < SW_CATEGORY_COUNT; i++) {
            sw_text_bulk_string(call->reply, sw_category_name(i));
        }
        return;
    }
    int category = sw_category_find((const char *)call->arguments[2].text, call->arguments[2].size);
    if (category < 0) {
        sw_call_error(call, "ERR Unknown category '%.*s'", SW_CALL_SHOWN(&call->arguments[2]));
        return;
    }
    for (uint32_t i = 0; i < catalog->count; i++) {
        count += catalog->commands[i].categories >> category & 1;
    }
    sw_text_array(call->reply, count);
    for (uint32_t i = 0; i < catalog->count; i++) {
        if ((catalog->commands[i].categories >> category & 1) != 0) {
            sw_text_bulk_string(call->reply, catalog->commands[i].name);
        }
    }
}

/* --- one user --------------------------------------------------------------------------------- */

static void put_flags(struct sw_call *call, const struct sw_user *user)
{
    sw_text_printf(call->reply, "%c%d\r\n", call->session->resp3 ? '~' : '*',
                   1 + user->no_password);
    sw_text_bulk_string(call->reply, user->is_on ? "on" : "off");
    if (user->no_password) {
        sw_text_bulk_string(call->reply, "nopass");
    }
}

static void acl_getuser(struct sw_call *call)
{
    struct sw_user user;
    char text[SW_USER_LINE_BYTES];
    if (find(call, &call->arguments[2], &user) == NULL) {
        sw_text_null(call->reply, call->session->resp3);
        return;
    }
    sw_text_map(call->reply, user.all_tables ? 6 : 7, call->session->resp3);
    sw_text_bulk_string(call->reply, "flags");
    put_flags(call, &user);
    sw_text_bulk_string(call->reply, "passwords");
    sw_text_array(call->reply, user.hash_count);
    for (uint32_t i = 0; i < user.hash_count; i++) {
        sw_hash_format(&user.hashes[i], text);
        sw_text_bulk_string(call->reply, text);
    }
    sw_text_bulk_string(call->reply, "commands");
    sw_text_bulk_string(call->reply, user.commands_text);
    sw_text_bulk_string(call->reply, "keys");
    sw_user_keys_text(&user, text, sizeof(text));
    sw_text_bulk_string(call->reply, text);
    sw_text_bulk_string(call->reply, "channels");
    sw_text_bulk_string(call->reply, user.all_channels ? "&*" : "");
    if (!user.all_tables) { /* redis has no such field */
        sw_text_bulk_string(call->reply, "databases");
        sw_user_tables_text(&user, text, sizeof(text));
        sw_text_bulk_string(call->reply, text);
    }
    sw_text_bulk_string(call->reply, "selectors");
    sw_text_array(call->reply, 0);
}

static void acl_setuser(struct sw_call *call)
{
    struct sw_word words[WORDS_MAX];
    char error[SW_USERS_ERROR_BYTES];
    const struct sw_resp_argument *name = &call->arguments[2];
    uint32_t count = call->count - 3;
    if (count > WORDS_MAX) {
        sw_call_error(call, "ERR at most %d rules in one command", WORDS_MAX);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sw_resp_argument *word = &call->arguments[i + 3];
        words[i] = (struct sw_word){(const char *)word->text, word->size};
    }
    if (sw_users_set(call->admin->users, (const char *)name->text, name->size, words, count, error,
                     sizeof(error)) == 0) {
        sw_call_ok(call);
    } else {
        sw_call_error(call, "ERR %s", error);
    }
}

static void acl_deluser(struct sw_call *call)
{
    int64_t deleted = 0;
    for (uint32_t i = 2; i < call->count; i++) {
        if (call->arguments[i].size == 7 && memcmp(call->arguments[i].text, "default", 7) == 0) {
            sw_text_error(call->reply, "ERR The 'default' user cannot be removed");
            return;
        }
    }
    for (uint32_t i = 2; i < call->count; i++) {
        deleted += sw_users_delete(call->admin->users, (const char *)call->arguments[i].text,
                                   call->arguments[i].size);
    }
    sw_text_integer(call->reply, deleted);
    if (sw_login_refresh(call->admin->users, &call->session->conn->login) == SW_LOGIN_DELETED) {
        call->session->close_after_reply = true; /* the connection has deleted its own user */
    }
}

static void acl_genpass(struct sw_call *call)
{
    char password[SW_GENPASS_BITS_MAX / 4 + 1];
    int64_t bits = 256;
    if (call->count > 3) {
        sw_text_error(call->reply, "ERR unknown subcommand or wrong number of arguments for "
                                   "'GENPASS'. Try ACL HELP.");
    } else if (call->count == 3 && !sw_argument_integer(&call->arguments[2], &bits)) {
        sw_text_error(call->reply, "ERR value is not an integer or out of range");
    } else if (bits < 1 || bits > SW_GENPASS_BITS_MAX) {
        sw_call_error(
            call,
            "ERR ACL GENPASS argument must be the number of bits for the output password, "
            "a positive number up to %d",
            SW_GENPASS_BITS_MAX);
    } else if (sw_password_generate((unsigned)bits, password)) {
        sw_text_bulk_string(call->reply, password);
    } else {
        sw_text_error(call->reply,
                      "ERR cannot make a password: no random bytes from the kernel; try again");
    }
    sw_forget(password, sizeof(password));
}

/* --- the file --------------------------------------------------------------------------------- */

/* Replies with an error and returns false if there is no ACL file. */
static bool has_file(struct sw_call *call)
{
    if (call->admin->config->acl_file[0] != '\0') {
        return true;
    }
    sw_text_error(call->reply,
                  "ERR This Sherwood instance is not configured to use an ACL file. You may want "
                  "to start it with --acl-file FILE in order to store users there.");
    return false;
}

static void acl_load(struct sw_call *call)
{
    char error[SW_USERS_ERROR_BYTES], notes[SW_ACL_NOTES_BYTES];
    if (!has_file(call)) {
        return;
    }
    if (sw_users_load(call->admin->users, error, sizeof(error)) == 0) {
        if (sw_users_notes(call->admin->users, notes, sizeof(notes)) > 0) {
            sw_log(SW_LOG_WARNING, "%s", notes);
        }
        sw_call_ok(call);
    } else {
        sw_call_error(call, "ERR %s WARNING: None of the users were changed", error);
    }
}

static void acl_save(struct sw_call *call)
{
    char error[SW_USERS_ERROR_BYTES];
    if (!has_file(call)) {
        return;
    }
    if (sw_users_save(call->admin->users, error, sizeof(error)) == 0) {
        sw_call_ok(call);
    } else {
        sw_call_error(
            call,
            "ERR There was an error trying to save the ACLs. Please check the server logs "
            "for more information: %s",
            error);
    }
}

void sw_call_acl(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"CAT", -2, acl_cat, "[<category>]", "List the commands of a category, or all categories."},
        {"DELUSER", -3, acl_deluser, "<username> [<username> ...]", "Delete a list of users."},
        {"DRYRUN", -4, sw_acl_dryrun, "<username> <command> [<arg> ...]",
         "Return whether the user may run the command."},
        {"GENPASS", -2, acl_genpass, "[<bits>]",
         "Return a random password of this many bits (default: 256)."},
        {"GETUSER", 3, acl_getuser, "<username>", "Get the user's details."},
        {"LIST", 2, acl_list, "", "Show users in the format of the ACL file."},
        {"LOAD", 2, acl_load, "", "Read the users of the ACL file again."},
        {"LOG", -2, sw_acl_log_call, "[<count> | RESET]",
         "Show the commands and logins that were refused."},
        {"SAVE", 2, acl_save, "", "Write the users to the ACL file."},
        {"SETUSER", -3, acl_setuser, "<username> <attribute> [<attribute> ...]",
         "Make a user, or change one."},
        {"USERS", 2, acl_users, "", "List the names of the users."},
        {"WHOAMI", 2, acl_whoami, "", "Return the user of this connection."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}
