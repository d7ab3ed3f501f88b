/* SPDX-License-Identifier: MIT
 *
 * change_alter.c - TABLE ALTER: new options of a table.
 */
#include <stdio.h>
#include <string.h>

#include "server/config/table_options.h"
#include "server/tables/tables_parts.h"

enum sw_places_status sw_tables_alter(struct sw_tables *tables, struct sw_tables_view *next,
                                      struct sw_change *change, char *error, size_t error_bytes)
{
    const struct sw_place *place = sw_tables_find(next, change->name, strlen(change->name));
    if (place == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    struct sw_served *served = next->served[place - next->catalog.places];
    const struct sw_config before = *served->config;
    if (tables->owner.alter(tables->owner.server, served, &change->config, change->alters, false,
                            error, error_bytes) != 0) {
        return SW_PLACES_NO_MEMORY;
    }
    change->config = before;
    next->altered = place->number == 0 && served->id == SW_TABLE_FIRST ? 0 : served->id;
    return SW_PLACES_OK;
}

void sw_tables_alter_back(struct sw_tables *tables, const struct sw_change *change)
{
    const struct sw_place *place = sw_tables_find(tables->view, change->name, strlen(change->name));
    char unread[SW_TABLES_ERROR_BYTES];
    if (change->kind == SW_CHANGE_ALTER && place != NULL) {
        (void)tables->owner.alter(tables->owner.server, sw_tables_at(tables->view, place->number),
                                  &change->config, change->alters, true, unread, sizeof(unread));
    }
}
