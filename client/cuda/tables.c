/* SPDX-License-Identifier: MIT
 *
 * tables.c - tables of the server by their names: handles of libsherwood on the connection of one
 * handle of libsherwood-cuda.
 *
 * A call names a table by a number. If all entries have tables, a table that was dropped loses its
 * entry to the next one, which gets another number.
 */
#include "client/cuda/attached.h"
#include "client/sherwood-tables.h"
#include "client/table_shape.h"

int sw_cuda_table_enter(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    if (call->table == 0) {
        return SHERWOOD_OK;
    }
    struct sw_cuda_table *entry = &cuda->tables[SW_CUDA_TABLE_OF(call->table)];
    /* seq_cst, here, in refuse_dropped() and in is_free(): one of the two threads sees what the
     * other has stored */
    __atomic_fetch_add(&entry->users, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&entry->number, __ATOMIC_SEQ_CST) == call->table) {
        return SHERWOOD_OK;
    }
    sw_cuda_table_leave(cuda, call);
    return sw_cuda_fail(SHERWOOD_E_INVALID,
                        "table %u was not opened, or was dropped: give a number of "
                        "sherwood_cuda_table",
                        call->table);
}

void sw_cuda_table_leave(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    if (call->table != 0) {
        /* release: the call no longer uses the entry */
        __atomic_fetch_sub(&cuda->tables[SW_CUDA_TABLE_OF(call->table)].users, 1, __ATOMIC_RELEASE);
    }
}

/* Returns a table that was opened in the same place with the same shape, or NULL. */
static struct sw_cuda_table *find_table(struct sherwood_cuda *cuda, const struct sherwood *opened)
{
    for (uint32_t i = 0; i < cuda->table_count; i++) {
        const struct sherwood *table = cuda->tables[i].client;
        if (cuda->tables[i].number != 0 &&
            sherwood_table_number(table) == sherwood_table_number(opened) &&
            sw_client_is_of_one_shape(sherwood_server(table), sherwood_server(opened))) {
            return &cuda->tables[i];
        }
    }
    return NULL;
}

/* Refuses later calls on a table that is not in its place any more. Returns a status. */
static int refuse_dropped(struct sherwood_cuda *cuda, struct sw_cuda_table *entry)
{
    const int status = entry->number == 0 ? SHERWOOD_OK : sherwood_table_renew(entry->client);
    if (status == SHERWOOD_E_TABLE) {
        __atomic_store_n(&entry->number, 0, __ATOMIC_SEQ_CST);
        return SHERWOOD_OK;
    }
    return status == SHERWOOD_OK ? status
                                 : sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
}

/* Returns whether another table may have the entry. */
static bool is_free(struct sherwood_cuda *cuda, const struct sw_cuda_table *entry)
{
    return entry->number == 0 && __atomic_load_n(&entry->users, __ATOMIC_SEQ_CST) == 0 &&
           entry->last <= UINT32_MAX - SHERWOOD_CUDA_TABLES_MAX &&
           !sw_cuda_ordered_uses(cuda, entry->last);
}

/* Takes a new entry, or that of a table that was dropped. *out is NULL if there is none. Returns a
 * status. */
static int take_entry(struct sherwood_cuda *cuda, struct sw_cuda_table **out)
{
    *out = NULL;
    if (cuda->table_count < SHERWOOD_CUDA_TABLES_MAX) {
        *out = &cuda->tables[cuda->table_count];
        (*out)->last = ++cuda->table_count;
        return SHERWOOD_OK;
    }
    for (uint32_t i = 0; i < SHERWOOD_CUDA_TABLES_MAX && *out == NULL; i++) {
        struct sw_cuda_table *entry = &cuda->tables[i];
        const int status = refuse_dropped(cuda, entry);
        if (status != SHERWOOD_OK) {
            return status;
        }
        if (is_free(cuda, entry)) {
            sherwood_close(entry->client);
            entry->last += SHERWOOD_CUDA_TABLES_MAX;
            *out = entry;
        }
    }
    return SHERWOOD_OK;
}

/* Keeps a table that was opened. If it was opened before, closes it and renews the handle of
 * before. Returns a status. */
static int keep_table(struct sherwood_cuda *cuda, struct sherwood *opened,
                      struct sw_cuda_table **entry)
{
    *entry = find_table(cuda, opened);
    if (*entry != NULL) {
        sherwood_close(opened);
        const int status = sherwood_table_renew((*entry)->client);
        return status == SHERWOOD_OK ? status
                                     : sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    int status = take_entry(cuda, entry);
    if (status == SHERWOOD_OK && *entry == NULL) {
        status = sw_cuda_fail(SHERWOOD_E_BUSY,
                              "this handle has %d tables already: attach another handle",
                              SHERWOOD_CUDA_TABLES_MAX);
    }
    if (status != SHERWOOD_OK) {
        sherwood_close(opened);
        return status;
    }
    (*entry)->client = opened;
    /* release: calls read the number before the handle, and take no lock for it */
    __atomic_store_n(&(*entry)->number, (*entry)->last, __ATOMIC_RELEASE);
    return SHERWOOD_OK;
}

int sherwood_cuda_table(struct sherwood_cuda *cuda, const char *name, uint32_t *table,
                        const struct sherwood_server **server)
{
    struct sherwood *opened = NULL;
    struct sw_cuda_table *entry = NULL;
    if (cuda == NULL || name == NULL || table == NULL) {
        return SHERWOOD_E_INVALID;
    }
    sw_cuda_take_turn(cuda);
    int status = sherwood_table_open(cuda->client, name, &opened);
    status = status == SHERWOOD_OK ? keep_table(cuda, opened, &entry)
                                   : sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    if (status == SHERWOOD_OK) {
        *table = entry->number;
    }
    if (status == SHERWOOD_OK && server != NULL) {
        *server = sherwood_server(entry->client);
    }
    sw_cuda_give_turn(cuda);
    return status;
}

void sw_cuda_close_tables(struct sherwood_cuda *cuda)
{
    while (cuda->table_count > 0) {
        sherwood_close(cuda->tables[--cuda->table_count].client);
    }
}
