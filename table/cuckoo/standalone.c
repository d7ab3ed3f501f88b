/* SPDX-License-Identifier: MIT
 *
 * standalone.c - insert, rehash and look-up of a cuckoo table of its own, whatever it runs on.
 */
#include "table/cuckoo/standalone.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/cuckoo/ops.h"

#define BATCH_MAX (1U << 28)

struct sw_cuckoo {
    const struct sw_cuckoo_ops *ops;
    void *arrays;
    struct sw_cuckoo_config config; /* the backend is never AUTO */
    struct sw_cuckoo_shape shape;   /* of the current arrays */
    uint32_t seed_number;           /* of the last seeds tried */
    uint64_t occupied;
    uint64_t left;
    uint64_t rehashes;
};

uint32_t sw_cuckoo_chain_bound(double l, uint64_t n)
{
    double bound = n > 1 ? ceil(l * log2((double)n)) : 1;
    return bound < 1 ? 1 : bound > 1e9 ? 1000000000U : (uint32_t)bound;
}

void sw_cuckoo_config_init(struct sw_cuckoo_config *config)
{
    memset(config, 0, sizeof(*config));
    config->cell_bits = 32;
    config->functions = 3;
    config->cells_each = 1U << 20;
    config->chain_max = 128;
    config->rehash_max = 16;
    config->batch_max = 1U << 20;
}

/* --- open ------------------------------------------------------------------------------------- */

static int refuse(char *reason, size_t reason_size, const char *text)
{
    if (reason != NULL) {
        snprintf(reason, reason_size, "%s", text);
    }
    return SW_E_INVALID;
}

static bool is_keys_in_flight(uint32_t keys)
{
    return keys == 0 || keys == 1 || keys == 2 || keys == 4 || keys == 8;
}

static int validate(const struct sw_cuckoo_config *config, char *reason, size_t size)
{
    uint32_t bits = config->cell_bits;
    if (bits != 32 && bits != 64 && bits != 128) {
        return refuse(reason, size, "cells have 32, 64 or 128 bits");
    }
    if (config->functions < SW_CUCKOO_FUNCTIONS_MIN ||
        config->functions > SW_CUCKOO_FUNCTIONS_MAX) {
        return refuse(reason, size, "there are 2 or 3 hash functions");
    }
    if (config->cells_each < 1 || config->cells_each > SW_CUCKOO_CELLS_EACH_MAX) {
        return refuse(reason, size, "an array has 1 to 2^30 cells");
    }
    if (config->chain_max < 1) {
        return refuse(reason, size, "an insert makes at least 1 exchange");
    }
    if (config->batch_max < 1 || config->batch_max > BATCH_MAX) {
        return refuse(reason, size, "a batch has 1 to 2^28 keys");
    }
    if (!is_keys_in_flight(config->insert_keys) || !is_keys_in_flight(config->find_keys)) {
        return refuse(reason, size, "a thread has 1, 2, 4 or 8 keys on their way");
    }
    if (config->way == SW_CUCKOO_WAY_PARTITIONED &&
        (bits == 128 || config->cells_each * (bits / 8) > SW_CUCKOO_PARTITIONED_BYTES_MAX)) {
        return refuse(reason, size,
                      "partitioned inserts need cells of 32 or 64 bits and arrays of at most 256 "
                      "MiB each");
    }
    return SW_OK;
}

/* AUTO: CUDA where it can be had. */
static int open_arrays(struct sw_cuckoo *table, char *reason, size_t reason_size)
{
    const struct sw_cuckoo_ops *cuda = sw_cuckoo_cuda_ops();
    int status = SW_E_NOTBUILT;
    if (table->config.backend != SW_BACKEND_CPU) {
        refuse(reason, reason_size, "this build has no CUDA backend (nvcc was not found)");
        if (cuda != NULL) {
            table->ops = cuda;
            status = cuda->open(&table->config, &table->arrays, reason, reason_size);
        }
        if (status == SW_OK || table->config.backend == SW_BACKEND_CUDA) {
            table->config.backend = SW_BACKEND_CUDA;
            return status;
        }
    }
    table->ops = &sw_cuckoo_host_ops;
    table->config.backend = SW_BACKEND_CPU;
    return table->ops->open(&table->config, &table->arrays, reason, reason_size);
}

int sw_cuckoo_open(const struct sw_cuckoo_config *config, struct sw_cuckoo **out, char *reason,
                   size_t reason_size)
{
    *out = NULL;
    int status = validate(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    struct sw_cuckoo *table = calloc(1, sizeof(*table));
    if (table == NULL) {
        refuse(reason, reason_size, "not enough memory");
        return SW_E_NOMEM;
    }
    table->config = *config;
    table->shape.each = config->cells_each;
    table->shape.functions = config->functions;
    table->shape.chain_max = config->chain_max;
    sw_cuckoo_reseed(&table->shape, 0);
    status = open_arrays(table, reason, reason_size);
    if (status != SW_OK) {
        free(table);
        return status;
    }
    *out = table;
    return SW_OK;
}

void sw_cuckoo_close(struct sw_cuckoo *table)
{
    if (table != NULL) {
        table->ops->close(table->arrays);
        free(table);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The first seeds again, too: equal inserts after it give equal tables. */
int sw_cuckoo_clear(struct sw_cuckoo *table)
{
    table->occupied = 0;
    table->left = 0;
    table->rehashes = 0;
    table->seed_number = 0;
    sw_cuckoo_reseed(&table->shape, 0);
    return table->ops->clear(table->arrays);
}

/* With other seeds each time, until everything has a place or the tries are used up. */
static int rehash(struct sw_cuckoo *table)
{
    bool complete = false;
    for (uint32_t tried = 0; tried < table->config.rehash_max && !complete; tried++) {
        struct sw_cuckoo_shape next = table->shape;
        sw_cuckoo_reseed(&next, ++table->seed_number);
        table->rehashes++;
        int status = table->ops->move(table->arrays, &table->shape, &next, table->left, &complete);
        if (status != SW_OK) {
            return status;
        }
        if (complete) {
            table->ops->swap(table->arrays);
            table->shape = next;
            table->occupied += table->left;
            table->left = 0;
        }
    }
    return complete ? SW_OK : SW_E_FULL;
}

int sw_cuckoo_insert(struct sw_cuckoo *table, const void *keys, const void *values, uint64_t count)
{
    if (count > table->config.batch_max || (values == NULL && table->config.cell_bits != 32)) {
        return SW_E_INVALID;
    }
    if (table->left > 0) {
        return SW_E_FULL;
    }
    int status = table->ops->insert(table->arrays, &table->shape, keys, values, count,
                                    table->occupied == 0, &table->left);
    if (status != SW_OK) {
        return status;
    }
    table->occupied += count - table->left;
    return table->left == 0 ? SW_OK : rehash(table);
}

int sw_cuckoo_take_left(struct sw_cuckoo *table, void *keys, void *values)
{
    int status = table->ops->copy_left(table->arrays, keys, values, table->left);
    if (status == SW_OK) {
        table->left = 0;
    }
    return status;
}

int sw_cuckoo_find(struct sw_cuckoo *table, const void *keys, void *values, uint32_t *found,
                   uint64_t count)
{
    return table->ops->find(table->arrays, &table->shape, keys, values, found, count);
}

void sw_cuckoo_facts(const struct sw_cuckoo *table, struct sw_cuckoo_facts *facts)
{
    facts->backend = table->config.backend;
    facts->cells = sw_cuckoo_cells(&table->shape);
    facts->occupied = table->occupied;
    facts->left = table->left;
    facts->rehashes = table->rehashes;
    facts->bytes_reserved = table->ops->bytes(table->arrays);
    facts->failure = table->ops->failure(table->arrays);
}

int sw_cuckoo_copy_cells(struct sw_cuckoo *table, void *cells)
{
    return table->ops->copy_cells(table->arrays, &table->shape, cells);
}
