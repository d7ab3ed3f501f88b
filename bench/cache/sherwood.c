/* SPDX-License-Identifier: MIT
 *
 * sherwood.c - a table whose engine is the cache, in either mode, as a library of the cache study.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/cache/library.h"
#include "bench/study/pass.h"
#include "table/table.h"

struct cache {
    struct sw_table *table;
    struct sw_queue *queue;
};

static void sherwood_close(void *opaque)
{
    struct cache *cache = opaque;
    sw_queue_destroy(cache->queue);
    sw_table_destroy(cache->table);
    free(cache);
}

static void *sherwood_open(const struct sw_cachebench_wanted *wanted, enum sw_cache_mode mode,
                           char *reason, size_t reason_size)
{
    struct sw_table_config config;
    struct cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL) {
        snprintf(reason, reason_size, "no memory");
        return NULL;
    }
    sw_table_config_init(&config);
    config.backend = wanted->on_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config.engine = SW_ENGINE_CACHE;
    config.device = wanted->device;
    config.capacity_slots = wanted->capacity;
    config.value_bytes = wanted->dim * (uint32_t)sizeof(float);
    config.cache_mode = mode;
    config.cache_policy = wanted->custom ? SW_CACHE_CUSTOM : SW_CACHE_LRU;
    config.batch_ops_max = wanted->room;
    config.seed = 0x5348455257ULL;
    if (sw_table_create(&config, &cache->table, reason, reason_size) != SW_OK) {
        free(cache);
        return NULL;
    }
    if (sw_queue_create(cache->table, &cache->queue) != SW_OK) {
        snprintf(reason, reason_size, "no memory for a queue");
        sherwood_close(cache);
        return NULL;
    }
    return cache;
}

static void *memory_open(const struct sw_cachebench_wanted *wanted, char *reason,
                         size_t reason_size)
{
    return sherwood_open(wanted, SW_CACHE_MEMORY, reason, reason_size);
}

static void *throughput_open(const struct sw_cachebench_wanted *wanted, char *reason,
                             size_t reason_size)
{
    return sherwood_open(wanted, SW_CACHE_THROUGHPUT, reason, reason_size);
}

static bool run_cache_batch(struct cache *cache, struct sw_batch *batch, const char *what)
{
    int status = sw_study_batch_run(cache->queue, batch);
    if (status != SW_OK) {
        fprintf(stderr, "cache: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool sherwood_clear(void *cache)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    return run_cache_batch(cache, &batch, "clear");
}

static bool sherwood_size(void *opaque, uint64_t *entries)
{
    struct cache *cache = opaque;
    struct sw_table_stats stats;
    sw_table_stats(cache->table, &stats);
    *entries = stats.occupied;
    return true;
}

static uint64_t sherwood_capacity(void *opaque)
{
    struct cache *cache = opaque;
    struct sw_table_info info;
    sw_table_info(cache->table, &info);
    return info.capacity_slots;
}

/* Sets the arrays of an operation; the others stay NULL. */
static void choose_arrays(enum sw_cachebench_operation operation,
                          const struct sw_cachebench_arrays *arrays, struct sw_batch *batch)
{
    static const enum sw_op ops[SW_CACHEBENCH_OPERATIONS] = {
        [SW_CACHEBENCH_FIND] = SW_PEEK,
        [SW_CACHEBENCH_CONTAINS] = SW_PEEK,
        [SW_CACHEBENCH_INSERT_OR_ASSIGN] = SW_SET,
        [SW_CACHEBENCH_INSERT_AND_EVICT] = SW_SET,
        [SW_CACHEBENCH_FIND_OR_INSERT] = SW_FIND_OR_INSERT,
        [SW_CACHEBENCH_ASSIGN] = SW_SET_PRESENT,
        [SW_CACHEBENCH_ACCUM_OR_ASSIGN] = SW_ADD_F32,
        [SW_CACHEBENCH_ERASE] = SW_DELETE,
    };
    bool is_look_up = operation == SW_CACHEBENCH_FIND || operation == SW_CACHEBENCH_CONTAINS;
    batch->op = ops[operation];
    batch->keys = arrays->keys;
    if (!is_look_up && operation != SW_CACHEBENCH_ERASE) {
        batch->values = arrays->values;
        batch->scores = arrays->scores;
    }
    if (is_look_up || operation == SW_CACHEBENCH_FIND_OR_INSERT) {
        batch->found = arrays->bits;
    }
    if (operation == SW_CACHEBENCH_FIND || operation == SW_CACHEBENCH_FIND_OR_INSERT) {
        batch->previous = arrays->values_out;
    }
    if (operation == SW_CACHEBENCH_INSERT_AND_EVICT) {
        batch->leftover_keys = arrays->evicted_keys;
        batch->leftover_values = arrays->evicted_values;
        batch->leftover_scores = arrays->evicted_scores;
    }
}

static bool sherwood_call(void *cache, enum sw_cachebench_operation operation,
                          const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS, .count = (uint32_t)count};
    choose_arrays(operation, arrays, &batch);
    bool done = run_cache_batch(cache, &batch, "a call");
    *arrays->told = batch.leftover_count;
    return done;
}

#define SHERWOOD(mode)                                                                  \
    {                                                                                   \
        .name = "sherwood_" #mode, .is_table = true, .open = mode##_open,               \
        .operations = ((1U << SW_CACHEBENCH_OPERATIONS) - 1) &                          \
                      ~SW_CACHEBENCH_BIT(FIND_PLACES), /* a table gives no addresses */ \
            .close = sherwood_close, .clear = sherwood_clear, .size = sherwood_size,    \
        .capacity = sherwood_capacity, .call = sherwood_call,                           \
    }

const struct sw_cachebench_library sw_cachebench_sherwood_memory = SHERWOOD(memory);
const struct sw_cachebench_library sw_cachebench_sherwood_throughput = SHERWOOD(throughput);
