/* SPDX-License-Identifier: MIT
 *
 * tables.c - tables of the server by their names: handles of libsherwood on the connection of one
 * handle of libsherwood-cuda.
 */
#include <string.h>

#include "client/cuda/attached.h"
#include "client/sherwood-tables.h"
#include "client/table_shape.h"

#define ROWS 32

/* Finds the place that has this name now. Returns a status. */
static int find_place(const struct sherwood_cuda *cuda, const char *name, uint32_t *place)
{
    struct sherwood_table_row rows[ROWS];
    uint32_t from = 0, count = 0;
    do {
        int status = sherwood_tables(cuda->client, &from, rows, ROWS, &count);
        if (status != SHERWOOD_OK) {
            return sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
        }
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(rows[i].name, name) == 0) {
                *place = rows[i].number;
                return SHERWOOD_OK;
            }
        }
    } while (from != 0);
    return sw_cuda_fail(SHERWOOD_E_TABLE, "the table '%s' was renamed meanwhile: open it again",
                        name);
}

/* Returns the number of a table that was opened in this place with this shape, or 0. */
static uint32_t find_table(const struct sherwood_cuda *cuda, uint32_t place,
                           const struct sherwood *opened)
{
    for (uint32_t i = 0; i < cuda->table_count; i++) {
        if (cuda->places[i] == place &&
            sw_client_is_of_one_shape(sherwood_server(cuda->tables[i]), sherwood_server(opened))) {
            return i + 1;
        }
    }
    return 0;
}

/* Keeps a table that was opened, or closes it if its place was opened before. Returns a status. */
static int keep_table(struct sherwood_cuda *cuda, struct sherwood *opened, uint32_t *table)
{
    const uint32_t at = cuda->table_count;
    uint32_t place = 0;
    int status = find_place(cuda, sherwood_table_name(opened), &place);
    *table = status == SHERWOOD_OK ? find_table(cuda, place, opened) : 0;
    if (status == SHERWOOD_OK && *table == 0 && at == SHERWOOD_CUDA_TABLES_MAX) {
        status = sw_cuda_fail(SHERWOOD_E_BUSY,
                              "this handle has %d tables already: attach another handle",
                              SHERWOOD_CUDA_TABLES_MAX);
    }
    if (status != SHERWOOD_OK || *table != 0) {
        sherwood_close(opened);
        return status;
    }
    cuda->tables[at] = opened;
    cuda->places[at] = place;
    *table = at + 1;
    /* release: calls read the count before the handle, and take no lock for it */
    __atomic_store_n(&cuda->table_count, *table, __ATOMIC_RELEASE);
    return SHERWOOD_OK;
}

int sherwood_cuda_table(struct sherwood_cuda *cuda, const char *name, uint32_t *table,
                        const struct sherwood_server **server)
{
    struct sherwood *opened = NULL;
    if (cuda == NULL || name == NULL || table == NULL) {
        return SHERWOOD_E_INVALID;
    }
    sw_cuda_take_turn(cuda);
    int status = sherwood_table_open(cuda->client, name, &opened);
    status = status == SHERWOOD_OK ? keep_table(cuda, opened, table)
                                   : sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    if (status == SHERWOOD_OK && server != NULL) {
        *server = sherwood_server(cuda->tables[*table - 1]);
    }
    sw_cuda_give_turn(cuda);
    return status;
}

void sw_cuda_close_tables(struct sherwood_cuda *cuda)
{
    while (cuda->table_count > 0) {
        sherwood_close(cuda->tables[--cuda->table_count]);
    }
}
