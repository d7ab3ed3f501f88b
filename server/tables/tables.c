/* SPDX-License-Identifier: MIT
 *
 * tables.c - views, the loops that adopt them, pins, and what other parts of the server read.
 */
#include "server/tables/tables.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/config/table_options.h"
#include "server/tables/tables_parts.h"

/* --- views ------------------------------------------------------------------------------------ */

void sw_tables_free_view(struct sw_tables_view *view)
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
        sw_tables_free_view(view);
        return NULL;
    }
    return view;
}

struct sw_tables_view *sw_tables_next_view(const struct sw_tables_view *view)
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
    next->started = view->started;
    memcpy(next->served, view->served, view->catalog.count * sizeof(struct sw_served *));
    return next;
}

uint32_t sw_tables_index(const struct sw_tables_view *view, uint32_t number)
{
    const struct sw_place *place = sw_places_numbered(&view->catalog, number);
    return place == NULL ? UINT32_MAX : (uint32_t)(place - view->catalog.places);
}

struct sw_served *sw_tables_at(const struct sw_tables_view *view, uint32_t number)
{
    const uint32_t at = sw_tables_index(view, number);
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
        sw_tables_free_view(view);
        return NULL;
    }
    *served = *first;
    served->id = view->catalog.places[0].table;
    view->served[0] = served;
    tables->owner = *owner;
    tables->view = view;
    tables->newest = view->number;
    tables->first = served;
    tables->started = *first->config;
    view->started = &tables->started;
    sw_list_init(&tables->handles);
    pthread_mutex_init(&tables->change, NULL);
    pthread_mutex_init(&tables->held, NULL);
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
    sw_tables_free_view(tables->view);
    pthread_cond_destroy(&tables->moved);
    pthread_mutex_destroy(&tables->lock);
    pthread_mutex_destroy(&tables->held);
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

/* --- pins ------------------------------------------------------------------------------------- */

struct sw_served *sw_tables_pin(struct sw_tables *tables, uint32_t after)
{
    struct sw_served *next = NULL;
    pthread_mutex_lock(&tables->lock);
    for (uint32_t i = 0; i < tables->view->catalog.count; i++) {
        struct sw_served *served = tables->view->served[i];
        if (served->id > after && (next == NULL || served->id < next->id)) {
            next = served;
        }
    }
    if (next != NULL) {
        next->pins++;
    }
    pthread_mutex_unlock(&tables->lock);
    return next;
}

bool sw_tables_unpin(struct sw_tables *tables, struct sw_served *served)
{
    pthread_mutex_lock(&tables->lock);
    served->pins--;
    const bool leaves = sw_tables_leaves(served);
    pthread_cond_broadcast(&tables->moved);
    pthread_mutex_unlock(&tables->lock);
    return leaves;
}

const struct sw_tables_view *sw_tables_hold(struct sw_tables *tables)
{
    pthread_mutex_lock(&tables->held);
    return tables->view;
}

void sw_tables_release(struct sw_tables *tables)
{
    pthread_mutex_unlock(&tables->held);
}

/* --- turns ------------------------------------------------------------------------------------ */

bool sw_tables_take_turn(struct sw_tables *tables)
{
    return !__atomic_exchange_n(&tables->is_taken, true, __ATOMIC_ACQ_REL);
}

void sw_tables_end_turn(struct sw_tables *tables)
{
    __atomic_store_n(&tables->is_taken, false, __ATOMIC_RELEASE);
    sw_tables_wake(tables); /* for commands that wait for the turn */
}

void sw_tables_wake(struct sw_tables *tables)
{
    tables->owner.wake(tables->owner.server);
}

bool sw_tables_rest(struct sw_tables *tables)
{
    const bool rest = pthread_mutex_trylock(&tables->change) == 0;
    if (rest) {
        pthread_mutex_unlock(&tables->change);
    }
    return rest;
}

bool sw_tables_are_changing(const struct sw_tables *tables)
{
    return __atomic_load_n(&tables->is_changing, __ATOMIC_SEQ_CST);
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
