/* SPDX-License-Identifier: MIT
 *
 * catalog.c - packs, unpacks and checks catalogs.
 */
#include "proto/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "proto/sherwood.pb-c.h"
#include "proto/value_type.h"

/* --- encoding --------------------------------------------------------------------------------- */

/* The parts of a message that is being packed. */
struct packing {
    Sherwood__Catalog message;
    Sherwood__CatalogPlace *places;
    Sherwood__CatalogPlace **place_at;
    Sherwood__CatalogTable *tables;
    Sherwood__CatalogTable **table_at; /* the tables, then those with new options */
};

static void fill_table(Sherwood__CatalogTable *to, const struct sw_catalog_table *from)
{
    sherwood__catalog_table__init(to);
    to->id = from->id;
    to->file = from->file;
    to->through = from->through;
    to->options = (char *)(uintptr_t)from->options; /* only read */
    to->key_bytes = from->shape.key_bytes;
    to->value_bytes = from->shape.value_bytes;
    to->engine = from->shape.engine;
    to->value_format = from->shape.value_format;
    to->value_type = from->shape.value_type;
    to->key_text_bytes = from->shape.key_text_bytes;
    to->key_form = from->key_form;
    to->slots_most = from->slots_most;
}

static void fill(struct packing *packing, const struct sw_catalog *catalog)
{
    for (size_t i = 0; i < catalog->place_count; i++) {
        const struct sw_catalog_place *from = &catalog->places[i];
        Sherwood__CatalogPlace *to = packing->place_at[i] = &packing->places[i];
        sherwood__catalog_place__init(to);
        to->number = from->number;
        to->name = (char *)(uintptr_t)from->name; /* only read */
        to->table = from->table;
    }
    const size_t tables = catalog->table_count;
    for (size_t i = 0; i < tables + catalog->altered_count; i++) {
        packing->table_at[i] = &packing->tables[i];
        fill_table(&packing->tables[i],
                   i < tables ? &catalog->tables[i] : &catalog->altered[i - tables]);
    }
    sherwood__catalog__init(&packing->message);
    packing->message.n_places = catalog->place_count;
    packing->message.places = packing->place_at;
    packing->message.n_tables = catalog->table_count;
    packing->message.tables = packing->table_at;
    packing->message.next_number = catalog->next_number;
    packing->message.next_table = catalog->next_table;
    packing->message.n_gone = catalog->gone_count;
    packing->message.gone = catalog->gone;
    packing->message.n_altered = catalog->altered_count;
    packing->message.altered = packing->table_at + tables;
}

uint8_t *sw_catalog_encode(const struct sw_catalog *catalog, size_t *bytes)
{
    const size_t tables = catalog->table_count + catalog->altered_count;
    struct packing packing = {
        .places = calloc(catalog->place_count + 1, sizeof(Sherwood__CatalogPlace)),
        .place_at = calloc(catalog->place_count + 1, sizeof(Sherwood__CatalogPlace *)),
        .tables = calloc(tables + 1, sizeof(Sherwood__CatalogTable)),
        .table_at = calloc(tables + 1, sizeof(Sherwood__CatalogTable *)),
    };
    uint8_t *out = NULL;
    if (packing.places != NULL && packing.place_at != NULL && packing.tables != NULL &&
        packing.table_at != NULL) {
        fill(&packing, catalog);
        *bytes = sherwood__catalog__get_packed_size(&packing.message);
        out = malloc(*bytes + 1);
    }
    if (out != NULL) {
        sherwood__catalog__pack(&packing.message, out);
    }
    free(packing.places);
    free((void *)packing.place_at);
    free(packing.tables);
    free((void *)packing.table_at);
    return out;
}

/* --- decoding --------------------------------------------------------------------------------- */

static bool has_unknown_fields(const Sherwood__Catalog *message)
{
    bool has = message->base.n_unknown_fields > 0;
    for (size_t i = 0; i < message->n_places; i++) {
        has |= message->places[i]->base.n_unknown_fields > 0;
    }
    for (size_t i = 0; i < message->n_tables; i++) {
        has |= message->tables[i]->base.n_unknown_fields > 0;
    }
    for (size_t i = 0; i < message->n_altered; i++) {
        has |= message->altered[i]->base.n_unknown_fields > 0;
    }
    return has;
}

static const struct sw_catalog_table *find(const struct sw_catalog_table *tables, size_t count,
                                           uint32_t id)
{
    for (size_t i = 0; i < count; i++) {
        if (tables[i].id == id) {
            return &tables[i];
        }
    }
    return NULL;
}

const struct sw_catalog_table *sw_catalog_table_of(const struct sw_catalog *catalog, uint32_t id)
{
    return find(catalog->tables, catalog->table_count, id);
}

const struct sw_catalog_table *sw_catalog_altered_of(const struct sw_catalog *catalog, uint32_t id)
{
    return find(catalog->altered, catalog->altered_count, id);
}

static bool has_place_of(const struct sw_catalog *catalog, uint32_t id)
{
    size_t places = 0;
    for (size_t i = 0; i < catalog->place_count; i++) {
        places += catalog->places[i].table == id;
    }
    return places == 1;
}

static bool has_names(const struct sw_catalog *catalog)
{
    bool has = true;
    for (size_t i = 0; i < catalog->place_count; i++) {
        const size_t bytes = strlen(catalog->places[i].name);
        has &= bytes > 0 && bytes < SW_CATALOG_NAME_BYTES;
    }
    return has;
}

/* Returns whether places and tables fit each other. */
static bool is_possible(const struct sw_catalog *catalog)
{
    bool fits = catalog->place_count > 0 && catalog->places[0].number == 0 &&
                catalog->place_count == catalog->table_count && catalog->gone_count == 0 &&
                catalog->altered_count == 0;
    for (size_t i = 1; i < catalog->place_count; i++) {
        fits &= catalog->places[i].number > catalog->places[i - 1].number;
    }
    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct sw_catalog_table *table = &catalog->tables[i];
        const struct sw_wal_shape *shape = &table->shape;
        fits &= table->id > 0 && table->id < catalog->next_table &&
                (i == 0 || table->id > catalog->tables[i - 1].id) &&
                has_place_of(catalog, table->id) && table->file <= table->through &&
                (shape->key_bytes == 4 || shape->key_bytes == 8) &&
                (shape->value_bytes >= 4 || shape->value_type == SW_TYPE_NONE) &&
                shape->value_bytes <= 4096;
    }
    return fits;
}

static struct sw_catalog_table read_table(const Sherwood__CatalogTable *from)
{
    return (struct sw_catalog_table){
        .id = from->id,
        .file = from->file,
        .through = from->through,
        .options = from->options,
        .shape = {from->key_bytes, from->value_bytes, from->engine, from->value_format,
                  from->value_type, from->key_text_bytes},
        .key_form = from->key_form,
        .slots_most = from->slots_most,
    };
}

static bool copy(struct sw_catalog *catalog, const Sherwood__Catalog *message)
{
    catalog->places = calloc(message->n_places + 1, sizeof(*catalog->places));
    catalog->tables = calloc(message->n_tables + 1, sizeof(*catalog->tables));
    catalog->altered = calloc(message->n_altered + 1, sizeof(*catalog->altered));
    if (catalog->places == NULL || catalog->tables == NULL || catalog->altered == NULL) {
        return false;
    }
    catalog->place_count = message->n_places;
    catalog->table_count = message->n_tables;
    catalog->altered_count = message->n_altered;
    catalog->next_number = message->next_number;
    catalog->next_table = message->next_table;
    catalog->gone = message->gone;
    catalog->gone_count = message->n_gone;
    for (size_t i = 0; i < message->n_places; i++) {
        const Sherwood__CatalogPlace *from = message->places[i];
        catalog->places[i] = (struct sw_catalog_place){from->number, from->table, from->name};
    }
    for (size_t i = 0; i < message->n_tables; i++) {
        catalog->tables[i] = read_table(message->tables[i]);
    }
    for (size_t i = 0; i < message->n_altered; i++) {
        catalog->altered[i] = read_table(message->altered[i]);
    }
    return true;
}

const char *sw_catalog_decode_change(const uint8_t *bytes, size_t size, struct sw_catalog *catalog,
                                     bool *is_newer)
{
    Sherwood__Catalog *message = sherwood__catalog__unpack(NULL, size, bytes);
    const char *wrong = NULL;
    *catalog = (struct sw_catalog){.message = message};
    *is_newer = false;
    if (message == NULL) {
        return "has a damaged catalog";
    }
    if (!copy(catalog, message)) {
        wrong = "cannot be read: not enough memory";
    } else if (has_unknown_fields(message)) {
        *is_newer = true;
        wrong = "has fields that only a later version knows";
    } else if (!has_names(catalog)) {
        wrong = "has a catalog that contradicts itself";
    }
    if (wrong != NULL) {
        sw_catalog_free(catalog);
    }
    return wrong;
}

const char *sw_catalog_decode(const uint8_t *bytes, size_t size, struct sw_catalog *catalog,
                              bool *is_newer)
{
    const char *wrong = sw_catalog_decode_change(bytes, size, catalog, is_newer);
    if (wrong == NULL && !is_possible(catalog)) {
        sw_catalog_free(catalog);
        wrong = "has a catalog that contradicts itself";
    }
    return wrong;
}

void sw_catalog_free(struct sw_catalog *catalog)
{
    free(catalog->places);
    free(catalog->tables);
    free(catalog->altered);
    if (catalog->message != NULL) {
        sherwood__catalog__free_unpacked(catalog->message, NULL);
    }
    *catalog = (struct sw_catalog){0};
}
