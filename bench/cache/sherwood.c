/* SPDX-License-Identifier: MIT
 *
 * sherwood.c - Sherwood's cache, in either mode, as a library of the cache study.
 */
#include <stdio.h>

#include "bench/cache/library.h"
#include "table/cache/cache.h"

#define STREAM NULL /* the study has one call on its way at a time */

static void *sherwood_open(const struct sw_cachebench_wanted *wanted, enum sw_cache_mode mode,
                           char *reason, size_t reason_size)
{
    struct sw_cache *cache = NULL;
    struct sw_cache_config config = {
        .backend = wanted->on_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA,
        .device = wanted->device,
        .capacity = wanted->capacity,
        .value_bytes = wanted->dim * (uint32_t)sizeof(float),
        .mode = mode,
        .policy = wanted->custom ? SW_CACHE_CUSTOM : SW_CACHE_LRU,
        .seed = 0x5348455257ULL,
    };
    return sw_cache_create(&config, &cache, reason, reason_size) == SW_OK ? cache : NULL;
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

static void sherwood_close(void *cache)
{
    sw_cache_destroy(cache);
}

static bool succeeded(int status, const char *what)
{
    if (status != SW_OK) {
        fprintf(stderr, "cache: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool sherwood_clear(void *cache)
{
    return succeeded(sw_cache_clear(cache, STREAM), "clear") &&
           succeeded(sw_cache_wait(cache, STREAM), "clear");
}

static bool sherwood_size(void *cache, uint64_t *entries)
{
    return succeeded(sw_cache_size(cache, entries), "size");
}

static uint64_t sherwood_capacity(void *cache)
{
    struct sw_cache_info info;
    sw_cache_info(cache, &info);
    return info.config.capacity;
}

/* The arrays that an operation is about; the others stay NULL. */
static void choose_arrays(enum sw_cachebench_operation operation,
                          const struct sw_cachebench_arrays *arrays, struct sw_cache_batch *batch)
{
    static const enum sw_cache_op ops[SW_CACHEBENCH_OPERATIONS] = {
        [SW_CACHEBENCH_FIND] = SW_CACHE_FIND,
        [SW_CACHEBENCH_FIND_PLACES] = SW_CACHE_FIND_PLACES,
        [SW_CACHEBENCH_CONTAINS] = SW_CACHE_CONTAINS,
        [SW_CACHEBENCH_INSERT_OR_ASSIGN] = SW_CACHE_INSERT_OR_ASSIGN,
        [SW_CACHEBENCH_INSERT_AND_EVICT] = SW_CACHE_INSERT_AND_EVICT,
        [SW_CACHEBENCH_FIND_OR_INSERT] = SW_CACHE_FIND_OR_INSERT,
        [SW_CACHEBENCH_ASSIGN] = SW_CACHE_ASSIGN,
        [SW_CACHEBENCH_ACCUM_OR_ASSIGN] = SW_CACHE_ACCUM_OR_ASSIGN,
        [SW_CACHEBENCH_ERASE] = SW_CACHE_ERASE,
    };
    bool is_look_up = operation == SW_CACHEBENCH_FIND || operation == SW_CACHEBENCH_FIND_PLACES ||
                      operation == SW_CACHEBENCH_CONTAINS;
    batch->op = ops[operation];
    batch->keys = arrays->keys;
    if (is_look_up) {
        batch->results = arrays->results;
    } else if (operation != SW_CACHEBENCH_ERASE) {
        batch->values = arrays->values;
        batch->scores = arrays->scores;
    }
    if (operation == SW_CACHEBENCH_FIND || operation == SW_CACHEBENCH_FIND_OR_INSERT) {
        batch->values_out = arrays->values_out;
    }
    if (operation == SW_CACHEBENCH_FIND_PLACES) {
        batch->places = arrays->places;
    }
    if (operation == SW_CACHEBENCH_ACCUM_OR_ASSIGN) {
        batch->accumulate = arrays->accumulate;
        batch->element = SW_CACHE_F32;
    }
    if (operation == SW_CACHEBENCH_INSERT_AND_EVICT) {
        batch->evicted_keys = arrays->evicted_keys;
        batch->evicted_values = arrays->evicted_values;
        batch->evicted_scores = arrays->evicted_scores;
        batch->evicted_count = arrays->evicted_count;
    }
}

static bool sherwood_call(void *cache, enum sw_cachebench_operation operation,
                          const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    struct sw_cache_batch batch = {.count = (uint32_t)count};
    choose_arrays(operation, arrays, &batch);
    return succeeded(sw_cache_submit(cache, &batch, STREAM), "submit") &&
           succeeded(sw_cache_wait(cache, STREAM), "wait");
}

#define SHERWOOD(mode)                                                                 \
    {                                                                                  \
        .name = "sherwood_" #mode, .operations = (1U << SW_CACHEBENCH_OPERATIONS) - 1, \
        .open = mode##_open, .close = sherwood_close, .clear = sherwood_clear,         \
        .size = sherwood_size, .capacity = sherwood_capacity, .call = sherwood_call,   \
    }

const struct sw_cachebench_library sw_cachebench_sherwood_memory = SHERWOOD(memory);
const struct sw_cachebench_library sw_cachebench_sherwood_throughput = SHERWOOD(throughput);
