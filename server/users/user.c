/* SPDX-License-Identifier: MIT
 *
 * user.c - the words of rules, one by one.
 */
#include "server/users/user.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char syntax[] = "Syntax error";
static const char no_memory[] = "Not enough memory for the hash of the password";
static const char too_long[] =
    "The rules about commands are too long: begin again with nocommands or allcommands";

/* --- commands --------------------------------------------------------------------------------- */

static void set_bit(struct sw_user *user, uint32_t command, bool allow)
{
    uint64_t bit = 1ULL << command % 64;
    uint64_t *word = &user->commands[command / 64];
    *word = allow ? *word | bit : *word & ~bit;
}

static bool has_all(const struct sw_user *user, const struct sw_commands *catalog)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (!sw_user_may(user, i)) {
            return false;
        }
    }
    return true;
}

/* Returns true if `rule` ("+client|id") names the same as `name` ("client"), or a subcommand of
 * it. */
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

static void set_category(struct sw_user *user, const struct sw_commands *catalog, unsigned category,
                         bool allow)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if ((catalog->commands[i].categories >> category & 1) != 0) {
            set_bit(user, i, allow);
        }
    }
}

static void set_command(struct sw_user *user, const struct sw_commands *catalog, uint32_t command,
                        bool allow)
{
    set_bit(user, command, allow);
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (sw_catalog_is_within(catalog, i, command)) {
            set_bit(user, i, allow);
        }
    }
}

/* Meaning of the name in a rule about commands. */
struct named {
    enum {
        NAMED_UNKNOWN,
        NAMED_ALL,
        NAMED_CATEGORY,
        NAMED_COMMAND,
        NAMED_ABSENT,  /* a command of redis that this server lacks */
        NAMED_ARGUMENT /* a command of this server with a first argument, "select|0" */
    } is;
    int index; /* of the category or the command; of an absent command: of its stand-in; -1: none */
};

static bool has_subcommands(const struct sw_commands *catalog, uint32_t command)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (sw_catalog_is_within(catalog, i, command)) {
            return true;
        }
    }
    return false;
}

/* Classifies a name that the catalog lacks. Redis accepts a first argument only behind +, and only
 * for commands without subcommands. */
static struct named find_absent(const struct sw_commands *catalog, bool allow, const char *name,
                                size_t size)
{
    const char *bar = memchr(name, '|', size);
    struct named named = {NAMED_UNKNOWN, -1};
    enum sw_absence absence =
        catalog->absence == NULL ? SW_ABSENCE_UNKNOWN : catalog->absence(name, size, &named.index);
    if (absence == SW_ABSENCE_COMMAND || (absence == SW_ABSENCE_ARGUMENT && allow)) {
        named.is = NAMED_ABSENT;
    } else if (allow && bar != NULL && bar + 1 < name + size) {
        int command = sw_catalog_find(catalog, name, (size_t)(bar - name));
        if (command >= 0 && !has_subcommands(catalog, (uint32_t)command)) {
            named.is = NAMED_ARGUMENT;
        }
    }
    return named;
}

/* Finds "@read", "get" or "client|id". */
static struct named find_named(const struct sw_commands *catalog, bool allow, const char *name,
                               size_t size)
{
    if (size == 4 && strncasecmp(name, "@all", 4) == 0) {
        return (struct named){NAMED_ALL, -1};
    }
    const bool is_category = size > 0 && name[0] == '@';
    const int index =
        is_category ? sw_category_find(name + 1, size - 1) : sw_catalog_find(catalog, name, size);
    if (index >= 0) {
        return (struct named){is_category ? NAMED_CATEGORY : NAMED_COMMAND, index};
    }
    return is_category ? (struct named){NAMED_UNKNOWN, -1}
                       : find_absent(catalog, allow, name, size);
}

static const char *apply_command(struct sw_user *user, const struct sw_commands *catalog,
                                 bool allow, const char *name, size_t size)
{
    const struct named named = find_named(catalog, allow, name, size);
    if (named.is == NAMED_ALL) {
        set_all(user, allow);
        return NULL;
    }
    if (named.is == NAMED_UNKNOWN) {
        return "Unknown command or category name in ACL";
    }
    if (named.is == NAMED_ARGUMENT || (named.is == NAMED_ABSENT && named.index >= 0 && allow)) {
        return NULL; /* noted in the text, it would undo an earlier - about the stand-in */
    }
    if (!note_rule(user, allow, name, size)) {
        return too_long;
    }
    if (named.is == NAMED_CATEGORY) {
        set_category(user, catalog, (unsigned)named.index, allow);
    } else if (named.index >= 0) {
        set_command(user, catalog, (uint32_t)named.index, allow);
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
        return "Users have no patterns of texts: write ~* for all keys, a number, or a range, "
               "smaller number first (~1000-1999)";
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

static void do_nothing(struct sw_user *user, bool on)
{
    (void)user;
    (void)on;
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
    {"alldbs", sw_user_set_tables, true},
    {"resetdbs", sw_user_set_tables, false},
    {"clearselectors", do_nothing, false}, /* no user has selectors */
    {"sanitize-payload", do_nothing, true},
    {"skip-sanitize-payload", do_nothing, false},
    {"reset", reset, false},
};

static bool is_word(const char *word, size_t size, const char *wanted)
{
    return strlen(wanted) == size && strncasecmp(wanted, word, size) == 0;
}

static bool lists_tables(const char *word, size_t size)
{
    return size > 3 && strncasecmp(word, "db=", 3) == 0;
}

/* --- selectors, and keys that a user may read or write alone -----------------------------------
 */

/* Returns the length of "%R~", "%W~" or "%RW~" at the beginning of the word; 0: another word. */
static size_t permission_size(const char *word, size_t size, bool *reads, bool *writes)
{
    size_t i = 1;
    *reads = *writes = false;
    for (; i < size && word[i] != '~'; i++) {
        bool *one = toupper((unsigned char)word[i]) == 'R'   ? reads
                    : toupper((unsigned char)word[i]) == 'W' ? writes
                                                             : NULL;
        if (one == NULL || *one) {
            return 0;
        }
        *one = true;
    }
    return i < size && (*reads || *writes) ? i + 1 : 0;
}

/* %RW~ grants keys as ~ does. %R~ and %W~ grant nothing, because the server has no separate rights
 * to read and to write a key. */
static const char *apply_permission(struct sw_user *user, const char *word, size_t size)
{
    bool reads, writes;
    size_t sign = permission_size(word, size, &reads, &writes);
    if (sign == 0) {
        return syntax;
    }
    return reads && writes ? apply_keys(user, word + sign, size - sign) : NULL;
}

/* Returns true if redis accepts the word inside a selector. */
static bool fits_selector(const struct sw_commands *catalog, const char *word, size_t size)
{
    static const char *const known[] = {"allkeys",     "resetkeys",     "allcommands", "nocommands",
                                        "allchannels", "resetchannels", "alldbs",      "resetdbs"};
    bool reads, writes, fits = lists_tables(word, size);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        fits |= is_word(word, size, known[i]);
    }
    switch (word[0]) {
    case '~':
    case '&':
        return true;
    case '%':
        return permission_size(word, size, &reads, &writes) > 0;
    case '+':
    case '-':
        return find_named(catalog, word[0] == '+', word + 1, size - 1).is != NAMED_UNKNOWN;
    default:
        return fits;
    }
}

/* Checks "(+get ~5)", which gives further rights in redis and none here. */
static const char *check_selector(const struct sw_commands *catalog, const char *text, size_t size)
{
    if (size < 2 || text[size - 1] != ')') {
        return "Unmatched parenthesis in acl selector";
    }
    for (size_t at = 1; at < size - 1;) {
        size_t end = at;
        while (end < size - 1 && strchr(" \t\r", text[end]) == NULL) {
            end++;
        }
        if (end > at && !fits_selector(catalog, text + at, end - at)) {
            return "A rule inside the selector is unknown";
        }
        at = end + 1;
    }
    return NULL;
}

/* --- any word --------------------------------------------------------------------------------- */

const char *sw_user_apply(struct sw_user *user, const struct sw_commands *catalog, const char *word,
                          size_t size)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (is_word(word, size, words[i].word)) {
            words[i].apply(user, words[i].on);
            return NULL;
        }
    }
    if (lists_tables(word, size)) {
        return sw_user_apply_tables(user, catalog, word + 3, size - 3);
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
        return NULL; /* this server has no channels */
    case '%':
        return apply_permission(user, word, size);
    case '(':
        return check_selector(catalog, word, size);
    default:
        return syntax;
    }
}

enum sw_rule_effect sw_user_effect(const struct sw_commands *catalog, const char *word, size_t size)
{
    bool reads = false, writes = false;
    struct named named = {NAMED_UNKNOWN, -1};
    switch (size > 0 ? word[0] : '\0') {
    case '(':
        return SW_RULE_LESS;
    case '%':
        return permission_size(word, size, &reads, &writes) > 0 && reads && writes ? SW_RULE_APPLIED
                                                                                   : SW_RULE_LESS;
    case '&':
        return size == 2 && word[1] == '*' ? SW_RULE_APPLIED : SW_RULE_VOID;
    case '+':
    case '-':
        named = find_named(catalog, word[0] == '+', word + 1, size - 1);
        return named.is == NAMED_ARGUMENT                    ? SW_RULE_LESS
               : named.is == NAMED_ABSENT && named.index < 0 ? SW_RULE_VOID
               : named.is == NAMED_ABSENT && word[0] == '+'  ? SW_RULE_VOID
                                                             : SW_RULE_APPLIED;
    default:
        return is_word(word, size, "sanitize-payload") ||
                       is_word(word, size, "skip-sanitize-payload")
                   ? SW_RULE_VOID
                   : SW_RULE_APPLIED;
    }
}

bool sw_user_name_fits(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (name[i] <= ' ' || name[i] == 0x7f) { /* char may be signed */
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
    user->all_tables = true;
}

void sw_user_init_default(struct sw_user *user, const struct sw_commands *catalog)
{
    static const char *const rules[] = {"on", "nopass", "allkeys", "allchannels", "allcommands"};
    sw_user_init(user, "default", strlen("default"));
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        (void)sw_user_apply(user, catalog, rules[i], strlen(rules[i])); /* cannot fail */
    }
}
