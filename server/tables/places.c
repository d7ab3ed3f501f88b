/* SPDX-License-Identifier: MIT
 *
 * places.c - places: names, numbers and the ids of their tables.
 */
#include "server/tables/places.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_TABLE (SW_TABLE_FIRST + 1)

enum sw_places_status sw_places_init(struct sw_places *catalog, uint32_t most)
{
    assert(most > 0);
    *catalog = (struct sw_places){.most = most, .count = 1};
    catalog->places = calloc(most, sizeof(*catalog->places));
    if (catalog->places == NULL) {
        return SW_PLACES_NO_MEMORY;
    }
    catalog->places[0] = (struct sw_place){.table = SW_TABLE_FIRST, .name = SW_PLACE_DEFAULT};
    catalog->next_table = SECOND_TABLE;
    catalog->next_number = SW_PLACE_NUMBERS_FREE;
    return SW_PLACES_OK;
}

void sw_places_fini(struct sw_places *catalog)
{
    free(catalog->places);
    *catalog = (struct sw_places){0};
}

bool sw_places_are_several(const struct sw_places *catalog)
{
    return catalog->next_table > SECOND_TABLE;
}

/* --- names and numbers ------------------------------------------------------------------------ */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool sw_place_name_is_allowed(const char *name, size_t bytes)
{
    if (bytes == 0 || bytes >= SW_PLACE_NAME_BYTES || !is_letter(name[0])) {
        return false;
    }
    for (size_t i = 1; i < bytes; i++) {
        const bool is_mark = name[i] == '.' || name[i] == ':' || name[i] == '-';
        if (!is_letter(name[i]) && !is_digit(name[i]) && !is_mark) {
            return false;
        }
    }
    return true;
}

/* Returns whether the name is "db" and a decimal number that SELECT would read. */
static bool is_of_a_number(const char *name, size_t bytes)
{
    if (bytes < 3 || name[0] != 'd' || name[1] != 'b' || (name[2] == '0' && bytes > 3)) {
        return false;
    }
    for (size_t i = 2; i < bytes; i++) {
        if (!is_digit(name[i])) {
            return false;
        }
    }
    return true;
}

static bool is_name_of(const char *name, size_t bytes, uint32_t number)
{
    char own[SW_PLACE_NAME_BYTES];
    const int size = snprintf(own, sizeof(own), "db%u", number);
    return (size_t)size == bytes && memcmp(own, name, bytes) == 0;
}

/* Returns the index of the first place whose number is not below `number`. */
static uint32_t index_of(const struct sw_places *catalog, uint32_t number)
{
    uint32_t from = 0, to = catalog->count;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (catalog->places[middle].number < number) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static struct sw_place *find(const struct sw_places *catalog, uint32_t number)
{
    const uint32_t at = index_of(catalog, number);
    struct sw_place *place = &catalog->places[at];
    return at < catalog->count && place->number == number ? place : NULL;
}

const struct sw_place *sw_places_numbered(const struct sw_places *catalog, uint32_t number)
{
    return find(catalog, number);
}

const struct sw_place *sw_places_named(const struct sw_places *catalog, const char *name,
                                       size_t bytes)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        const char *own = catalog->places[i].name;
        if (strlen(own) == bytes && memcmp(own, name, bytes) == 0) {
            return &catalog->places[i];
        }
    }
    return NULL;
}

/* Returns whether a place with this number may have this name. */
static enum sw_places_status check_name(const struct sw_places *catalog, const char *name,
                                        size_t bytes, uint32_t number)
{
    if (!sw_place_name_is_allowed(name, bytes)) {
        return SW_PLACES_NO_NAME;
    }
    if (is_of_a_number(name, bytes) && !is_name_of(name, bytes, number)) {
        return SW_PLACES_RESERVED;
    }
    return sw_places_named(catalog, name, bytes) != NULL ? SW_PLACES_EXISTS : SW_PLACES_OK;
}

static void set_name(struct sw_place *place, const char *name, size_t bytes)
{
    memset(place->name, 0, sizeof(place->name));
    memcpy(place->name, name, bytes);
}

/* --- changes ---------------------------------------------------------------------------------- */

enum sw_places_status sw_places_create(struct sw_places *catalog, const char *name, size_t bytes,
                                       const uint32_t *number, struct sw_place *out)
{
    const uint32_t own = number != NULL ? *number : catalog->next_number;
    if (number != NULL && own >= SW_PLACE_NUMBERS_FREE) {
        return SW_PLACES_NO_NUMBER;
    }
    const enum sw_places_status status = check_name(catalog, name, bytes, own);
    if (status != SW_PLACES_OK) {
        return status;
    }
    if (find(catalog, own) != NULL) {
        return SW_PLACES_NUMBER_IS_USED;
    }
    if (catalog->count == catalog->most || catalog->next_table == UINT32_MAX ||
        catalog->next_number == UINT32_MAX) {
        return SW_PLACES_FULL;
    }
    const uint32_t at = index_of(catalog, own);
    struct sw_place *place = &catalog->places[at];
    memmove(place + 1, place, (catalog->count - at) * sizeof(*place));
    *place = (struct sw_place){.number = own, .table = catalog->next_table++};
    set_name(place, name, bytes);
    catalog->next_number += number == NULL;
    catalog->count++;
    *out = *place;
    return SW_PLACES_OK;
}

enum sw_places_status sw_places_drop(struct sw_places *catalog, uint32_t number)
{
    struct sw_place *place = find(catalog, number);
    if (number == 0 || place == NULL) {
        return number == 0 ? SW_PLACES_DEFAULT : SW_PLACES_NO_PLACE;
    }
    const size_t behind = catalog->count - (size_t)(place - catalog->places) - 1;
    memmove(place, place + 1, behind * sizeof(*place));
    catalog->count--;
    return SW_PLACES_OK;
}

enum sw_places_status sw_places_rename(struct sw_places *catalog, uint32_t number, const char *name,
                                       size_t bytes)
{
    struct sw_place *place = find(catalog, number);
    if (number == 0 || place == NULL) {
        return number == 0 ? SW_PLACES_DEFAULT : SW_PLACES_NO_PLACE;
    }
    const enum sw_places_status status = check_name(catalog, name, bytes, number);
    if (status == SW_PLACES_OK) {
        set_name(place, name, bytes);
    }
    return status;
}

enum sw_places_status sw_places_swap(struct sw_places *catalog, uint32_t first, uint32_t second)
{
    struct sw_place *one = find(catalog, first), *other = find(catalog, second);
    if (one == NULL || other == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    const uint32_t table = one->table;
    one->table = other->table;
    other->table = table;
    return SW_PLACES_OK;
}
