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
#include "server/log/catalog_file.h"
#include "server/observe/log.h"
#include "server/tables/ledger.h"
#include "table/info.h"

/* --- making ----------------------------------------------------------------------------------- */

static int by_id(const void *left, const void *right)
{
    const struct sw_catalog_table *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

struct sw_wal_shape sw_catalog_shape(const struct sw_served *served)
{
    const struct sw_config *config = served->config;
    struct sw_table_info info;
    sw_table_info(served->table, &info);
    return (struct sw_wal_shape){info.key_bytes,
                                 info.value_bytes,
                                 (uint32_t)info.engine,
                                 (uint32_t)sw_config_value_format(config),
                                 sw_config_value_type(config),
                                 info.key_text_bytes};
}

/* Returns the slots for which a table was created, if TABLE ALTER has lowered max-capacity, or 0.
 */
static uint64_t slots_most(const struct sw_served *served)
{
    struct sw_table_info info;
    sw_table_info(served->table, &info);
    return served->account != NULL && sw_account_is_lowered(served->account)
               ? info.max_capacity_slots
               : 0;
}

/* `beside`: without the options that the server has as well; NULL: with all. */
static struct sw_catalog_table describe(const struct sw_served *served, uint64_t sequence,
                                        const struct sw_config *beside)
{
    const struct sw_config *config = served->config;
    return (struct sw_catalog_table){
        .id = served->id,
        .through = sequence,
        .options = sw_table_options_to_text(config, beside),
        .shape = sw_catalog_shape(served),
        .key_form = sw_key_form_told(config->resp_keys),
        .slots_most = slots_most(served),
    };
}

/* Makes a catalog with room for the places of a view. Returns whether there is memory. */
static bool begin(struct sw_catalog *catalog, const struct sw_places *places)
{
    *catalog = (struct sw_catalog){
        .places = calloc(places->count, sizeof(*catalog->places)),
        .tables = calloc(places->count, sizeof(*catalog->tables)),
        .next_number = places->next_number,
        .next_table = places->next_table,
    };
    return catalog->places != NULL && catalog->tables != NULL;
}

int sw_catalog_make(struct sw_catalog *catalog, const struct sw_tables_view *view,
                    uint64_t sequence)
{
    const struct sw_places *places = &view->catalog;
    bool enough = true;
    if (!begin(catalog, places)) {
        return -1;
    }
    for (uint32_t i = 0; i < places->count; i++) {
        const struct sw_place *place = &places->places[i];
        catalog->places[i] = (struct sw_catalog_place){place->number, place->table, place->name};
        /* in place 0 the others follow the command line */
        catalog->tables[i] =
            describe(view->served[i], sequence, place->number == 0 ? view->started : NULL);
        enough &= catalog->tables[i].options != NULL;
    }
    catalog->place_count = catalog->table_count = places->count;
    qsort(catalog->tables, catalog->table_count, sizeof(*catalog->tables), by_id);
    return enough ? 0 : -1;
}

/* Must a change have the options of the table in places[i], which exists? No record has those of
 * the command line that the table in place 0 has: the change that moves it away has them. */
static bool needs_options(const struct sw_tables_view *before, const struct sw_tables_view *next,
                          uint32_t i)
{
    const struct sw_served *served = next->served[i];
    return next->altered == served->id || (i > 0 && served == before->served[0]);
}

/* Makes the change from one view to the next; sw_catalog_unmake frees it. Returns 0, or -1 if there
 * is no memory. */
static int make_change(struct sw_catalog *change, const struct sw_tables_view *before,
                       const struct sw_tables_view *next)
{
    const struct sw_places *old = &before->catalog, *new = &next->catalog;
    bool enough = begin(change, new);
    change->gone = calloc(old->count, sizeof(*change->gone));
    change->altered = calloc(new->count, sizeof(*change->altered));
    if (!enough || change->gone == NULL || change->altered == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < old->count; i++) {
        if (sw_places_numbered(new, old->places[i].number) == NULL) {
            change->gone[change->gone_count++] = old->places[i].number;
        }
    }
    for (uint32_t i = 0; i < new->count; i++) {
        const struct sw_place *place = &new->places[i];
        const struct sw_place *was = sw_places_numbered(old, place->number);
        if (was == NULL || was->table != place->table || strcmp(was->name, place->name) != 0) {
            change->places[change->place_count++] =
                (struct sw_catalog_place){place->number, place->table, place->name};
        }
        if (place->table >= old->next_table) {
            struct sw_catalog_table *table = &change->tables[change->table_count++];
            *table = describe(next->served[i], 0, NULL);
            enough &= table->options != NULL;
        } else if (needs_options(before, next, i)) {
            struct sw_catalog_table *table = &change->altered[change->altered_count++];
            *table = describe(next->served[i], 0, NULL);
            enough &= table->options != NULL;
        }
    }
    return enough ? 0 : -1;
}

void sw_catalog_unmake(struct sw_catalog *catalog)
{
    for (size_t i = 0; i < catalog->table_count; i++) {
        free((char *)(uintptr_t)catalog->tables[i].options);
    }
    for (size_t i = 0; i < catalog->altered_count; i++) {
        free((char *)(uintptr_t)catalog->altered[i].options);
    }
    free(catalog->places);
    free(catalog->tables);
    free(catalog->altered);
    free(catalog->gone);
    *catalog = (struct sw_catalog){0};
}

/* Encodes a catalog with zeros behind it, if it was made, and frees it. */
static uint8_t *encode(struct sw_catalog *catalog, bool was_made, size_t *bytes)
{
    uint8_t *message = was_made ? sw_catalog_encode(catalog, bytes) : NULL;
    uint8_t *padded =
        message == NULL ? NULL : calloc(1, sw_wal_align(*bytes, SW_WAL_ALIGN) + SW_WAL_ALIGN);
    if (padded != NULL) {
        memcpy(padded, message, *bytes);
    }
    free(message);
    sw_catalog_unmake(catalog);
    return padded;
}

uint8_t *sw_catalog_encode_change(const struct sw_tables_view *before,
                                  const struct sw_tables_view *next, size_t *bytes)
{
    struct sw_catalog change;
    const bool was_made = make_change(&change, before, next) == 0;
    return encode(&change, was_made, bytes);
}

uint8_t *sw_catalog_encode_view(const struct sw_tables_view *view, size_t *bytes)
{
    struct sw_catalog catalog;
    const bool was_made = sw_catalog_make(&catalog, view, 0) == 0;
    return encode(&catalog, was_made, bytes);
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

/* Does the table in place 0 have no options of its own? Those of the first table, and those of the
 * shape, are the command line's. */
static bool is_as_started(const struct sw_catalog_table *table, const struct sw_config *base,
                          const struct sw_config *config)
{
    char *own = sw_table_options_to_text(config, base);
    const bool is = table->id == SW_TABLE_FIRST || (own != NULL && own[0] == '\0') ||
                    !sw_config_is_of_one_shape(config, base);
    if (!is) {
        for (char *end = own; end != NULL && *end != '\0'; end++) {
            if (*end == '\n') {
                *end = end[1] == '\0' ? '\0' : ',';
            }
        }
        sw_log(SW_LOG_NOTICE,
               "SWAP put a table with options of its own into place 0, and it keeps them: %s; "
               "for those of the command line make another table, and swap the two",
               own == NULL ? "" : own);
    }
    free(own);
    return is;
}

/* Reads the options of the tables that the catalog describes, new ones and altered ones. A place
 * with another table gets no options. `is_new`: neither does place 0, if its table has the options
 * of the command line. */
static int read_options(const struct sw_catalog *catalog, const struct sw_places *places,
                        bool is_new, const struct sw_config *base, struct sw_config *configs,
                        const struct sw_config **at, char reason[SW_LOAD_REASON_BYTES])
{
    for (uint32_t i = 0; i < places->count; i++) {
        char error[SW_CONFIG_ERROR_BYTES] = "";
        const bool is_default = is_new && i == 0;
        const struct sw_place *place = &places->places[i];
        const struct sw_catalog_table *table = sw_catalog_table_of(catalog, place->table);
        table = table == NULL ? sw_catalog_altered_of(catalog, place->table) : table;
        at[i] = table == NULL ? NULL : &configs[i];
        if (table == NULL) {
            continue;
        }
        if (sw_table_options_of_text(table->options, base, is_default, &configs[i], error,
                                     sizeof(error)) != 0 &&
            !(is_default && table->id == SW_TABLE_FIRST)) {
            snprintf(reason, SW_LOAD_REASON_BYTES, "the options of the table %s: %.300s",
                     place->name, error);
            return -1;
        }
        configs[i].slots_most = table->slots_most;
        if (is_default && is_as_started(table, base, &configs[i])) {
            at[i] = NULL;
        }
    }
    return 0;
}

/* Gives the server these places, with the tables that `catalog` describes. `is_new`: as
 * sw_tables_restore does; else as sw_tables_apply does, which has `applied`. */
static int put(const struct sw_catalog *catalog, const struct sw_places *places, bool is_new,
               struct sw_tables *tables, const struct sw_config *base,
               const struct sw_tables_applied *applied, char reason[SW_LOAD_REASON_BYTES])
{
    char error[SW_TABLES_ERROR_BYTES] = "";
    struct sw_config *configs = calloc(places->count, sizeof(*configs));
    const struct sw_config **at = calloc(places->count, sizeof(struct sw_config *));
    int status = -1;
    snprintf(reason, SW_LOAD_REASON_BYTES, "not enough memory for %u tables", places->count);
    if (configs != NULL && at != NULL &&
        read_options(catalog, places, is_new, base, configs, at, reason) == 0) {
        status = is_new ? sw_tables_restore(tables, places, at, error, sizeof(error))
                        : sw_tables_apply(tables, places, at, applied, error, sizeof(error));
        if (status != 0) { /* the error line of RESP begins with ERR and a blank */
            snprintf(reason, SW_LOAD_REASON_BYTES, "%.400s", error + 4);
        }
    }
    free((void *)at);
    free(configs);
    return status;
}

int sw_catalog_restore(const struct sw_catalog *catalog, struct sw_tables *tables,
                       const struct sw_config *base, char reason[SW_LOAD_REASON_BYTES])
{
    struct sw_config started = *base; /* which has those that ALTER gave the first table */
    struct sw_places places;
    int status = -1;
    if (sw_places_init(&places, (uint32_t)catalog->place_count) != SW_PLACES_OK) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "not enough memory for the tables");
        return -1;
    }
    sw_config_alter(&started, sw_tables_hold(tables)->started, SW_ALTERABLE_ALL);
    sw_tables_release(tables);
    if (fill_places(catalog, &places, reason) == 0) {
        status = put(catalog, &places, true, tables, &started, NULL, reason);
    }
    sw_places_fini(&places);
    return status;
}

/* --- changes ---------------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const struct sw_place *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* Applies a change to places that have room for its own. */
static void change_places(const struct sw_catalog *change, struct sw_places *places)
{
    for (size_t i = 0; i < change->gone_count; i++) {
        (void)sw_places_drop(places, change->gone[i]);
    }
    for (size_t i = 0; i < change->place_count; i++) {
        const struct sw_catalog_place *from = &change->places[i];
        struct sw_place *to =
            (struct sw_place *)(uintptr_t)sw_places_numbered(places, from->number);
        if (to == NULL) {
            to = &places->places[places->count++];
        }
        *to = (struct sw_place){.number = from->number, .table = from->table};
        snprintf(to->name, sizeof(to->name), "%s", from->name);
        qsort(places->places, places->count, sizeof(*places->places), by_number);
    }
    places->next_number = change->next_number;
    places->next_table = change->next_table;
}

/* Returns whether each place has a table of its own, which exists or is new. */
static bool tables_fit(const struct sw_catalog *change, const struct sw_tables_view *view,
                       const struct sw_places *places)
{
    bool fits = true;
    for (uint32_t i = 0; i < places->count; i++) {
        const uint32_t id = places->places[i].table;
        bool is_known = sw_catalog_table_of(change, id) != NULL;
        for (uint32_t t = 0; t < view->catalog.count; t++) {
            is_known |= view->served[t]->id == id;
        }
        for (uint32_t other = 0; other < i; other++) {
            fits &= places->places[other].table != id;
        }
        fits &= is_known;
    }
    return fits;
}

int sw_catalog_carry_out(const struct sw_catalog *change, struct sw_tables *tables,
                         const struct sw_config *base, const struct sw_tables_applied *applied,
                         char reason[SW_LOAD_REASON_BYTES])
{
    const struct sw_tables_view *view = sw_tables_hold(tables);
    struct sw_places places;
    bool fits = false;
    int status = -1;
    snprintf(reason, SW_LOAD_REASON_BYTES, "not enough memory for the tables");
    if (sw_places_init(&places, view->catalog.count + (uint32_t)change->place_count) ==
        SW_PLACES_OK) {
        memcpy(places.places, view->catalog.places, view->catalog.count * sizeof(*places.places));
        places.count = view->catalog.count;
        change_places(change, &places);
        fits = tables_fit(change, view, &places);
    }
    sw_tables_release(tables);
    if (places.places != NULL && !fits) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "a change of the tables contradicts itself");
    } else if (fits) {
        status = put(change, &places, false, tables, base, applied, reason);
    }
    sw_places_fini(&places);
    return status;
}
