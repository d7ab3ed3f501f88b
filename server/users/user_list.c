/* SPDX-License-Identifier: MIT
 *
 * user_list.c - reference counts and lists of users.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "server/users/users_parts.h"

void sw_user_copy(struct sw_user *to, const struct sw_user *from)
{
    static_assert(offsetof(struct sw_user, refs) == 0, "refs is the first field of a user");
    memcpy((char *)to + sizeof(to->refs), (const char *)from + sizeof(from->refs),
           sizeof(*to) - sizeof(to->refs));
}

struct sw_user *sw_user_create(const struct sw_user *like)
{
    struct sw_user *user = malloc(sizeof(*user));
    if (user != NULL) {
        sw_user_copy(user, like);
        user->refs = 1;
    }
    return user;
}

const struct sw_user *sw_user_keep(const struct sw_user *user)
{
    __atomic_fetch_add((uint64_t *)(uintptr_t)&user->refs, 1, __ATOMIC_RELAXED);
    return user;
}

void sw_user_put(const struct sw_user *user)
{
    struct sw_user *own = (struct sw_user *)(uintptr_t)user;
    if (own != NULL && __atomic_sub_fetch(&own->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        sw_forget(own, sizeof(*own));
        free(own);
    }
}

void sw_account_put(struct sw_account *account)
{
    if (account != NULL && __atomic_sub_fetch(&account->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        sw_user_put(account->user);
        free(account);
    }
}

void sw_user_list_free(struct sw_user_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        sw_user_put(list->at[i]);
    }
    free(list->at);
    *list = (struct sw_user_list){0};
}

bool sw_user_is_named(const struct sw_user *user, const char *name, size_t size)
{
    return strlen(user->name) == size && memcmp(user->name, name, size) == 0;
}

struct sw_user *sw_user_list_find(const struct sw_user_list *list, const char *name, size_t size)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (sw_user_is_named(list->at[i], name, size)) {
            return list->at[i];
        }
    }
    return NULL;
}

bool sw_user_list_add(struct sw_user_list *list, struct sw_user *user)
{
    if (user != NULL && list->count == list->capacity && list->capacity < SW_USERS_MAX) {
        uint32_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        struct sw_user **grown = realloc(list->at, capacity * sizeof(struct sw_user *));
        if (grown != NULL) {
            list->at = grown;
            list->capacity = capacity;
        }
    }
    if (user == NULL || list->count == list->capacity) {
        sw_user_put(user);
        return false;
    }
    list->at[list->count++] = user;
    return true;
}
