/* SPDX-License-Identifier: MIT
 *
 * set.c - insert, rehash and look-up of a cuckoo set, whatever it runs on.
 */
#include "bench/cuckoo/set/set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuckoo/set/ops.h"

#define BATCH_MAX (1U << 28)

struct sw_cset {
    const struct sw_cset_ops *ops;
    void *arrays;
    struct sw_cset_config config; /* the backend is never AUTO */
    struct sw_cuckoo_shape shape; /* of the current arrays */
    uint32_t seed_number;         /* of the last seeds tried */
    uint64_t occupied;
    uint64_t left;
    uint64_t rehashes;
};

void sw_cset_config_init(struct sw_cset_config *config)
{
    memset(config, 0, sizeof(*config));
    config->functions = 3;
    config->cells_each = 1U << 20;
    config->chain_max = 128;
    config->rehash_max = 16;
    config->batch_max = 1U << 20;
}

static void choose_seeds(struct sw_cuckoo_shape *shape, uint32_t number)
{
    for (uint32_t i = 0; i < SW_CUCKOO_FUNCTIONS_MAX; i++) {
        shape->seeds[i] = sw_cuckoo_seed_of(number, i);
    }
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

static bool is_block_size(uint32_t threads)
{
    return threads == 0 || threads == 64 || threads == 128 || threads == 256 || threads == 512 ||
           threads == 1024;
}

static bool has_usual_keys(const struct sw_cset_config *config)
{
    return (config->insert_keys == 0 || config->insert_keys == 4) &&
           (config->find_keys == 0 || config->find_keys == 4);
}

static int validate(const struct sw_cset_config *config, char *reason, size_t size)
{
    if (config->functions < 2 || config->functions > SW_CUCKOO_FUNCTIONS_MAX) {
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
    if (!is_block_size(config->block_size)) {
        return refuse(reason, size, "a block has 64, 128, 256, 512 or 1024 threads");
    }
    if (config->block_size != 0 && config->block_size != 256 && !has_usual_keys(config)) {
        return refuse(reason, size, "blocks of other sizes have 4 keys of a thread on their way");
    }
    if (config->way == SW_CSET_WAY_PARTITIONED &&
        config->cells_each * sizeof(struct sw_cuckoo_cell_k32) > SW_CSET_PARTITIONED_BYTES_MAX) {
        return refuse(reason, size, "partitioned inserts need arrays of at most 256 MiB each");
    }
    return SW_OK;
}

/* AUTO: CUDA where it can be had. */
static int open_arrays(struct sw_cset *set, char *reason, size_t reason_size)
{
    const struct sw_cset_ops *cuda = sw_cset_cuda_ops();
    int status = SW_E_NOTBUILT;
    if (set->config.backend != SW_BACKEND_CPU) {
        refuse(reason, reason_size, "this build has no CUDA backend (nvcc was not found)");
        if (cuda != NULL) {
            set->ops = cuda;
            status = cuda->open(&set->config, &set->arrays, reason, reason_size);
        }
        if (status == SW_OK || set->config.backend == SW_BACKEND_CUDA) {
            set->config.backend = SW_BACKEND_CUDA;
            return status;
        }
    }
    set->ops = &sw_cset_host_ops;
    set->config.backend = SW_BACKEND_CPU;
    return set->ops->open(&set->config, &set->arrays, reason, reason_size);
}

int sw_cset_open(const struct sw_cset_config *config, struct sw_cset **out, char *reason,
                 size_t reason_size)
{
    *out = NULL;
    int status = validate(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    struct sw_cset *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        refuse(reason, reason_size, "not enough memory");
        return SW_E_NOMEM;
    }
    set->config = *config;
    set->shape.each = config->cells_each;
    set->shape.functions = config->functions;
    set->shape.chain_max = config->chain_max;
    choose_seeds(&set->shape, 0);
    status = open_arrays(set, reason, reason_size);
    if (status != SW_OK) {
        free(set);
        return status;
    }
    *out = set;
    return SW_OK;
}

void sw_cset_close(struct sw_cset *set)
{
    if (set != NULL) {
        set->ops->close(set->arrays);
        free(set);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

/* The first seeds again, too: equal inserts after it give equal sets. */
int sw_cset_clear(struct sw_cset *set)
{
    set->occupied = 0;
    set->left = 0;
    set->rehashes = 0;
    set->seed_number = 0;
    choose_seeds(&set->shape, 0);
    return set->ops->clear(set->arrays);
}

/* With other seeds each time, until everything has a place or the tries are used up. */
static int rehash(struct sw_cset *set)
{
    bool complete = false;
    for (uint32_t tried = 0; tried < set->config.rehash_max && !complete; tried++) {
        struct sw_cuckoo_shape next = set->shape;
        choose_seeds(&next, ++set->seed_number);
        set->rehashes++;
        int status = set->ops->move(set->arrays, &set->shape, &next, set->left, &complete);
        if (status != SW_OK) {
            return status;
        }
        if (complete) {
            set->ops->swap(set->arrays);
            set->shape = next;
            set->occupied += set->left;
            set->left = 0;
        }
    }
    return complete ? SW_OK : SW_E_FULL;
}

static int may_insert(const struct sw_cset *set, uint64_t count)
{
    if (count > set->config.batch_max) {
        return SW_E_INVALID;
    }
    return set->left > 0 ? SW_E_FULL : SW_OK;
}

int sw_cset_insert(struct sw_cset *set, const uint32_t *keys, uint64_t count)
{
    int status = may_insert(set, count);
    if (status != SW_OK) {
        return status;
    }
    status =
        set->ops->insert(set->arrays, &set->shape, keys, count, set->occupied == 0, &set->left);
    if (status != SW_OK) {
        return status;
    }
    set->occupied += count - set->left;
    return set->left == 0 ? SW_OK : rehash(set);
}

int sw_cset_insert_and_find(struct sw_cset *set, const uint32_t *keys, uint64_t count,
                            const uint32_t *queries, uint32_t *found, uint64_t query_count)
{
    int status = may_insert(set, count);
    if (status != SW_OK) {
        return status;
    }
    if (set->ops->insert_and_find == NULL) {
        status = sw_cset_insert(set, keys, count);
        return status == SW_OK ? sw_cset_find(set, queries, found, query_count) : status;
    }
    status = set->ops->insert_and_find(set->arrays, &set->shape, keys, count, set->occupied == 0,
                                       &set->left, queries, found, query_count);
    if (status != SW_OK) {
        return status;
    }
    set->occupied += count - set->left;
    if (set->left == 0) {
        return SW_OK;
    }
    status = rehash(set);
    return status == SW_OK ? sw_cset_find(set, queries, found, query_count) : status;
}

int sw_cset_take_left(struct sw_cset *set, uint32_t *keys)
{
    int status = set->ops->copy_left(set->arrays, keys, set->left);
    if (status == SW_OK) {
        set->left = 0;
    }
    return status;
}

int sw_cset_find(struct sw_cset *set, const uint32_t *keys, uint32_t *found, uint64_t count)
{
    return set->ops->find(set->arrays, &set->shape, keys, found, count);
}

void sw_cset_facts(const struct sw_cset *set, struct sw_cset_facts *facts)
{
    facts->backend = set->config.backend;
    facts->cells = sw_cuckoo_cells(&set->shape);
    facts->occupied = set->occupied;
    facts->left = set->left;
    facts->rehashes = set->rehashes;
    facts->bytes_reserved = set->ops->bytes(set->arrays);
    facts->failure = set->ops->failure(set->arrays);
}

int sw_cset_copy_cells(struct sw_cset *set, uint32_t *cells)
{
    return set->ops->copy_cells(set->arrays, cells);
}
