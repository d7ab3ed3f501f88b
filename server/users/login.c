/* SPDX-License-Identifier: MIT
 *
 * login.c - the logins of connections.
 */
#include <string.h>

#include "server/users/users_parts.h"

/* Updates the login to the current user of the account. The caller holds the lock. */
static void update_login(const struct sw_users *users, struct sw_login *login,
                         struct sw_account *account)
{
    sw_user_put(login->user);
    login->user = sw_user_keep(account->user);
    login->account = account;
    login->ranges = account->user->all_keys ? NULL : &account->user->ranges;
    login->version = users->version;
    login->free_at = sw_user_is_free(account->user) ? users->version : 0;
}

/* Makes the login one of this account. The caller holds the lock. */
static void enter(const struct sw_users *users, struct sw_login *login, struct sw_account *account)
{
    __atomic_fetch_add(&account->refs, 1, __ATOMIC_RELAXED);
    sw_account_put(login->account);
    update_login(users, login, account);
}

/* Returns the account "default" if it is on and needs no password, else NULL. */
static struct sw_account *open_account(const struct sw_users *users)
{
    struct sw_account *account = sw_users_account(users, "default", strlen("default"));
    return account != NULL && account->user->is_on && account->user->no_password ? account : NULL;
}

bool sw_users_are_open(struct sw_users *users)
{
    pthread_mutex_lock(&users->lock);
    bool open = open_account(users) != NULL;
    pthread_mutex_unlock(&users->lock);
    return open;
}

void sw_login_begin(struct sw_users *users, struct sw_login *login)
{
    pthread_mutex_lock(&users->lock);
    struct sw_account *account = open_account(users);
    if (account != NULL) {
        enter(users, login, account);
    }
    pthread_mutex_unlock(&users->lock);
}

bool sw_login_with_password(struct sw_users *users, struct sw_login *login, const char *name,
                            size_t name_size, const void *password, size_t password_size)
{
    struct sw_hash hash;
    bool hashed = sw_hash_password(password, password_size, &hash);
    pthread_mutex_lock(&users->lock);
    struct sw_account *account = sw_users_account(users, name, name_size);
    const struct sw_user *user = account != NULL ? account->user : NULL;
    bool is_right = sw_hash_is_among(&hash, user != NULL ? user->hashes : &users->nobody,
                                     user != NULL ? user->hash_count : 1);
    bool enters = hashed && user != NULL && user->is_on && (is_right || user->no_password);
    if (enters) {
        enter(users, login, account);
    }
    pthread_mutex_unlock(&users->lock);
    sw_forget(&hash, sizeof(hash));
    return enters;
}

bool sw_login_without_password(struct sw_users *users, struct sw_login *login, const char *name,
                               size_t name_size)
{
    pthread_mutex_lock(&users->lock);
    struct sw_account *account = sw_users_account(users, name, name_size);
    bool enters = account != NULL && account->user->is_on;
    if (enters) {
        enter(users, login, account);
    }
    pthread_mutex_unlock(&users->lock);
    return enters;
}

void sw_login_end(struct sw_login *login)
{
    sw_user_put(login->user);
    sw_account_put(login->account);
    *login = (struct sw_login){0};
}

enum sw_login_state sw_login_refresh(struct sw_users *users, struct sw_login *login)
{
    enum sw_login_state state = SW_LOGIN_IN;
    if (login->account == NULL) {
        return SW_LOGIN_NONE;
    }
    if (login->version == __atomic_load_n(&users->version, __ATOMIC_RELAXED)) {
        return SW_LOGIN_IN;
    }
    pthread_mutex_lock(&users->lock);
    if (login->account->is_deleted) {
        state = SW_LOGIN_DELETED;
    } else {
        update_login(users, login, login->account);
    }
    pthread_mutex_unlock(&users->lock);
    return state;
}

void sw_login_copy(struct sw_users *users, const struct sw_login *from, struct sw_login *to)
{
    pthread_mutex_lock(&users->lock);
    *to = (struct sw_login){0};
    __atomic_fetch_add(&from->account->refs, 1, __ATOMIC_RELAXED);
    update_login(users, to, from->account);
    to->version = from->version; /* the next refresh finds a deleted user */
    pthread_mutex_unlock(&users->lock);
}

enum sw_lack sw_login_lacks(const struct sw_users *users, const struct sw_login *login, int command,
                            bool all_keys)
{
    if (command < 0 || !sw_user_may(login->user, (uint32_t)command)) {
        return SW_LACKS_COMMAND;
    }
    const struct sw_catalog_command *row = &users->catalog->commands[command];
    if (login->ranges != NULL && (all_keys || row->all_keys)) {
        return SW_LACKS_ALL_KEYS;
    }
    return row->scope == SW_SCOPE_ALL && !login->user->all_tables ? SW_LACKS_ALL_TABLES
                                                                  : SW_LACKS_NOTHING;
}

bool sw_login_may(struct sw_users *users, struct sw_login *login, uint32_t command)
{
    return sw_login_refresh(users, login) == SW_LOGIN_IN &&
           sw_login_lacks(users, login, (int)command, false) == SW_LACKS_NOTHING;
}

void sw_users_count_waiting(struct sw_users *users, int change)
{
    __atomic_fetch_add(&users->waiting, (uint64_t)(int64_t)change, __ATOMIC_RELAXED);
}

uint64_t sw_users_waiting(const struct sw_users *users)
{
    return __atomic_load_n(&users->waiting, __ATOMIC_RELAXED);
}
