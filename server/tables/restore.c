/* SPDX-License-Identifier: MIT
 *
 * restore.c - the places that a data directory has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/tables/tables_parts.h"

/* Closes all tables except the first, which gets the id `id`. The caller has locked `change`. */
static int leave_one(struct sw_tables *tables, uint32_t id)
{
    while (tables->view->catalog.count > 1) {
        struct sw_tables_view *next = sw_tables_next_view(tables->view);
        if (next == NULL) {
            return -1;
        }
        struct sw_places *catalog = &next->catalog;
        struct sw_served *dropped = next->served[catalog->count - 1];
        (void)sw_places_drop(catalog, catalog->places[catalog->count - 1].number);
        sw_tables_replace_view(tables, next, dropped);
    }
    pthread_mutex_lock(&tables->lock);
    tables->first->id = id;
    tables->view->catalog.places[0].table = id;
    pthread_mutex_unlock(&tables->lock);
    return 0;
}

static struct sw_served *find_id(const struct sw_tables_view *view, uint32_t id)
{
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        if (view->served[i]->id == id) {
            return view->served[i];
        }
    }
    return NULL;
}

/* Puts the tables into the places of a view: those that exist, and new ones. Returns 0; or -1 with
 * an error and no new table. */
static int open_all(struct sw_tables *tables, struct sw_tables_view *next,
                    const struct sw_config *const *configs, char *error, size_t error_bytes)
{
    const struct sw_tables_owner *owner = &tables->owner;
    for (uint32_t i = 0; i < next->catalog.count; i++) {
        const uint32_t id = next->catalog.places[i].table;
        struct sw_served *served = find_id(tables->view, id);
        const bool is_new = served == NULL;
        served = is_new ? calloc(1, sizeof(*served)) : served;
        if (is_new && (served == NULL ||
                       owner->open(owner->server, configs[i], served, error, error_bytes) != 0)) {
            free(served);
            while (i-- > 0) {
                if (find_id(tables->view, next->served[i]->id) == NULL) {
                    sw_tables_close(tables, next->served[i]);
                }
            }
            return -1;
        }
        served->id = id;
        next->served[i] = served;
    }
    return 0;
}

/* Publishes the places of `catalog`. The caller has locked `change`. */
static int apply(struct sw_tables *tables, const struct sw_places *catalog,
                 const struct sw_config *const *configs, char *error, size_t error_bytes)
{
    struct sw_tables_view *next = sw_tables_next_view(tables->view), *before = tables->view;
    struct sw_served *dropped = NULL;
    if (next == NULL) {
        return -1;
    }
    memcpy(next->catalog.places, catalog->places, catalog->count * sizeof(*catalog->places));
    next->catalog.count = catalog->count;
    next->catalog.next_number = catalog->next_number;
    next->catalog.next_table = catalog->next_table;
    if (open_all(tables, next, configs, error, error_bytes) != 0) {
        sw_tables_free_view(next);
        return -1;
    }
    for (uint32_t i = 0; i < before->catalog.count; i++) {
        dropped = find_id(next, before->served[i]->id) == NULL ? before->served[i] : dropped;
    }
    sw_tables_replace_view(tables, next, dropped);
    return 0;
}

/* `is_new`: the tables that exist are closed, except the first. */
static int replace(struct sw_tables *tables, const struct sw_places *catalog,
                   const struct sw_config *const *configs, bool is_new, char *error,
                   size_t error_bytes)
{
    int status = -1;
    snprintf(error, error_bytes, "ERR not enough memory");
    pthread_mutex_lock(&tables->change);
    const uint32_t most = tables->view->catalog.most;
    if (configs != NULL && tables->owner.one_table != NULL) {
        snprintf(error, error_bytes, "%s", tables->owner.one_table);
    } else if (catalog->count > most) {
        snprintf(error, error_bytes, "ERR it has %u tables, and tables-max is %u: raise tables-max",
                 catalog->count, most);
    } else if (configs != NULL && !sw_tables_claim_several(tables)) {
        snprintf(error, error_bytes, "ERR this server replicates: it has one table");
    } else if (!is_new || leave_one(tables, catalog->places[0].table) == 0) {
        status = apply(tables, catalog, configs, error, error_bytes);
    }
    pthread_mutex_unlock(&tables->change);
    return status;
}

int sw_tables_restore(struct sw_tables *tables, const struct sw_places *catalog,
                      const struct sw_config *const *configs, char *error, size_t error_bytes)
{
    struct sw_places alone;
    if (sw_places_init(&alone, 1) != SW_PLACES_OK) {
        snprintf(error, error_bytes, "ERR not enough memory");
        return -1;
    }
    const int status =
        replace(tables, catalog != NULL ? catalog : &alone, configs, true, error, error_bytes);
    sw_places_fini(&alone);
    return status;
}

int sw_tables_apply(struct sw_tables *tables, const struct sw_places *catalog,
                    const struct sw_config *const *configs, char *error, size_t error_bytes)
{
    return replace(tables, catalog, configs, false, error, error_bytes);
}
