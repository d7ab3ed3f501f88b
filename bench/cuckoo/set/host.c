/* SPDX-License-Identifier: MIT
 *
 * host.c - a cuckoo set in host memory, one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuckoo/set/ops.h"
#include "table/host/memory.h"

struct host {
    uint64_t bytes; /* of one set of arrays */
    uint64_t list_bytes;
    struct sw_cuckoo_cell_k32 *cells[2];
    uint32_t current;
    uint32_t *list; /* keys left over */
    bool has_ones;  /* the key that no cell can hold */
};

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
    host->has_ones = false;
    return SW_OK;
}

static int host_open(const struct sw_cset_config *config, void **out, char *reason,
                     size_t reason_size)
{
    struct host *host = calloc(1, sizeof(*host));
    if (host != NULL) {
        host->bytes = config->cells_each * config->functions * sizeof(**host->cells);
        host->list_bytes = (uint64_t)config->batch_max * sizeof(*host->list);
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

static struct sw_cuckoo_view_k32 view_of(const struct host *host,
                                         const struct sw_cuckoo_shape *shape, uint32_t which)
{
    struct sw_cuckoo_view_k32 view = {.cells = host->cells[which], .shape = *shape};
    return view;
}

static int host_insert(void *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                       uint64_t count, bool is_empty, uint64_t *left)
{
    struct host *host = arrays;
    struct sw_cuckoo_view_k32 view = view_of(host, shape, host->current);
    (void)is_empty;
    *left = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct sw_cuckoo_cell_k32 carried = {keys[i]};
        if (carried.key == SW_CSET_EMPTY) {
            host->has_ones = true;
        } else if (!sw_cuckoo_insert_k32(&view, &carried)) {
            host->list[(*left)++] = carried.key;
        }
    }
    return SW_OK;
}

static int host_move(void *arrays, const struct sw_cuckoo_shape *from,
                     const struct sw_cuckoo_shape *to, uint64_t left, bool *complete)
{
    struct host *host = arrays;
    const struct sw_cuckoo_cell_k32 *old = host->cells[host->current];
    struct sw_cuckoo_view_k32 new = view_of(host, to, !host->current);
    uint64_t cells = sw_cuckoo_cells(from);
    memset(new.cells, 0xFF, host->bytes);
    *complete = true;
    for (uint64_t i = 0; i < cells + left && *complete; i++) {
        struct sw_cuckoo_cell_k32 carried = {i < cells ? old[i].key : host->list[i - cells]};
        *complete = carried.key == SW_CSET_EMPTY || sw_cuckoo_insert_k32(&new, &carried);
    }
    return SW_OK;
}

static void host_swap(void *arrays)
{
    struct host *host = arrays;
    host->current = !host->current;
}

static int host_find(void *arrays, const struct sw_cuckoo_shape *shape, const uint32_t *keys,
                     uint32_t *found, uint64_t count)
{
    const struct host *host = arrays;
    struct sw_cuckoo_view_k32 view = view_of(host, shape, host->current);
    memset(found, 0, (count + 31) / 32 * sizeof(*found));
    for (uint64_t i = 0; i < count; i++) {
        uint32_t present = keys[i] == SW_CSET_EMPTY
                               ? host->has_ones
                               : sw_cset_look_up(&view, &keys[i], 1, 1, shape->functions);
        found[i / 32] |= present << i % 32;
    }
    return SW_OK;
}

static int host_copy_left(void *arrays, uint32_t *keys, uint64_t left)
{
    const struct host *host = arrays;
    memcpy(keys, host->list, left * sizeof(*keys));
    return SW_OK;
}

static int host_copy_cells(void *arrays, uint32_t *cells)
{
    const struct host *host = arrays;
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

const struct sw_cset_ops sw_cset_host_ops = {
    .open = host_open,
    .close = host_close,
    .clear = host_clear,
    .insert = host_insert,
    .insert_and_find = NULL,
    .move = host_move,
    .swap = host_swap,
    .find = host_find,
    .copy_left = host_copy_left,
    .copy_cells = host_copy_cells,
    .bytes = host_bytes,
    .failure = host_failure,
};
