/* SPDX-License-Identifier: MIT
 *
 * tables.c - views, the loops that adopt them, and changes.
 */
#include "server/tables/tables.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/config/table_options.h"

enum claim { CLAIM_NONE, CLAIM_SEVERAL, CLAIM_REPLICATION };

struct sw_tables {
    struct sw_tables_owner owner;
    pthread_mutex_t change; /* locked during a change; taken before `lock` */
    pthread_mutex_t lock;   /* protects the fields below */
    pthread_cond_t moved;   /* a loop has followed or settled */
    struct sw_tables_view *view;
    struct sw_list handles;
    uint64_t newest; /* atomic, set under `lock`: the number of `view` */
    int claim;       /* atomic: enum claim */
    bool is_taken;   /* atomic: a change has the turn */
    const struct sw_served *first;
    const struct sw_served *leaving; /* the table that a DROP is about to close; NULL: none */
};

/* --- views ------------------------------------------------------------------------------------ */

static void free_view(struct sw_tables_view *view)
{
    if (view != NULL) {
        sw_places_fini(&view->catalog);
        free(view->served);
        free(view);
    }
}

/* Returns a view of place 0 alone, or NULL. */
static struct sw_tables_view *make_view(uint32_t most)
{
    struct sw_tables_view *view = calloc(1, sizeof(*view));
    if (view == NULL || sw_places_init(&view->catalog, most) != SW_PLACES_OK) {
        free(view);
        return NULL;
    }
    view->number = 1;
    view->served = calloc(most, sizeof(struct sw_served *));
    if (view->served == NULL) {
        free_view(view);
        return NULL;
    }
    return view;
}

/* Returns a copy with the next number, or NULL. */
static struct sw_tables_view *next_view(const struct sw_tables_view *view)
{
    struct sw_tables_view *next = make_view(view->catalog.most);
    if (next == NULL) {
        return NULL;
    }
    struct sw_place *places = next->catalog.places;
    memcpy(places, view->catalog.places, view->catalog.count * sizeof(*places));
    next->catalog = view->catalog;
    next->catalog.places = places;
    next->number = view->number + 1;
    memcpy(next->served, view->served, view->catalog.count * sizeof(struct sw_served *));
    return next;
}

static uint32_t index_of(const struct sw_tables_view *view, uint32_t number)
{
    const struct sw_place *place = sw_places_numbered(&view->catalog, number);
    return place == NULL ? UINT32_MAX : (uint32_t)(place - view->catalog.places);
}

struct sw_served *sw_tables_at(const struct sw_tables_view *view, uint32_t number)
{
    const uint32_t at = index_of(view, number);
    return at == UINT32_MAX ? NULL : view->served[at];
}

const struct sw_place *sw_tables_find(const struct sw_tables_view *view, const void *text,
                                      size_t bytes)
{
    uint64_t number = 0;
    return sw_decimal_parse(text, bytes, UINT32_MAX, &number)
               ? sw_places_numbered(&view->catalog, (uint32_t)number)
               : sw_places_named(&view->catalog, text, bytes);
}

/* --- life ------------------------------------------------------------------------------------- */

struct sw_tables *sw_tables_create(uint32_t most, const struct sw_served *first,
                                   const struct sw_tables_owner *owner)
{
    struct sw_tables *tables = calloc(1, sizeof(*tables));
    struct sw_served *served = malloc(sizeof(*served));
    struct sw_tables_view *view = make_view(most);
    if (tables == NULL || served == NULL || view == NULL) {
        free(tables);
        free(served);
        free_view(view);
        return NULL;
    }
    *served = *first;
    served->id = view->catalog.places[0].table;
    view->served[0] = served;
    tables->owner = *owner;
    tables->view = view;
    tables->newest = view->number;
    tables->first = served;
    sw_list_init(&tables->handles);
    pthread_mutex_init(&tables->change, NULL);
    pthread_mutex_init(&tables->lock, NULL);
    pthread_cond_init(&tables->moved, NULL);
    return tables;
}

void sw_tables_destroy(struct sw_tables *tables)
{
    if (tables == NULL) {
        return;
    }
    assert(sw_list_is_empty(&tables->handles));
    for (uint32_t i = 0; i < tables->view->catalog.count; i++) {
        struct sw_served *served = tables->view->served[i];
        if (served != tables->first) {
            tables->owner.close(tables->owner.server, served);
            free(served);
        }
    }
    free((void *)tables->first);
    free_view(tables->view);
    pthread_cond_destroy(&tables->moved);
    pthread_mutex_destroy(&tables->lock);
    pthread_mutex_destroy(&tables->change);
    free(tables);
}

/* --- loops ------------------------------------------------------------------------------------ */

void sw_tables_join(struct sw_tables *tables, struct sw_tables_handle *handle, uint32_t loop)
{
    handle->tables = tables;
    handle->loop = loop;
    sw_list_init(&handle->link);
    pthread_mutex_lock(&tables->lock);
    sw_list_push(&tables->handles, &handle->link);
    pthread_mutex_unlock(&tables->lock);
}

void sw_tables_leave(struct sw_tables_handle *handle)
{
    struct sw_tables *tables = handle->tables;
    if (tables == NULL) {
        return;
    }
    pthread_mutex_lock(&tables->lock);
    sw_list_remove(&handle->link);
    pthread_cond_broadcast(&tables->moved);
    pthread_mutex_unlock(&tables->lock);
    handle->tables = NULL;
    handle->view = NULL;
}

bool sw_tables_is_behind(const struct sw_tables_handle *handle)
{
    return handle->tables != NULL &&
           __atomic_load_n(&handle->tables->newest, __ATOMIC_ACQUIRE) != handle->number;
}

void sw_tables_follow(struct sw_tables_handle *handle)
{
    struct sw_tables *tables = handle->tables;
    pthread_mutex_lock(&tables->lock);
    handle->view = tables->view;
    handle->number = handle->followed = handle->view->number;
    handle->is_settled = false;
    pthread_cond_broadcast(&tables->moved);
    pthread_mutex_unlock(&tables->lock);
}

void sw_tables_settle(struct sw_tables_handle *handle)
{
    struct sw_tables *tables = handle->tables;
    handle->is_settled = true;
    pthread_mutex_lock(&tables->lock);
    handle->settled = handle->number;
    pthread_cond_broadcast(&tables->moved);
    pthread_mutex_unlock(&tables->lock);
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Returns whether every loop has adopted this view and, if `settled`, uses no other table. The
 * caller has locked `lock`. */
static bool all_have(const struct sw_tables *tables, uint64_t number, bool settled)
{
    bool all = true;
    SW_LIST_EACH(&tables->handles, link)
    {
        const struct sw_tables_handle *handle = SW_CONTAINER(link, struct sw_tables_handle, link);
        all &= (settled ? handle->settled : handle->followed) >= number;
    }
    return all;
}

/* Publishes a view, waits for the loops, and frees the view before it. `dropped`: the table that
 * the view lacks; NULL: none. */
static void publish(struct sw_tables *tables, struct sw_tables_view *view,
                    const struct sw_served *dropped)
{
    struct sw_tables_view *before = tables->view;
    const uint64_t number = view->number;
    pthread_mutex_lock(&tables->lock);
    tables->view = view;
    tables->leaving = dropped;
    __atomic_store_n(&tables->newest, number, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&tables->lock);
    tables->owner.wake(tables->owner.server);
    pthread_mutex_lock(&tables->lock);
    while (!all_have(tables, number, dropped != NULL)) {
        pthread_cond_wait(&tables->moved, &tables->lock);
    }
    if (dropped != NULL) {
        tables->owner.retire(tables->owner.server, dropped);
    }
    tables->leaving = NULL;
    pthread_mutex_unlock(&tables->lock);
    free_view(before);
}

static int refuse(char *error, size_t error_bytes, const char *line)
{
    snprintf(error, error_bytes, "%s", line);
    return -1;
}

/* Writes the error line of a status that is not OK. */
static int refuse_status(enum sw_places_status status, const struct sw_change *change,
                         uint32_t most, char *error, size_t error_bytes)
{
    const bool renames = change->kind == SW_CHANGE_RENAME;
    switch (status) {
    case SW_PLACES_NO_PLACE:
        return refuse(error, error_bytes, "ERR no such table");
    case SW_PLACES_EXISTS:
        return refuse(error, error_bytes, "ERR table exists");
    case SW_PLACES_NUMBER_IS_USED:
        snprintf(error, error_bytes, "ERR a table has the number %u: choose another",
                 change->number);
        return -1;
    case SW_PLACES_NO_NAME:
        return refuse(
            error, error_bytes,
            "ERR a table's name is a letter or _, then letters, digits, and _.:-, at most "
            "63 bytes");
    case SW_PLACES_NO_NUMBER:
        snprintf(error, error_bytes, "ERR NUMBER is not an integer from 1 to %u",
                 SW_PLACE_NUMBERS_FREE - 1);
        return -1;
    case SW_PLACES_RESERVED:
        snprintf(error, error_bytes,
                 "ERR the name %s is for the table with its number: choose another name, or that "
                 "NUMBER",
                 renames ? change->other : change->name);
        return -1;
    case SW_PLACES_FULL:
        snprintf(error, error_bytes, "ERR tables-max %u is reached: drop a table, or raise it",
                 most);
        return -1;
    case SW_PLACES_DEFAULT:
        return refuse(error, error_bytes,
                      renames ? "ERR the default table keeps its name"
                              : "ERR the default table stays: use TABLE TRUNCATE");
    default:
        return refuse(error, error_bytes, "ERR out of memory");
    }
}

static const struct sw_place *find(const struct sw_tables_view *view, const char *name)
{
    return sw_tables_find(view, name, strlen(name));
}

/* The functions below prepare the next view. They return 0, or -1 with an error. */

static enum sw_places_status create(struct sw_tables *tables, struct sw_tables_view *next,
                                    struct sw_change *change, char *error, size_t error_bytes)
{
    struct sw_place place;
    const enum sw_places_status status =
        sw_places_create(&next->catalog, change->name, strlen(change->name),
                         change->has_number ? &change->number : NULL, &place);
    if (status != SW_PLACES_OK) {
        return status;
    }
    struct sw_served *served = calloc(1, sizeof(*served));
    if (served == NULL) {
        return SW_PLACES_NO_MEMORY;
    }
    if (tables->owner.open(tables->owner.server, &change->config, served, error, error_bytes) !=
        0) {
        free(served);
        return SW_PLACES_NO_MEMORY;
    }
    served->id = place.table;
    const uint32_t at = index_of(next, place.number);
    memmove(&next->served[at + 1], &next->served[at],
            (next->catalog.count - 1 - at) * sizeof(struct sw_served *));
    next->served[at] = served;
    return SW_PLACES_OK;
}

static enum sw_places_status drop(struct sw_tables_view *next, const struct sw_change *change,
                                  struct sw_served **dropped)
{
    const struct sw_place *place = find(next, change->name);
    if (place == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    const uint32_t at = (uint32_t)(place - next->catalog.places);
    const enum sw_places_status status = sw_places_drop(&next->catalog, place->number);
    if (status == SW_PLACES_OK) {
        *dropped = next->served[at];
        memmove(&next->served[at], &next->served[at + 1],
                (next->catalog.count - at) * sizeof(struct sw_served *));
    }
    return status;
}

/* Users keep their rights to a place that gets another name: they have them under both names until
 * all loops have adopted the view. *from receives the old name. */
static enum sw_places_status rename_place(struct sw_tables *tables, struct sw_tables_view *next,
                                          const struct sw_change *change,
                                          char from[SW_PLACE_NAME_BYTES])
{
    const struct sw_place *place = find(next, change->name);
    if (place == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    memcpy(from, place->name, SW_PLACE_NAME_BYTES);
    const enum sw_places_status status =
        sw_places_rename(&next->catalog, place->number, change->other, strlen(change->other));
    if (status == SW_PLACES_OK &&
        tables->owner.rename(tables->owner.server, from, change->other) != 0) {
        return SW_PLACES_NO_MEMORY;
    }
    return status;
}

static enum sw_places_status swap(struct sw_tables_view *next, const struct sw_change *change,
                                  char *error, size_t error_bytes)
{
    const struct sw_place *one = find(next, change->name), *other = find(next, change->other);
    if (one == NULL || other == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    struct sw_served **at = &next->served[one - next->catalog.places];
    struct sw_served **other_at = &next->served[other - next->catalog.places];
    if (!sw_config_is_of_one_shape((*at)->config, (*other_at)->config)) {
        refuse(error, error_bytes,
               "ERR the tables have different shapes (TABLE INFO): create the new one with LIKE");
        return SW_PLACES_NO_PLACE;
    }
    struct sw_served *served = *at;
    *at = *other_at;
    *other_at = served;
    return sw_places_swap(&next->catalog, one->number, other->number);
}

/* Is there nothing to do for a change that is lenient? */
static bool is_done_already(const struct sw_tables *tables, const struct sw_change *change)
{
    const bool exists = find(tables->view, change->name) != NULL;
    return change->is_lenient && exists == (change->kind == SW_CHANGE_CREATE) &&
           (change->kind == SW_CHANGE_CREATE || change->kind == SW_CHANGE_DROP);
}

static int carry_out(struct sw_tables *tables, struct sw_change *change, char *error,
                     size_t error_bytes)
{
    char from[SW_PLACE_NAME_BYTES] = "";
    struct sw_served *dropped = NULL;
    struct sw_tables_view *next = next_view(tables->view);
    enum sw_places_status status = SW_PLACES_NO_MEMORY;
    error[0] = '\0';
    if (next == NULL) {
        return refuse_status(status, change, 0, error, error_bytes);
    }
    switch (change->kind) {
    case SW_CHANGE_CREATE:
        status = create(tables, next, change, error, error_bytes);
        break;
    case SW_CHANGE_DROP:
        status = drop(next, change, &dropped);
        break;
    case SW_CHANGE_RENAME:
        status = rename_place(tables, next, change, from);
        break;
    default:
        status = swap(next, change, error, error_bytes);
        break;
    }
    if (status != SW_PLACES_OK) {
        const uint32_t most = next->catalog.most;
        free_view(next);
        return error[0] != '\0' ? -1 : refuse_status(status, change, most, error, error_bytes);
    }
    publish(tables, next, dropped);
    if (from[0] != '\0') {
        (void)tables->owner.rename(tables->owner.server, from, NULL);
    }
    if (dropped != NULL) {
        tables->owner.close(tables->owner.server, dropped);
    }
    if (dropped != NULL && dropped != tables->first) {
        free(dropped);
    }
    return 0;
}

int sw_tables_change(struct sw_tables *tables, struct sw_change *change, char *error,
                     size_t error_bytes)
{
    int status = 0;
    if (tables->owner.one_table != NULL) {
        return refuse(error, error_bytes, tables->owner.one_table);
    }
    pthread_mutex_lock(&tables->change);
    if (is_done_already(tables, change)) {
        status = 0;
    } else if (change->kind == SW_CHANGE_CREATE && !sw_tables_claim_several(tables)) {
        status = refuse(error, error_bytes,
                        "ERR this server replicates, or did so since its start: it has one table");
    } else {
        status = carry_out(tables, change, error, error_bytes);
    }
    pthread_mutex_unlock(&tables->change);
    return status;
}

bool sw_tables_take_turn(struct sw_tables *tables)
{
    return !__atomic_exchange_n(&tables->is_taken, true, __ATOMIC_ACQ_REL);
}

void sw_tables_end_turn(struct sw_tables *tables)
{
    __atomic_store_n(&tables->is_taken, false, __ATOMIC_RELEASE);
    tables->owner.wake(tables->owner.server); /* for commands that wait for the turn */
}

static bool claim(struct sw_tables *tables, enum claim wanted)
{
    int is = CLAIM_NONE;
    return __atomic_compare_exchange_n(&tables->claim, &is, (int)wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE) ||
           is == (int)wanted;
}

bool sw_tables_claim_several(struct sw_tables *tables)
{
    return claim(tables, CLAIM_SEVERAL);
}

bool sw_tables_claim_replication(struct sw_tables *tables)
{
    return claim(tables, CLAIM_REPLICATION);
}

/* --- reading ---------------------------------------------------------------------------------- */

void sw_tables_each(struct sw_tables *tables,
                    void (*show)(void *context, const struct sw_place *place,
                                 const struct sw_served *served),
                    void *context)
{
    pthread_mutex_lock(&tables->lock);
    show(context, NULL, NULL);
    for (uint32_t i = 0; i < tables->view->catalog.count; i++) {
        show(context, &tables->view->catalog.places[i], tables->view->served[i]);
    }
    if (tables->leaving != NULL) {
        show(context, NULL, tables->leaving);
    }
    pthread_mutex_unlock(&tables->lock);
}
