/* SPDX-License-Identifier: MIT
 *
 * tables.c - tables of the server by their names: handles of libsherwood on the connection of one
 * handle of libsherwood-cuda.
 */
#include "client/cuda/attached.h"
#include "client/sherwood-tables.h"
#include "client/table_shape.h"

/* Returns the number of a table that was opened in the same place with the same shape, or 0. */
static uint32_t find_table(const struct sherwood_cuda *cuda, const struct sherwood *opened)
{
    for (uint32_t i = 0; i < cuda->table_count; i++) {
        const struct sherwood *table = cuda->tables[i];
        if (sherwood_table_number(table) == sherwood_table_number(opened) &&
            sw_client_is_of_one_shape(sherwood_server(table), sherwood_server(opened))) {
            return i + 1;
        }
    }
    return 0;
}

/* Keeps a table that was opened. If it was opened before, closes it and renews the handle of
 * before. Returns a status. */
static int keep_table(struct sherwood_cuda *cuda, struct sherwood *opened, uint32_t *table)
{
    const uint32_t at = cuda->table_count;
    *table = find_table(cuda, opened);
    if (*table != 0) {
        sherwood_close(opened);
        const int status = sherwood_table_renew(cuda->tables[*table - 1]);
        return status == SHERWOOD_OK ? status
                                     : sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    if (at == SHERWOOD_CUDA_TABLES_MAX) {
        sherwood_close(opened);
        return sw_cuda_fail(SHERWOOD_E_BUSY,
                            "this handle has %d tables already: attach another handle",
                            SHERWOOD_CUDA_TABLES_MAX);
    }
    cuda->tables[at] = opened;
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
