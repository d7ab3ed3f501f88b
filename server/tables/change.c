/* SPDX-License-Identifier: MIT
 *
 * change.c - changes of the places. publish.c makes their views the newest, restore.c has the
 * places of a data directory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/table_options.h"
#include "server/tables/tables_parts.h"
#include "table/exported_table.h"

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
        return refuse(error, error_bytes, SW_NO_SUCH_TABLE);
    case SW_PLACES_EXISTS:
        return refuse(error, error_bytes, "ERR table exists: choose another name");
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
    served->id = place.table;
    if (tables->owner.open(tables->owner.server, &change->config, served, error, error_bytes) !=
        0) {
        free(served);
        return SW_PLACES_NO_MEMORY;
    }
    const uint32_t at = sw_tables_index(next, place.number);
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

/* *from receives the old name. */
static enum sw_places_status rename_place(struct sw_tables_view *next,
                                          const struct sw_change *change,
                                          char from[SW_PLACE_NAME_BYTES])
{
    const struct sw_place *place = find(next, change->name);
    if (place == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    memcpy(from, place->name, SW_PLACE_NAME_BYTES);
    return sw_places_rename(&next->catalog, place->number, change->other, strlen(change->other));
}

/* Refuses a SWAP of tables of different shapes, unless the client forces it. `enters`: the table
 * that place 0 will have; NULL: the same as before. The shape of the command line may come back.
 * Returns 0, or -1 with an error. */
static int check_shapes(const struct sw_tables *tables, const struct sw_change *change,
                        const struct sw_served *enters, char *error, size_t error_bytes)
{
    const struct sw_tables_owner *owner = &tables->owner;
    if (!change->is_forced) {
        return refuse(error, error_bytes,
                      "ERR the tables have different shapes (TABLE INFO): create the new one with "
                      "LIKE, or use TABLE SWAP .. FORCE");
    }
    const bool is_another =
        enters != NULL && !sw_config_is_of_one_shape(enters->config, &tables->started);
    const char *line =
        is_another && owner->keeps_shape != NULL ? owner->keeps_shape(owner->server) : NULL;
    return line == NULL ? 0 : refuse(error, error_bytes, line);
}

static enum sw_places_status swap(const struct sw_tables *tables, struct sw_tables_view *next,
                                  const struct sw_change *change, char *error, size_t error_bytes)
{
    const struct sw_place *one = find(next, change->name), *other = find(next, change->other);
    if (one == NULL || other == NULL) {
        return SW_PLACES_NO_PLACE;
    }
    struct sw_served **at = &next->served[one - next->catalog.places];
    struct sw_served **other_at = &next->served[other - next->catalog.places];
    const struct sw_served *enters = one->number == 0 ? *other_at : other->number == 0 ? *at : NULL;
    if (!sw_config_is_of_one_shape((*at)->config, (*other_at)->config) &&
        check_shapes(tables, change, enters, error, error_bytes) != 0) {
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

/* Refuses a CREATE for which the table that exists has another shape or number. */
static int check_existing(const struct sw_tables *tables, const struct sw_change *change,
                          char *error, size_t error_bytes)
{
    char shapes[SW_TABLES_ERROR_BYTES / 2];
    const struct sw_place *place = find(tables->view, change->name);
    if (!change->needs_shape || place == NULL) {
        return 0;
    }
    const struct sw_served *served = sw_tables_at(tables->view, place->number);
    if (change->has_number && place->number != change->number) {
        snprintf(error, error_bytes, "ERR the table exists with another number: it has %u, not %u",
                 place->number, change->number);
        return -1;
    }
    if (sw_config_is_of_one_shape(served->config, &change->config)) {
        return 0;
    }
    sw_config_show_shapes(served->config, &change->config, shapes, sizeof(shapes));
    snprintf(error, error_bytes, "ERR the table exists with another shape: %s", shapes);
    return -1;
}

/* Gives a change its number, unless the owner gives none. An ALTER of the first table in place 0
 * needs none: no file has its options. */
static int commit(const struct sw_tables *tables, struct sw_change *change,
                  const struct sw_tables_view *before, const struct sw_tables_view *next,
                  char *error, size_t error_bytes)
{
    const bool is_unsaved = change->kind == SW_CHANGE_ALTER && next->altered == 0;
    return is_unsaved || tables->owner.commit == NULL ||
                   (change->is_of_start && !tables->owner.logs)
               ? 0
               : tables->owner.commit(tables->owner.server, before, next, &change->sequence, error,
                                      error_bytes);
}

/* Frees a view that was not published, and closes the table that it has beyond the newest view. */
static void take_back(struct sw_tables *tables, struct sw_tables_view *next)
{
    for (uint32_t i = 0; i < next->catalog.count; i++) {
        if (next->served[i]->id >= tables->view->catalog.next_table) {
            sw_tables_close(tables, next->served[i]);
        }
    }
    sw_tables_free_view(next);
}

/* Lets the owner save the tables that a SWAP will exchange, so that a crash behind it finds both.
 */
static int prepare(struct sw_tables *tables, const struct sw_change *change, char *error,
                   size_t error_bytes)
{
    uint32_t ids[2], count = 0;
    if (tables->owner.prepare == NULL || change->is_of_start) {
        return 0;
    }
    pthread_mutex_lock(&tables->lock);
    const struct sw_place *one = find(tables->view, change->name);
    const struct sw_place *other = find(tables->view, change->other);
    if (change->kind == SW_CHANGE_SWAP && one != NULL && other != NULL) {
        ids[count++] = one->table;
        ids[count++] = other->table;
    }
    pthread_mutex_unlock(&tables->lock);
    return tables->owner.prepare(tables->owner.server, ids, count, error, error_bytes);
}

/* Users keep their rights to a place that gets another name: they have them under both names until
 * all loops have adopted the view. `from`: the old name; "": the change is no RENAME. `to` NULL:
 * the rights under the old name end. */
static void rename_rights(const struct sw_tables *tables, const char *from, const char *to)
{
    if (from[0] != '\0') {
        tables->owner.rename(tables->owner.server, from, to);
    }
}

/* Changes the places or the options of the tables in `next`. The caller has locked `held`. *dropped
 * receives the table of a DROP, and `from` the old name of a RENAME. */
static enum sw_places_status rearrange(struct sw_tables *tables, struct sw_tables_view *next,
                                       struct sw_change *change, struct sw_served **dropped,
                                       char from[SW_PLACE_NAME_BYTES], char *error,
                                       size_t error_bytes)
{
    switch (change->kind) {
    case SW_CHANGE_DROP:
        return drop(next, change, dropped);
    case SW_CHANGE_RENAME:
        return rename_place(next, change, from);
    case SW_CHANGE_ALTER:
        return sw_tables_alter(tables, next, change, error, error_bytes);
    case SW_CHANGE_SWAP:
        return swap(tables, next, change, error, error_bytes);
    default:
        return SW_PLACES_OK; /* CREATE: `next` has the table */
    }
}

/* Clients that read a table directly do not notice a SWAP. */
static void end_exports(const struct sw_tables_view *view)
{
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        sw_table_end_exports(view->served[i]->table);
    }
}

static int carry_out(struct sw_tables *tables, struct sw_change *change, char *error,
                     size_t error_bytes)
{
    char from[SW_PLACE_NAME_BYTES] = "";
    struct sw_served *dropped = NULL;
    struct sw_tables_view *next = sw_tables_next_view(tables->view), *before = tables->view;
    error[0] = '\0';
    if (next == NULL) {
        return refuse_status(SW_PLACES_NO_MEMORY, change, 0, error, error_bytes);
    }
    enum sw_places_status status = change->kind == SW_CHANGE_CREATE
                                       ? create(tables, next, change, error, error_bytes)
                                       : SW_PLACES_OK;
    pthread_mutex_lock(&tables->held);
    if (status == SW_PLACES_OK) {
        status = rearrange(tables, next, change, &dropped, from, error, error_bytes);
    }
    if (status != SW_PLACES_OK) {
        const uint32_t most = next->catalog.most;
        pthread_mutex_unlock(&tables->held);
        sw_tables_free_view(next);
        return error[0] != '\0' ? -1 : refuse_status(status, change, most, error, error_bytes);
    }
    const bool is_late = dropped != NULL && tables->owner.logs;
    if (!is_late && commit(tables, change, before, next, error, error_bytes) != 0) {
        take_back(tables, next);
        sw_tables_alter_back(tables, change);
        pthread_mutex_unlock(&tables->held);
        return -1;
    }
    rename_rights(tables, from, change->other);
    sw_tables_publish(tables, next, dropped);
    pthread_mutex_unlock(&tables->held);
    sw_tables_wait_for_loops(tables, dropped);
    if (change->kind == SW_CHANGE_SWAP) {
        end_exports(next);
    }
    rename_rights(tables, from, NULL);
    pthread_mutex_lock(&tables->held);
    const int result = is_late ? commit(tables, change, before, next, error, error_bytes) : 0;
    pthread_mutex_unlock(&tables->held);
    sw_tables_free_view(before);
    sw_tables_close(tables, dropped);
    return result;
}

/* Carries out a change, unless the owner admits none now. The caller has locked `change`. */
static int admit(struct sw_tables *tables, struct sw_change *change, char *error,
                 size_t error_bytes)
{
    const struct sw_tables_owner *owner = &tables->owner;
    int status = 0;
    /* before the call: who closes the server to changes then reads it */
    __atomic_store_n(&tables->is_changing, true, __ATOMIC_SEQ_CST);
    if (owner->admit != NULL && !change->is_of_start) {
        status = owner->admit(owner->server, error, error_bytes);
    }
    if (status == 0) {
        status = is_done_already(tables, change)
                     ? check_existing(tables, change, error, error_bytes)
                     : carry_out(tables, change, error, error_bytes);
    }
    __atomic_store_n(&tables->is_changing, false, __ATOMIC_SEQ_CST);
    return status;
}

/* Returns the id of the table in a place; 0: there is no such place. */
static uint32_t find_table(struct sw_tables *tables, const char *name)
{
    pthread_mutex_lock(&tables->lock);
    const struct sw_place *place = find(tables->view, name);
    const uint32_t id = place == NULL ? 0 : place->table;
    pthread_mutex_unlock(&tables->lock);
    return id;
}

static bool is_gone(struct sw_tables *tables, uint32_t id)
{
    pthread_mutex_lock(&tables->lock);
    bool is = true;
    for (uint32_t i = 0; i < tables->view->catalog.count; i++) {
        is &= tables->view->served[i]->id != id;
    }
    pthread_mutex_unlock(&tables->lock);
    return is;
}

/* Other changes go on meanwhile. A DROP of the table ends its save. */
static int save(struct sw_tables *tables, const struct sw_change *change, char *error,
                size_t error_bytes)
{
    const uint32_t id = find_table(tables, change->name);
    if (id == 0) {
        return refuse_status(SW_PLACES_NO_PLACE, change, 0, error, error_bytes);
    }
    if (tables->owner.save == NULL) {
        return refuse(error, error_bytes,
                      "ERR there is no persistence: start the server with data-dir");
    }
    const int status = tables->owner.save(tables->owner.server, id, error, error_bytes);
    if (status == 0 && is_gone(tables, id)) {
        return refuse(error, error_bytes, "ERR the table was dropped during its save");
    }
    return status;
}

int sw_tables_change(struct sw_tables *tables, struct sw_change *change, char *error,
                     size_t error_bytes)
{
    change->sequence = 0;
    if (change->kind == SW_CHANGE_SAVE) {
        return save(tables, change, error, error_bytes);
    }
    if (tables->owner.one_table != NULL) {
        return refuse(error, error_bytes, tables->owner.one_table);
    }
    if (prepare(tables, change, error, error_bytes) != 0) {
        return -1;
    }
    pthread_mutex_lock(&tables->change);
    const int status = admit(tables, change, error, error_bytes);
    pthread_mutex_unlock(&tables->change);
    /* without the lock: another change may begin */
    return status == 0 && tables->owner.settle != NULL
               ? tables->owner.settle(tables->owner.server, error, error_bytes)
               : status;
}
