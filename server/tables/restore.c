/* SPDX-License-Identifier: MIT
 *
 * restore.c - the places that a data directory or a primary has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/table_options.h"
#include "server/tables/tables_parts.h"

/* The id of the first table while it lies in place 0 and is about to be dropped. */
#define ID_NONE 0U

/* Puts the table that the server started with into place 0. A SWAP may have moved it, and a DROP
 * closed it. The caller has locked `change`. */
static int put_first(struct sw_tables *tables)
{
    struct sw_served *first = tables->first, *instead = tables->view->served[0];
    struct sw_tables_view *next = sw_tables_next_view(tables->view);
    uint32_t at = 0;
    if (next == NULL) {
        return -1;
    }
    while (at < next->catalog.count && next->served[at] != first) {
        at++;
    }
    const bool is_closed = at == next->catalog.count;
    if (is_closed) {
        __atomic_store_n(&first->leaves, false, __ATOMIC_RELAXED);
        tables->owner.reopen(tables->owner.server, first);
    } else {
        next->served[at] = instead;
        next->catalog.places[at].table = instead->id;
    }
    next->served[0] = first;
    next->catalog.places[0].table = first->id;
    sw_tables_replace_view(tables, next, is_closed ? instead : NULL);
    return 0;
}

/* Gives the first table, the only one, another id. Loops may read the old one meanwhile, so the
 * table gets another struct. The caller has locked `change`. */
static int give_id(struct sw_tables *tables, uint32_t id)
{
    struct sw_served *before = tables->first, *first = malloc(sizeof(*first));
    struct sw_tables_view *next = sw_tables_next_view(tables->view);
    if (first == NULL || next == NULL) {
        free(first);
        sw_tables_free_view(next);
        return -1;
    }
    *first = (struct sw_served){.id = id,
                                .table = before->table,
                                .gate = before->gate,
                                .account = before->account,
                                .config = before->config,
                                .loops = before->loops};
    next->served[0] = tables->first = first;
    next->catalog.places[0].table = id;
    sw_tables_replace_view(tables, next, NULL);
    pthread_mutex_lock(&tables->lock);
    while (before->pins > 0) {
        pthread_cond_wait(&tables->moved, &tables->lock);
    }
    pthread_mutex_unlock(&tables->lock);
    free(before);
    return 0;
}

/* Gives a table the options of the command line. Returns 0, or -1 with an error. */
static int start_over(const struct sw_tables *tables, struct sw_served *served, char *error,
                      size_t error_bytes)
{
    return tables->owner.alter(tables->owner.server, served, &tables->started, SW_ALTERABLE_ALL,
                               true, error, error_bytes);
}

/* Closes all tables except the first, which gets the id `id`. The caller has locked `change`. */
static int leave_one(struct sw_tables *tables, uint32_t id)
{
    const bool was_away = tables->view->served[0] != tables->first || tables->first->id == ID_NONE;
    char unread[SW_TABLES_ERROR_BYTES];
    if (tables->view->served[0] != tables->first && put_first(tables) != 0) {
        return -1;
    }
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
    if (was_away && start_over(tables, tables->first, unread, sizeof(unread)) != 0) {
        return -1;
    }
    return tables->first->id == id ? 0 : give_id(tables, id);
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
        if (is_new && served != NULL) {
            served->begins_small = tables->begins_small;
        }
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
        if (is_new) { /* loops may read that of another one */
            served->id = id;
        }
        next->served[i] = served;
    }
    return 0;
}

/* Gives tables that exist the options that a change of the log or of the primary has for them. The
 * table SW_TABLE_FIRST loses those that ALTER gave it when it comes to place 0. If that fails, the
 * change is not made, and the next attempt repeats it. The caller has locked `held` or is the only
 * thread. */
static int alter_all(const struct sw_tables *tables, struct sw_tables_view *next,
                     const struct sw_config *const *configs, char *error, size_t error_bytes)
{
    const struct sw_tables_owner *owner = &tables->owner;
    int status = 0;
    for (uint32_t i = 0; i < next->catalog.count && configs != NULL && status == 0; i++) {
        struct sw_served *served = next->served[i];
        if (configs[i] != NULL && find_id(tables->view, served->id) != NULL) {
            status = owner->alter(owner->server, served, configs[i], SW_ALTERABLE_ALL, true, error,
                                  error_bytes);
            next->altered = served->id;
        }
    }
    struct sw_served *serves = next->served[0];
    const bool returns = serves->id == SW_TABLE_FIRST && tables->view->served[0] != serves;
    return status == 0 && returns ? start_over(tables, serves, error, error_bytes) : status;
}

/* Lets the rights of users follow the places that have another name in `next`. `ends`: the rights
 * under the old names end. */
static void rename_rights(const struct sw_tables *tables, const struct sw_places *before,
                          const struct sw_places *next, bool ends)
{
    for (uint32_t i = 0; i < before->count; i++) {
        const struct sw_place *was = &before->places[i];
        const struct sw_place *is = sw_places_numbered(next, was->number);
        if (is != NULL && strcmp(is->name, was->name) != 0) {
            tables->owner.rename(tables->owner.server, was->name, ends ? NULL : is->name);
        }
    }
}

/* Lets the owner save the tables that a SWAP of the primary exchanges, as before a SWAP of a
 * client: without a log a crash behind it finds both. */
static int prepare(const struct sw_tables *tables, const struct sw_places *before,
                   const struct sw_places *next, char *error, size_t error_bytes)
{
    uint32_t ids[2], count = 0;
    for (uint32_t i = 0; i < before->count && count < 2; i++) {
        const struct sw_place *is = sw_places_numbered(next, before->places[i].number);
        if (is != NULL && is->table != before->places[i].table) {
            ids[count++] = before->places[i].table;
        }
    }
    return count == 0 || tables->owner.prepare == NULL || tables->owner.logs
               ? 0
               : tables->owner.prepare(tables->owner.server, ids, count, error, error_bytes);
}

/* Gives a change of the primary its number, and publishes the view that it leads to. The rights of
 * users follow. The caller has locked `change`, and frees both views if it fails. */
static int follow(struct sw_tables *tables, const struct sw_tables_applied *applied,
                  const struct sw_config *const *configs, struct sw_tables_view *next,
                  struct sw_served *dropped, char *error, size_t error_bytes)
{
    const struct sw_tables_owner *owner = &tables->owner;
    struct sw_tables_view *before = tables->view;
    uint64_t sequence = applied->sequence;
    if (sequence != 0 &&
        prepare(tables, &before->catalog, &next->catalog, error, error_bytes) != 0) {
        return -1;
    }
    pthread_mutex_lock(&tables->held);
    int status = alter_all(tables, next, configs, error, error_bytes);
    if (status == 0 && sequence != 0 && owner->commit != NULL) {
        status = owner->commit(owner->server, before, next, &sequence, error, error_bytes);
    }
    if (status == 0) {
        rename_rights(tables, &before->catalog, &next->catalog, false);
        sw_tables_publish(tables, next, dropped);
    }
    pthread_mutex_unlock(&tables->held);
    if (status == 0) {
        sw_tables_wait_for_loops(tables, dropped);
        rename_rights(tables, &before->catalog, &next->catalog, true);
        sw_tables_free_view(before);
        sw_tables_close(tables, dropped);
    }
    return status;
}

/* Frees a view that was not published, and closes the tables that it has beyond the newest view. */
static void take_back(struct sw_tables *tables, struct sw_tables_view *next)
{
    for (uint32_t i = 0; i < next->catalog.count; i++) {
        if (find_id(tables->view, next->served[i]->id) == NULL) {
            sw_tables_close(tables, next->served[i]);
        }
    }
    sw_tables_free_view(next);
}

/* Publishes the places of `catalog`. The caller has locked `change`. */
static int apply(struct sw_tables *tables, const struct sw_places *catalog,
                 const struct sw_config *const *configs, const struct sw_tables_applied *applied,
                 char *error, size_t error_bytes)
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
    const int status = applied == NULL
                           ? alter_all(tables, next, configs, error, error_bytes)
                           : follow(tables, applied, configs, next, dropped, error, error_bytes);
    if (status == 0 && applied == NULL) {
        sw_tables_replace_view(tables, next, dropped);
    }
    if (status != 0) {
        take_back(tables, next);
    }
    return status;
}

/* Closes all tables except the first. `id`: of the table that place 0 will have. `has_own`: that is
 * another table, with options of its own. The first is emptied then, and dropped with the next
 * view. It is also emptied if tables begin small. The caller has locked `change`. */
static int begin(struct sw_tables *tables, uint32_t id, bool has_own)
{
    if (leave_one(tables, has_own ? ID_NONE : id) != 0) {
        return -1;
    }
    if (has_own || tables->begins_small) { /* so that the others find its memory */
        tables->owner.close(tables->owner.server, tables->first);
    }
    if (!has_own && tables->begins_small) {
        tables->owner.reopen(tables->owner.server, tables->first);
    }
    return 0;
}

/* `is_new`: the tables that exist are closed, except the first. */
static int replace(struct sw_tables *tables, const struct sw_places *catalog,
                   const struct sw_config *const *configs, bool is_new,
                   const struct sw_tables_applied *applied, char *error, size_t error_bytes)
{
    int status = -1;
    snprintf(error, error_bytes, "ERR not enough memory");
    pthread_mutex_lock(&tables->change);
    const uint32_t most = tables->view->catalog.most;
    if (sw_places_are_several(catalog) && tables->owner.one_table != NULL) {
        snprintf(error, error_bytes, "%s", tables->owner.one_table);
    } else if (catalog->count > most) {
        snprintf(error, error_bytes, "ERR it has %u tables, and tables-max is %u: raise tables-max",
                 catalog->count, most);
    } else if (!is_new || begin(tables, catalog->places[0].table,
                                configs != NULL && configs[0] != NULL) == 0) {
        status = apply(tables, catalog, configs, applied, error, error_bytes);
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
    const int status = replace(tables, catalog != NULL ? catalog : &alone, configs, true, NULL,
                               error, error_bytes);
    sw_places_fini(&alone);
    return status;
}

void sw_tables_begin_small(struct sw_tables *tables, bool small)
{
    tables->begins_small = small;
}

int sw_tables_apply(struct sw_tables *tables, const struct sw_places *catalog,
                    const struct sw_config *const *configs, const struct sw_tables_applied *applied,
                    char *error, size_t error_bytes)
{
    return replace(tables, catalog, configs, false, applied, error, error_bytes);
}
