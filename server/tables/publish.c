/* SPDX-License-Identifier: MIT
 *
 * publish.c - makes a view the newest, and waits until the loops use no older one.
 */
#include <pthread.h>
#include <stdlib.h>

#include "server/config/table_options.h"
#include "server/tables/tables_parts.h"

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

static void note_dropped(struct sw_tables *tables, const struct sw_tables_view *view)
{
    const struct sw_places *before = &tables->view->catalog;
    for (uint32_t i = 0; i < before->count; i++) {
        const uint32_t number = before->places[i].number;
        if (number < SW_PLACE_NUMBERS_FREE && sw_tables_index(view, number) == UINT32_MAX) {
            tables->was_dropped[number] = true;
        }
    }
}

/* Notes the places of `view` whose tables may have another shape than those before. */
static void note_shapes(const struct sw_tables *tables, struct sw_tables_view *view)
{
    const struct sw_tables_view *before = tables->view;
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        struct sw_place *place = &view->catalog.places[i];
        const uint32_t number = place->number, was = sw_tables_index(before, number);
        if (was == UINT32_MAX) {
            const bool is_again = number < SW_PLACE_NUMBERS_FREE && tables->was_dropped[number];
            place->reshaped = is_again ? view->number : 0;
            continue;
        }
        const bool differs =
            view->served[i] != before->served[was] &&
            !sw_config_is_of_one_shape(view->served[i]->config, before->served[was]->config);
        place->reshaped = differs ? view->number : before->catalog.places[was].reshaped;
    }
}

void sw_tables_publish(struct sw_tables *tables, struct sw_tables_view *view,
                       struct sw_served *dropped)
{
    note_dropped(tables, view);
    note_shapes(tables, view);
    pthread_mutex_lock(&tables->lock);
    tables->view = view;
    tables->leaving = dropped;
    if (dropped != NULL) {
        __atomic_store_n(&dropped->leaves, true, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&tables->newest, view->number, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&tables->lock);
    tables->owner.wake(tables->owner.server);
}

void sw_tables_wait_for_loops(struct sw_tables *tables, struct sw_served *dropped)
{
    const uint64_t number = tables->view->number;
    pthread_mutex_lock(&tables->lock);
    while (!all_have(tables, number, dropped != NULL) || (dropped != NULL && dropped->pins > 0)) {
        pthread_cond_wait(&tables->moved, &tables->lock);
    }
    if (dropped != NULL) {
        tables->owner.retire(tables->owner.server, dropped);
    }
    tables->leaving = NULL;
    pthread_mutex_unlock(&tables->lock);
}

void sw_tables_close(struct sw_tables *tables, struct sw_served *served)
{
    if (served != NULL) {
        tables->owner.close(tables->owner.server, served);
    }
    if (served != tables->first) {
        free(served);
    }
}

void sw_tables_replace_view(struct sw_tables *tables, struct sw_tables_view *view,
                            struct sw_served *dropped)
{
    struct sw_tables_view *before = tables->view;
    pthread_mutex_lock(&tables->held);
    sw_tables_publish(tables, view, dropped);
    pthread_mutex_unlock(&tables->held);
    sw_tables_wait_for_loops(tables, dropped);
    sw_tables_free_view(before);
    sw_tables_close(tables, dropped);
}
