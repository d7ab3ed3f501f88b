/* SPDX-License-Identifier: MIT
 *
 * user.c - the words of rules, one by one.
 */
#include "server/users/user.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char syntax[] = "Syntax error";
static const char no_memory[] = "There is no memory for the hash of the password";
static const char too_long[] =
    "The rules about commands are too long: begin again with nocommands or allcommands";

/* --- commands --------------------------------------------------------------------------------- */

static void set_bit(struct sw_user *user, uint32_t command, bool allow)
{
    uint64_t bit = 1ULL << command % 64;
    uint64_t *word = &user->commands[command / 64];
    *word = allow ? *word | bit : *word & ~bit;
}

static bool has_all(const struct sw_user *user, const struct sw_catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (!sw_user_may(user, i)) {
            return false;
        }
    }
    return true;
}

/* Is `rule`, "+client|id", about what `name`, "client", is about, or about a part of it? */
static bool is_about(const char *rule, size_t rule_size, const char *name, size_t size)
{
    rule++;
    rule_size--;
    return rule_size >= size && strncasecmp(rule, name, size) == 0 &&
           (rule_size == size || (rule[size] == '|' && name[0] != '@'));
}

/* Appends a rule to the text, and removes those that it replaces. Returns false if there is no
 * room. */
static bool note_rule(struct sw_user *user, bool allow, const char *name, size_t size)
{
    char text[SW_USER_COMMANDS_BYTES];
    size_t used = 0;
    const char *at = user->commands_text;
    while (*at != '\0') {
        size_t length = strcspn(at, " ");
        if (!is_about(at, length, name, size)) {
            used += used > 0;
            memcpy(text + used, at, length);
            text[used + length] = ' ';
            used += length;
        }
        at += length + (at[length] == ' ');
    }
    if (used + size + 3 > sizeof(text)) {
        return false;
    }
    if (used > 0) {
        text[used++] = ' ';
    }
    text[used++] = allow ? '+' : '-';
    for (size_t i = 0; i < size; i++) {
        text[used++] = (char)tolower((unsigned char)name[i]);
    }
    text[used] = '\0';
    memcpy(user->commands_text, text, used + 1);
    return true;
}

static void set_all(struct sw_user *user, bool allow)
{
    memset(user->commands, allow ? 0xff : 0, sizeof(user->commands));
    strcpy(user->commands_text, allow ? "+@all" : "-@all");
    user->all_commands = allow;
}

static void set_category(struct sw_user *user, const struct sw_catalog *catalog, unsigned category,
                         bool allow)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if ((catalog->commands[i].categories >> category & 1) != 0) {
            set_bit(user, i, allow);
        }
    }
}

static void set_command(struct sw_user *user, const struct sw_catalog *catalog, uint32_t command,
                        bool allow)
{
    set_bit(user, command, allow);
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (sw_catalog_is_within(catalog, i, command)) {
            set_bit(user, i, allow);
        }
    }
}

/* "@read", "get" or "client|id". */
static const char *apply_command(struct sw_user *user, const struct sw_catalog *catalog, bool allow,
                                 const char *name, size_t size)
{
    static const char unknown[] = "Unknown command or category name in ACL";
    bool is_category = size > 0 && name[0] == '@';
    if (size == 4 && strncasecmp(name, "@all", 4) == 0) {
        set_all(user, allow);
        return NULL;
    }
    int index =
        is_category ? sw_category_find(name + 1, size - 1) : sw_catalog_find(catalog, name, size);
    if (index < 0) {
        return unknown;
    }
    if (!note_rule(user, allow, name, size)) {
        return too_long;
    }
    if (is_category) {
        set_category(user, catalog, (unsigned)index, allow);
    } else {
        set_command(user, catalog, (uint32_t)index, allow);
    }
    user->all_commands = has_all(user, catalog);
    return NULL;
}

/* --- passwords -------------------------------------------------------------------------------- */

static const char *add_hash(struct sw_user *user, const struct sw_hash *hash)
{
    user->no_password = false;
    if (sw_hash_is_among(hash, user->hashes, user->hash_count)) {
        return NULL;
    }
    if (user->hash_count == SW_USER_HASHES_MAX) {
        return "The user has too many passwords";
    }
    user->hashes[user->hash_count++] = *hash;
    return NULL;
}

static const char *remove_hash(struct sw_user *user, const struct sw_hash *hash)
{
    for (uint32_t i = 0; i < user->hash_count; i++) {
        if (memcmp(&user->hashes[i], hash, sizeof(*hash)) == 0) {
            memmove(&user->hashes[i], &user->hashes[i + 1],
                    (user->hash_count - i - 1) * sizeof(*hash));
            user->hash_count--;
            return NULL;
        }
    }
    return "The password you are trying to remove from the user does not exist";
}

static const char *apply_password(struct sw_user *user, char sign, const char *text, size_t size)
{
    struct sw_hash hash;
    if (sign == '>' || sign == '<') {
        if (!sw_hash_password(text, size, &hash)) {
            return no_memory;
        }
    } else if (!sw_hash_parse(text, size, &hash)) {
        return "The password hash must be exactly 64 characters and contain only lowercase "
               "hexadecimal characters";
    }
    return sign == '>' || sign == '#' ? add_hash(user, &hash) : remove_hash(user, &hash);
}

static void reset_passwords(struct sw_user *user)
{
    user->no_password = false;
    user->hash_count = 0;
    sw_forget(user->hashes, sizeof(user->hashes));
}

/* --- keys ------------------------------------------------------------------------------------- */

static void reset_keys(struct sw_user *user, bool all)
{
    user->all_keys = all;
    user->ranges = (struct sw_ranges){0};
}

static const char *apply_keys(struct sw_user *user, const char *text, size_t size)
{
    struct sw_range range;
    if (size == 1 && text[0] == '*') {
        reset_keys(user, true);
        return NULL;
    }
    if (!sw_range_parse(text, size, &range)) {
        return "Keys are integers here: ~ is followed by a number, by a range of them (1000-1999), "
               "or by *";
    }
    if (user->all_keys) {
        return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does "
               "not have any effect. Try 'resetkeys' to start with an empty list of patterns";
    }
    return sw_ranges_add(&user->ranges, range.first, range.last)
               ? NULL
               : "The user has too many ranges of keys";
}

/* --- words ------------------------------------------------------------------------------------ */

static void set_on(struct sw_user *user, bool on)
{
    user->is_on = on;
}

static void set_nopass(struct sw_user *user, bool on)
{
    reset_passwords(user);
    user->no_password = on;
}

static void set_channels(struct sw_user *user, bool all)
{
    user->all_channels = all;
}

static void reset(struct sw_user *user, bool on)
{
    char name[SW_USER_NAME_BYTES];
    (void)on;
    memcpy(name, user->name, sizeof(name));
    sw_user_init(user, name, strlen(name));
}

static const struct {
    const char *word;
    void (*apply)(struct sw_user *user, bool on);
    bool on;
} words[] = {
    {"on", set_on, true},
    {"off", set_on, false},
    {"nopass", set_nopass, true},
    {"resetpass", set_nopass, false},
    {"allkeys", reset_keys, true},
    {"resetkeys", reset_keys, false},
    {"allcommands", set_all, true},
    {"nocommands", set_all, false},
    {"allchannels", set_channels, true},
    {"&*", set_channels, true},
    {"resetchannels", set_channels, false},
    {"reset", reset, false},
};

const char *sw_user_apply(struct sw_user *user, const struct sw_catalog *catalog, const char *word,
                          size_t size)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) == size && strncasecmp(words[i].word, word, size) == 0) {
            words[i].apply(user, words[i].on);
            return NULL;
        }
    }
    switch (size > 0 ? word[0] : '\0') {
    case '>':
    case '<':
    case '#':
    case '!':
        return apply_password(user, word[0], word + 1, size - 1);
    case '~':
        return apply_keys(user, word + 1, size - 1);
    case '+':
    case '-':
        return apply_command(user, catalog, word[0] == '+', word + 1, size - 1);
    case '&':
        return "There are no channels in this server: &* alone is understood";
    case '%':
    case '(':
        return "Selectors and permissions of single keys (%R~, %W~) are not supported";
    default:
        return syntax;
    }
}

bool sw_user_name_fits(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] <= ' ' || name[i] == 0x7f) { /* bytes above ASCII are signed, or not */
            if ((unsigned char)name[i] < 0x80) {
                return false;
            }
        }
    }
    return size > 0 && size < SW_USER_NAME_BYTES;
}

void sw_user_init(struct sw_user *user, const char *name, size_t size)
{
    uint64_t refs = user->refs;
    sw_forget(user, sizeof(*user));
    user->refs = refs;
    memcpy(user->name, name, size);
    strcpy(user->commands_text, "-@all");
}

void sw_user_init_default(struct sw_user *user, const struct sw_catalog *catalog)
{
    static const char *const rules[] = {"on", "nopass", "allkeys", "allchannels", "allcommands"};
    sw_user_init(user, "default", strlen("default"));
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        (void)sw_user_apply(user, catalog, rules[i], strlen(rules[i])); /* these are right */
    }
}
