/* SPDX-License-Identifier: MIT
 *
 * users.c - the accounts of a server, and changes of them.
 */
#include "server/users/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/users/users_parts.h"

/* Longest password in a file. */
#define PASSWORD_BYTES 1024

/* --- the list, under the lock ----------------------------------------------------------------- */

/* Returns the index of the account with this name, or the index at which it belongs. */
static uint32_t place_of(const struct sw_users *users, const char *name, size_t size,
                         bool *is_there)
{
    uint32_t low = 0, high = users->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const char *other = users->accounts[middle]->user->name;
        size_t length = strlen(other), least = length < size ? length : size;
        int order = memcmp(other, name, least);
        if (order < 0 || (order == 0 && length < size)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *is_there = low < users->count && sw_user_is_named(users->accounts[low]->user, name, size);
    return low;
}

struct sw_account *sw_users_account(const struct sw_users *users, const char *name, size_t size)
{
    bool is_there = false;
    uint32_t at = place_of(users, name, size, &is_there);
    return is_there ? users->accounts[at] : NULL;
}

/* Makes every login read its user again. */
static void raise_version(struct sw_users *users)
{
    __atomic_store_n(&users->version, users->version + 1, __ATOMIC_RELEASE);
}

static struct sw_account *create_account(const struct sw_user *user)
{
    struct sw_account *account = malloc(sizeof(*account));
    if (account != NULL) {
        *account = (struct sw_account){.refs = 1, .user = sw_user_keep(user)};
    }
    return account;
}

/* Adds a user, or replaces the user with the same name. Takes ownership of the user. Returns false,
 * and frees the user, if there is no room. */
static bool put_in(struct sw_users *users, struct sw_user *user)
{
    bool is_there = false;
    if (user == NULL) {
        return false;
    }
    uint32_t at = place_of(users, user->name, strlen(user->name), &is_there);
    if (is_there) {
        sw_user_put(users->accounts[at]->user);
        users->accounts[at]->user = user;
        return true;
    }
    struct sw_account *account = users->count < SW_USERS_MAX ? create_account(user) : NULL;
    sw_user_put(user); /* the account has a reference */
    if (account == NULL) {
        return false;
    }
    memmove(&users->accounts[at + 1], &users->accounts[at],
            (users->count - at) * sizeof(struct sw_account *));
    users->accounts[at] = account;
    users->count++;
    return true;
}

static void take_out(struct sw_users *users, uint32_t at)
{
    struct sw_account *account = users->accounts[at];
    users->count--;
    memmove(&users->accounts[at], &users->accounts[at + 1],
            (users->count - at) * sizeof(struct sw_account *));
    account->is_deleted = true;
    sw_account_put(account);
}

/* --- reading files ---------------------------------------------------------------------------- */

/* Adds the user `default` if the file does not define it: as redis does, or with the password of
 * --requirepass-file. */
static int add_default(const struct sw_users *users, struct sw_user_list *list, char *error,
                       size_t error_bytes)
{
    struct sw_user user = {.refs = 0};
    bool is_there = sw_user_list_find(list, "default", strlen("default")) != NULL;
    if (is_there && users->has_requirepass) {
        snprintf(error, error_bytes,
                 "requirepass-file and acl-file both define the user default: remove one of the "
                 "definitions");
        return -1;
    }
    if (is_there) {
        return 0;
    }
    sw_user_init_default(&user, users->catalog);
    if (users->has_requirepass) {
        user.no_password = false;
        user.hash_count = 1;
        user.hashes[0] = users->requirepass;
    }
    bool added = sw_user_list_add(list, sw_user_create(&user));
    sw_forget(&user, sizeof(user));
    if (!added) {
        snprintf(error, error_bytes, "too many users, or no memory for another one");
    }
    return added ? 0 : -1;
}

static int by_name(const void *a, const void *b)
{
    const struct sw_user *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Finds or creates an account for each user of the sorted list. If memory is short, changes nothing
 * and returns false. */
static bool make_accounts(const struct sw_users *users, const struct sw_user_list *list,
                          struct sw_account **out)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->at[i]->name;
        struct sw_account *old = sw_users_account(users, name, strlen(name));
        out[i] = old != NULL ? old : create_account(list->at[i]);
        if (out[i] == NULL) {
            while (i-- > 0) {
                if (out[i]->user == list->at[i]) { /* this call has created it */
                    sw_account_put(out[i]);
                }
            }
            return false;
        }
    }
    return true;
}

/* Replaces all users by those of the list. Keeps the accounts whose names stay. If memory is short,
 * changes nothing and returns false. */
static bool replace_all(struct sw_users *users, struct sw_user_list *list)
{
    struct sw_account **fresh = calloc(SW_USERS_MAX, sizeof(struct sw_account *));
    qsort(list->at, list->count, sizeof(struct sw_user *), by_name);
    if (fresh == NULL || !make_accounts(users, list, fresh)) {
        free(fresh);
        return false;
    }
    for (uint32_t i = 0; i < users->count; i++) {
        users->accounts[i]->is_deleted = true;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct sw_account *account = fresh[i];
        if (account->user != list->at[i]) { /* the account existed before */
            sw_user_put(account->user);
            account->user = sw_user_keep(list->at[i]);
            __atomic_fetch_add(&account->refs, 1, __ATOMIC_RELAXED);
        }
        account->is_deleted = false;
    }
    for (uint32_t i = 0; i < users->count; i++) {
        sw_account_put(users->accounts[i]);
    }
    free(users->accounts);
    users->accounts = fresh;
    users->count = list->count;
    raise_version(users);
    return true;
}

/* Refuses key ranges if keys are hashes of texts: ~1000-1999 would select keys by their hashes. */
static int check_ranges(const struct sw_users *users, const struct sw_user *user, char *error,
                        size_t error_bytes)
{
    if (!users->keys_are_hashes || user->ranges.count == 0) {
        return 0;
    }
    snprintf(error, error_bytes,
             "the user %s has ranges of keys, but with --resp-keys hash a range of hashes has no "
             "meaning: use ~*",
             user->name);
    return -1;
}

/* Reads the ACL file, if there is one, and replaces all users by its users. */
static int load(struct sw_users *users, char *error, size_t error_bytes)
{
    struct sw_user_list list = {0};
    struct sw_acl_notes notes = {.without_effect = {.more = 0}};
    int result = users->acl_file[0] == '\0' ? 0
                                            : sw_acl_file_read(users->acl_file, users->catalog,
                                                               &list, &notes, error, error_bytes);
    if (result == 0) {
        result = add_default(users, &list, error, error_bytes);
    }
    for (uint32_t i = 0; result == 0 && i < list.count; i++) {
        result = check_ranges(users, list.at[i], error, error_bytes);
    }
    if (result == 0) {
        pthread_mutex_lock(&users->lock);
        bool done = replace_all(users, &list);
        users->notes = done ? notes : users->notes;
        pthread_mutex_unlock(&users->lock);
        if (!done) {
            snprintf(error, error_bytes, "no memory for the users of the ACL file");
            result = -1;
        }
    }
    sw_user_list_free(&list);
    return result;
}

int sw_users_load(struct sw_users *users, char *error, size_t error_bytes)
{
    return load(users, error, error_bytes);
}

size_t sw_users_notes(struct sw_users *users, char *out, size_t out_bytes)
{
    pthread_mutex_lock(&users->lock);
    size_t size = sw_acl_notes_text(&users->notes, users->acl_file, out, out_bytes);
    pthread_mutex_unlock(&users->lock);
    return size;
}

/* --- life ------------------------------------------------------------------------------------- */

static int take_options(struct sw_users *users, const struct sw_users_options *options, char *error,
                        size_t error_bytes)
{
    char password[PASSWORD_BYTES];
    users->catalog = options->catalog;
    users->keys_are_hashes = options->keys_are_hashes;
    if (strlen(options->acl_file) >= sizeof(users->acl_file) ||
        options->catalog->count > SW_CATALOG_COMMANDS_MAX) {
        snprintf(error, error_bytes, "the name of acl-file is too long");
        return -1;
    }
    strcpy(users->acl_file, options->acl_file);
    if (options->requirepass_file[0] == '\0') {
        return 0;
    }
    if (sw_secret_line("requirepass-file", options->requirepass_file, password, sizeof(password),
                       error, error_bytes) != 0) {
        return -1;
    }
    users->has_requirepass = sw_hash_password(password, strlen(password), &users->requirepass);
    sw_forget(password, sizeof(password));
    if (!users->has_requirepass) {
        snprintf(error, error_bytes, "requirepass-file: not enough memory for the hash");
    }
    return users->has_requirepass ? 0 : -1;
}

int sw_users_create(const struct sw_users_options *options, struct sw_users **out, char *error,
                    size_t error_bytes)
{
    struct sw_users *users = aligned_alloc(64, sizeof(*users));
    *out = NULL;
    if (users == NULL) {
        snprintf(error, error_bytes, "not enough memory for users");
        return -1;
    }
    memset(users, 0, sizeof(*users));
    users->version = 1;
    pthread_mutex_init(&users->lock, NULL);
    users->log = sw_acl_log_create();
    if (users->log == NULL) {
        snprintf(error, error_bytes, "not enough memory for the ACL log");
    }
    if (users->log == NULL || take_options(users, options, error, error_bytes) != 0 ||
        load(users, error, error_bytes) != 0) {
        sw_users_destroy(users);
        return -1;
    }
    *out = users;
    return 0;
}

void sw_users_destroy(struct sw_users *users)
{
    if (users == NULL) {
        return;
    }
    for (uint32_t i = 0; i < users->count; i++) {
        sw_account_put(users->accounts[i]);
    }
    free(users->accounts);
    sw_acl_log_destroy(users->log);
    pthread_mutex_destroy(&users->lock);
    sw_forget(users, sizeof(*users));
    free(users);
}

const struct sw_commands *sw_users_catalog(const struct sw_users *users)
{
    return users->catalog;
}

const uint64_t *sw_users_version(const struct sw_users *users)
{
    return &users->version;
}

struct sw_acl_log *sw_users_log(struct sw_users *users)
{
    return users->log;
}

/* --- looking and changing ----------------------------------------------------------------------
 */

bool sw_users_find(struct sw_users *users, const char *name, size_t size, struct sw_user *out)
{
    pthread_mutex_lock(&users->lock);
    const struct sw_account *account = sw_users_account(users, name, size);
    if (account != NULL) {
        sw_user_copy(out, account->user);
        out->refs = 0;
    }
    pthread_mutex_unlock(&users->lock);
    return account != NULL;
}

void sw_users_each(struct sw_users *users, void (*each)(void *context, const struct sw_user *user),
                   void *context)
{
    pthread_mutex_lock(&users->lock);
    for (uint32_t i = 0; i < users->count; i++) {
        each(context, users->accounts[i]->user);
    }
    pthread_mutex_unlock(&users->lock);
}

static int apply_words(const struct sw_users *users, struct sw_user *user,
                       const struct sw_word *words, uint32_t count, char *error, size_t error_bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *why =
            sw_user_effect(users->catalog, words[i].text, words[i].size) == SW_RULE_LESS
                ? "Selectors, keys to read or to write alone, and first arguments of commands are "
                  "not supported"
                : sw_user_apply(user, users->catalog, words[i].text, words[i].size);
        if (why != NULL) {
            snprintf(error, error_bytes, "Error in ACL SETUSER modifier '%.*s': %s",
                     (int)(words[i].size < 128 ? words[i].size : 128), words[i].text, why);
            return -1;
        }
    }
    return 0;
}

int sw_users_set(struct sw_users *users, const char *name, size_t size, const struct sw_word *words,
                 uint32_t count, char *error, size_t error_bytes)
{
    struct sw_user user = {.refs = 0};
    int result = -1;
    if (!sw_user_name_fits(name, size)) {
        snprintf(error, error_bytes,
                 "Usernames can't contain spaces or null characters, and have at most %d bytes",
                 SW_USER_NAME_BYTES - 1);
        return -1;
    }
    pthread_mutex_lock(&users->lock); /* serialises concurrent changes of users */
    const struct sw_account *account = sw_users_account(users, name, size);
    if (account != NULL) {
        sw_user_copy(&user, account->user);
    } else {
        sw_user_init(&user, name, size);
    }
    if (apply_words(users, &user, words, count, error, error_bytes) == 0 &&
        check_ranges(users, &user, error, error_bytes) == 0) {
        result = put_in(users, sw_user_create(&user)) ? 0 : -1;
        if (result == 0) {
            raise_version(users);
        } else {
            snprintf(error, error_bytes, "cannot add a user: not enough memory, or %d users exist",
                     SW_USERS_MAX);
        }
    }
    pthread_mutex_unlock(&users->lock);
    sw_forget(&user, sizeof(user));
    return result;
}

bool sw_users_delete(struct sw_users *users, const char *name, size_t size)
{
    bool is_there = false;
    pthread_mutex_lock(&users->lock);
    uint32_t at = place_of(users, name, size, &is_there);
    if (is_there) {
        take_out(users, at);
        raise_version(users);
    }
    pthread_mutex_unlock(&users->lock);
    return is_there;
}

/* Makes the users that a renamed table changes, in `out`; NULL: the user stays. Returns false if
 * there is no memory. */
static bool rename_in_all(const struct sw_users *users, const char *name, const char *to,
                          struct sw_user **out)
{
    struct sw_user user = {.refs = 0};
    bool done = true;
    for (uint32_t i = 0; i < users->count && done; i++) {
        sw_user_copy(&user, users->accounts[i]->user);
        if (sw_user_rename_table(&user, name, to)) {
            out[i] = sw_user_create(&user);
            done = out[i] != NULL;
        }
    }
    sw_forget(&user, sizeof(user));
    return done;
}

int sw_users_rename_table(struct sw_users *users, const char *name, const char *to)
{
    pthread_mutex_lock(&users->lock);
    struct sw_user **renamed = calloc(users->count, sizeof(struct sw_user *));
    const bool done = renamed != NULL && rename_in_all(users, name, to, renamed);
    bool any = false;
    for (uint32_t i = 0; i < users->count && renamed != NULL; i++) {
        if (done && renamed[i] != NULL) {
            sw_user_put(users->accounts[i]->user);
            users->accounts[i]->user = renamed[i];
            any = true;
        } else {
            sw_user_put(renamed[i]);
        }
    }
    if (any) {
        raise_version(users);
    }
    pthread_mutex_unlock(&users->lock);
    free(renamed);
    return done ? 0 : -1;
}

int sw_users_save(struct sw_users *users, char *error, size_t error_bytes)
{
    struct sw_user_list list = {0};
    bool copied = true;
    pthread_mutex_lock(&users->lock);
    for (uint32_t i = 0; i < users->count && copied; i++) {
        copied = sw_user_list_add(&list, sw_user_create(users->accounts[i]->user));
    }
    pthread_mutex_unlock(&users->lock);
    if (!copied) {
        snprintf(error, error_bytes, "not enough memory to write the users");
    }
    int result = copied ? sw_acl_file_write(users->acl_file, &list, error, error_bytes) : -1;
    sw_user_list_free(&list);
    return result;
}
