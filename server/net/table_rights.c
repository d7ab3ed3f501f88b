/* SPDX-License-Identifier: MIT
 *
 * table_rights.c - the tables that words name, and the rights to them.
 */
#include "server/net/table_rights.h"

#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"

static bool lacks(const struct sw_resp_argument *word, char name[SW_USER_TABLE_BYTES])
{
    const int shown =
        (int)(word->size < SW_USER_TABLE_BYTES ? word->size : SW_USER_TABLE_BYTES - 1);
    snprintf(name, SW_USER_TABLE_BYTES, "%.*s", shown, (const char *)word->text);
    return true;
}

bool sw_net_lacks_place(const struct sw_user *user, const struct sw_place *place,
                        char name[SW_USER_TABLE_BYTES])
{
    if (user->all_tables || sw_user_may_use(user, place->number, place->name)) {
        return false;
    }
    memcpy(name, place->name, sizeof(place->name));
    return true;
}

bool sw_net_lacks_named(const struct sw_user *user, const struct sw_tables_view *view,
                        const struct sw_resp_argument *word, const struct sw_resp_argument *number,
                        char name[SW_USER_TABLE_BYTES])
{
    const struct sw_place *place =
        view == NULL ? NULL : sw_tables_find(view, word->text, word->size);
    char wanted[SW_USER_TABLE_BYTES] = "";
    uint64_t value = SW_USER_NO_NUMBER;
    if (place != NULL) {
        return sw_net_lacks_place(user, place, name);
    }
    if (word->size >= sizeof(wanted)) {
        return !user->all_tables && lacks(word, name);
    }
    memcpy(wanted, word->text, word->size);
    if (!sw_decimal_parse(number->text, number->size, SW_USER_NO_NUMBER - 1, &value)) {
        value = SW_USER_NO_NUMBER;
    }
    return !user->all_tables && !sw_user_may_use(user, (uint32_t)value, wanted) &&
           lacks(word, name);
}

bool sw_net_lacks_behind(const struct sw_user *user, const struct sw_tables_view *view,
                         const struct sw_resp_argument *words, uint32_t count, const char *keyword,
                         char name[SW_USER_TABLE_BYTES])
{
    bool any = false;
    for (uint32_t i = 0; i + 1 < count && !any; i++) {
        any = sw_argument_is(&words[i], keyword) &&
              sw_net_lacks_named(user, view, &words[i + 1], &words[i + 1], name);
    }
    return any;
}

/* The word that has the number of the table: the one behind the last NUMBER, or its name. */
static const struct sw_resp_argument *number_of(const struct sw_resp_argument *words,
                                                uint32_t count)
{
    const struct sw_resp_argument *number = &words[1];
    for (uint32_t i = 2; i + 1 < count; i++) {
        number = sw_argument_is(&words[i], "NUMBER") ? &words[i + 1] : number;
    }
    return number;
}

bool sw_net_lacks_change(const struct sw_user *user, const struct sw_tables_view *view,
                         const struct sw_resp_argument *words, uint32_t count,
                         char name[SW_USER_TABLE_BYTES])
{
    if (count < 2) {
        return false;
    }
    if (sw_argument_is(&words[0], "SWAP") && count > 2 &&
        sw_net_lacks_named(user, view, &words[2], &words[2], name)) {
        return true;
    }
    return sw_net_lacks_named(user, view, &words[1], number_of(words, count), name) ||
           sw_net_lacks_behind(user, view, words + 2, count - 2, "LIKE", name);
}
