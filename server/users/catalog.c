/* SPDX-License-Identifier: MIT
 *
 * catalog.c - finds commands and categories by their names.
 */
#include "server/users/catalog.h"

#include <string.h>
#include <strings.h>

static const char *const category_names[] = {
#define CATEGORY_NAME(id, name) name,
    SW_CATEGORY_MAP(CATEGORY_NAME)};

static bool is_name(const char *known, const char *name, size_t size)
{
    return strlen(known) == size && strncasecmp(known, name, size) == 0;
}

int sw_catalog_find(const struct sw_commands *catalog, const char *name, size_t size)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (is_name(catalog->commands[i].name, name, size)) {
            return (int)i;
        }
    }
    return -1;
}

int sw_category_find(const char *name, size_t size)
{
    for (int i = 0; i < SW_CATEGORY_COUNT; i++) {
        if (is_name(category_names[i], name, size)) {
            return i;
        }
    }
    return -1;
}

const char *sw_category_name(unsigned index)
{
    return index < SW_CATEGORY_COUNT ? category_names[index] : "?";
}

bool sw_catalog_is_within(const struct sw_commands *catalog, uint32_t i, uint32_t container)
{
    const char *name = catalog->commands[container].name;
    size_t size = strlen(name);
    return strncmp(catalog->commands[i].name, name, size) == 0 &&
           catalog->commands[i].name[size] == '|';
}
