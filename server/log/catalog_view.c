/* SPDX-License-Identifier: MIT
 *
 * catalog_view.c - from views to catalogs, and back.
 */
#include "server/log/catalog_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/key_form.h"
#include "server/config/table_options.h"
#include "table/info.h"

/* --- making ----------------------------------------------------------------------------------- */

static int by_id(const void *left, const void *right)
{
    const struct sw_catalog_table *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static struct sw_catalog_table describe(const struct sw_served *served, uint64_t sequence)
{
    const struct sw_config *config = served->config;
    struct sw_table_info info;
    sw_table_info(served->table, &info);
    return (struct sw_catalog_table){
        .id = served->id,
        .through = sequence,
        .options = sw_table_options_to_text(config),
        .shape = {info.key_bytes, info.value_bytes, (uint32_t)info.engine,
                  (uint32_t)sw_config_value_format(config), sw_config_value_type(config),
                  info.key_text_bytes},
        .key_form = sw_key_form_told(config->resp_keys),
    };
}

int sw_catalog_make(struct sw_catalog *catalog, const struct sw_tables_view *view,
                    uint64_t sequence)
{
    const struct sw_places *places = &view->catalog;
    bool enough = true;
    *catalog = (struct sw_catalog){
        .places = calloc(places->count, sizeof(*catalog->places)),
        .tables = calloc(places->count, sizeof(*catalog->tables)),
        .next_number = places->next_number,
        .next_table = places->next_table,
    };
    if (catalog->places == NULL || catalog->tables == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < places->count; i++) {
        const struct sw_place *place = &places->places[i];
        catalog->places[i] = (struct sw_catalog_place){place->number, place->table, place->name};
        catalog->tables[i] = describe(view->served[i], sequence);
        enough &= catalog->tables[i].options != NULL;
    }
    catalog->place_count = catalog->table_count = places->count;
    qsort(catalog->tables, catalog->table_count, sizeof(*catalog->tables), by_id);
    return enough ? 0 : -1;
}

void sw_catalog_unmake(struct sw_catalog *catalog)
{
    for (size_t i = 0; i < catalog->table_count; i++) {
        free((char *)(uintptr_t)catalog->tables[i].options);
    }
    free(catalog->places);
    free(catalog->tables);
    *catalog = (struct sw_catalog){0};
}

/* --- restoring -------------------------------------------------------------------------------- */

/* Returns whether the name is allowed, and that of no place before. */
static bool name_fits(const struct sw_catalog *catalog, size_t at)
{
    const char *name = catalog->places[at].name;
    bool fits = at == 0 ? strcmp(name, SW_PLACE_DEFAULT) == 0
                        : sw_place_name_is_allowed(name, strlen(name));
    for (size_t i = 0; i < at; i++) {
        fits &= strcmp(name, catalog->places[i].name) != 0;
    }
    return fits;
}

static int fill_places(const struct sw_catalog *catalog, struct sw_places *places,
                       char reason[SW_LOAD_REASON_BYTES])
{
    for (size_t i = 0; i < catalog->place_count; i++) {
        const struct sw_catalog_place *from = &catalog->places[i];
        struct sw_place *to = &places->places[i];
        if (!name_fits(catalog, i)) {
            snprintf(reason, SW_LOAD_REASON_BYTES, "the catalog has a wrong name of a table: %s",
                     from->name);
            return -1;
        }
        *to = (struct sw_place){.number = from->number, .table = from->table};
        snprintf(to->name, sizeof(to->name), "%s", from->name);
    }
    places->count = (uint32_t)catalog->place_count;
    places->next_number = catalog->next_number;
    places->next_table = catalog->next_table;
    return 0;
}

/* Reads the options of the tables outside of place 0. */
static int read_options(const struct sw_catalog *catalog, const struct sw_config *base,
                        struct sw_config *configs, const struct sw_config **at,
                        char reason[SW_LOAD_REASON_BYTES])
{
    for (size_t i = 1; i < catalog->place_count; i++) {
        char error[SW_CONFIG_ERROR_BYTES] = "";
        const struct sw_catalog_place *place = &catalog->places[i];
        const struct sw_catalog_table *table = sw_catalog_table_of(catalog, place->table);
        at[i] = &configs[i];
        if (sw_table_options_of_text(table->options, base, &configs[i], error, sizeof(error)) !=
            0) {
            snprintf(reason, SW_LOAD_REASON_BYTES, "the options of the table %s: %.300s",
                     place->name, error);
            return -1;
        }
    }
    return 0;
}

int sw_catalog_restore(const struct sw_catalog *catalog, struct sw_tables *tables,
                       const struct sw_config *base, char reason[SW_LOAD_REASON_BYTES])
{
    char error[SW_TABLES_ERROR_BYTES] = "";
    struct sw_places places;
    struct sw_config *configs = calloc(catalog->place_count, sizeof(*configs));
    const struct sw_config **at = calloc(catalog->place_count, sizeof(*at));
    int status = -1;
    snprintf(reason, SW_LOAD_REASON_BYTES, "not enough memory for %zu tables",
             catalog->place_count);
    if (sw_places_init(&places, (uint32_t)catalog->place_count) == SW_PLACES_OK &&
        configs != NULL && at != NULL && fill_places(catalog, &places, reason) == 0 &&
        read_options(catalog, base, configs, at, reason) == 0) {
        status = sw_tables_restore(tables, &places, at, error, sizeof(error));
        if (status != 0) { /* the error line of RESP begins with ERR and a blank */
            snprintf(reason, SW_LOAD_REASON_BYTES, "%.400s", error + 4);
        }
    }
    sw_places_fini(&places);
    free((void *)at);
    free(configs);
    return status;
}
