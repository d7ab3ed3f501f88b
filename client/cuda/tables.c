/* SPDX-License-Identifier: MIT
 *
 * tables.c - tables of the server by their names: handles of libsherwood on the connection of one
 * handle of libsherwood-cuda.
 */
#include <string.h>

#include "client/cuda/attached.h"
#include "client/sherwood-tables.h"

/* Returns the number of a table that was opened by this name, or 0. */
static uint32_t find_table(const struct sherwood_cuda *cuda, const char *name)
{
    for (uint32_t i = 0; i < cuda->table_count; i++) {
        if (strcmp(sherwood_table_name(cuda->tables[i]), name) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Opens a table, with `turn` locked. */
static int open_table(struct sherwood_cuda *cuda, const char *name, uint32_t *table)
{
    if (cuda->table_count == SHERWOOD_CUDA_TABLES_MAX) {
        return sw_cuda_fail(SHERWOOD_E_BUSY,
                            "this handle has %d tables already: attach another handle",
                            SHERWOOD_CUDA_TABLES_MAX);
    }
    int status = sherwood_table_open(cuda->client, name, &cuda->tables[cuda->table_count]);
    if (status != SHERWOOD_OK) {
        return sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    *table = cuda->table_count + 1;
    /* release: calls read the count before the handle, and take no lock for it */
    __atomic_store_n(&cuda->table_count, *table, __ATOMIC_RELEASE);
    return SHERWOOD_OK;
}

int sherwood_cuda_table(struct sherwood_cuda *cuda, const char *name, uint32_t *table,
                        const struct sherwood_server **server)
{
    if (cuda == NULL || name == NULL || table == NULL) {
        return SHERWOOD_E_INVALID;
    }
    sw_cuda_take_turn(cuda);
    *table = find_table(cuda, name);
    int status = *table != 0 ? SHERWOOD_OK : open_table(cuda, name, table);
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
