/* SPDX-License-Identifier: MIT
 *
 * host.c - a cuckoo table in host memory, one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/cuckoo/ops.h"
#include "table/host/memory.h"
#include "table/once.h"

struct host {
    uint32_t cell_bits;
    uint64_t bytes; /* of one set of arrays */
    uint64_t list_bytes;
    void *cells[2];
    uint32_t current;
    void *list; /* entries left over */
    struct sw_cuckoo_side side;
};

#define CK_BODY "table/cuckoo/host.inl"
#include "table/cuckoo/each_cell.inl"

static void host_close(void *arrays)
{
    struct host *host = arrays;
    sw_memory_unmap(host->cells[0], host->bytes);
    sw_memory_unmap(host->cells[1], host->bytes);
    sw_memory_unmap(host->list, host->list_bytes);
    free(host);
}

static int host_clear(void *arrays)
{
    struct host *host = arrays;
    memset(host->cells[host->current], 0xFF, host->bytes);
    memset(&host->side, 0, sizeof(host->side));
    return SW_OK;
}

static int host_open(const struct sw_cuckoo_config *config, void **out, char *reason,
                     size_t reason_size)
{
    struct host *host = calloc(1, sizeof(*host));
    if (host != NULL) {
        host->cell_bits = config->cell_bits;
        host->bytes = config->cells_each * config->functions * (config->cell_bits / 8);
        host->list_bytes = (uint64_t)config->batch_max * (config->cell_bits / 8);
        host->cells[0] = sw_memory_map(host->bytes);
        host->cells[1] = sw_memory_map(host->bytes);
        host->list = sw_memory_map(host->list_bytes);
    }
    if (host == NULL || host->cells[0] == NULL || host->cells[1] == NULL || host->list == NULL) {
        if (host != NULL) {
            host_close(host);
        }
        if (reason != NULL) {
            snprintf(reason, reason_size, "not enough memory for the arrays");
        }
        return SW_E_NOMEM;
    }
    host_clear(host);
    *out = host;
    return SW_OK;
}

static int host_insert(void *arrays, const struct sw_cuckoo_shape *shape, const void *keys,
                       const void *values, uint64_t count, bool is_empty, uint64_t *left)
{
    struct host *host = arrays;
    (void)is_empty;
    if (host->cell_bits == 32) {
        *left = sw_cuckoo_host_insert_k32(host, shape, keys, values, count);
    } else if (host->cell_bits == 64) {
        *left = sw_cuckoo_host_insert_s64(host, shape, keys, values, count);
    } else {
        *left = sw_cuckoo_host_insert_s128(host, shape, keys, values, count);
    }
    return SW_OK;
}

static int host_move(void *arrays, const struct sw_cuckoo_shape *from,
                     const struct sw_cuckoo_shape *to, uint64_t left, bool *complete)
{
    struct host *host = arrays;
    memset(host->cells[!host->current], 0xFF, host->bytes);
    *complete = host->cell_bits == 32   ? sw_cuckoo_host_move_k32(host, from, to, left)
                : host->cell_bits == 64 ? sw_cuckoo_host_move_s64(host, from, to, left)
                                        : sw_cuckoo_host_move_s128(host, from, to, left);
    return SW_OK;
}

static void host_swap(void *arrays)
{
    struct host *host = arrays;
    host->current = !host->current;
}

static int host_find(void *arrays, const struct sw_cuckoo_shape *shape, const void *keys,
                     void *values, uint32_t *found, uint64_t count)
{
    struct host *host = arrays;
    if (host->cell_bits == 32) {
        sw_cuckoo_host_find_k32(host, shape, keys, NULL, found, count);
    } else if (host->cell_bits == 64) {
        sw_cuckoo_host_find_s64(host, shape, keys, values, found, count);
    } else {
        sw_cuckoo_host_find_s128(host, shape, keys, values, found, count);
    }
    return SW_OK;
}

static int host_copy_left(void *arrays, void *keys, void *values, uint64_t left)
{
    struct host *host = arrays;
    if (host->cell_bits == 32) {
        sw_cuckoo_host_copy_left_k32(host, keys, NULL, left);
    } else if (host->cell_bits == 64) {
        sw_cuckoo_host_copy_left_s64(host, keys, values, left);
    } else {
        sw_cuckoo_host_copy_left_s128(host, keys, values, left);
    }
    return SW_OK;
}

static int host_copy_cells(void *arrays, const struct sw_cuckoo_shape *shape, void *cells)
{
    struct host *host = arrays;
    (void)shape;
    memcpy(cells, host->cells[host->current], host->bytes);
    return SW_OK;
}

static uint64_t host_bytes(const void *arrays)
{
    const struct host *host = arrays;
    return 2 * host->bytes + host->list_bytes;
}

static const char *host_failure(const void *arrays)
{
    (void)arrays;
    return "";
}

const struct sw_cuckoo_ops sw_cuckoo_host_ops = {
    .open = host_open,
    .close = host_close,
    .clear = host_clear,
    .insert = host_insert,
    .move = host_move,
    .swap = host_swap,
    .find = host_find,
    .copy_left = host_copy_left,
    .copy_cells = host_copy_cells,
    .bytes = host_bytes,
    .failure = host_failure,
};
