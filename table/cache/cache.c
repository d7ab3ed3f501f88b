/* SPDX-License-Identifier: MIT
 *
 * cache.c - the cache's interface: checks arguments, tells the time, chooses the driver.
 */
#include "table/cache/cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "table/cache/driver.h"
#include "table/cache/valid.h"

struct sw_cache {
    struct sw_cache_config config;
    uint64_t buckets;
    const struct sw_cache_driver *driver;
    void *driven;
    uint64_t clock;  /* atomic: ticks taken */
    uint64_t rounds; /* atomic: batches of this epoch that used entries */
    uint64_t epoch;  /* changes between enter and leave of a writer */
};

/* Opens the driver `kind` asks for; AUTO tries CUDA first. */
static int open_driver(struct sw_cache *cache, const struct sw_cache_slots *slots, char *reason,
                       size_t reason_size)
{
    const struct sw_cache_driver *cuda = sw_cache_driver_cuda();
    enum sw_backend_kind kind = cache->config.backend;
    if (kind == SW_BACKEND_CUDA && cuda == NULL) {
        snprintf(reason, reason_size, "this build has no CUDA: install nvcc and build again");
        return SW_E_NOTBUILT;
    }
    if (kind != SW_BACKEND_CPU && cuda != NULL) {
        cache->driver = cuda;
        int status = cuda->open(&cache->config, slots, &cache->driven, reason, reason_size);
        if (status != SW_E_NODEVICE || kind == SW_BACKEND_CUDA) {
            return status;
        }
    }
    cache->driver = &sw_cache_driver_cpu;
    return cache->driver->open(&cache->config, slots, &cache->driven, reason, reason_size);
}

int sw_cache_create(const struct sw_cache_config *config, struct sw_cache **out, char *reason,
                    size_t reason_size)
{
    char unread[256];
    *out = NULL;
    reason_size = reason == NULL ? sizeof(unread) : reason_size;
    reason = reason == NULL ? unread : reason;
    int status = sw_cache_config_valid(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    struct sw_cache *cache = calloc(1, sizeof(*cache));
    if (cache == NULL) {
        snprintf(reason, reason_size, "no memory for a cache");
        return SW_E_NOMEM;
    }
    uint64_t least = config->mode == SW_CACHE_MEMORY ? 2 : 1;
    uint64_t buckets = (config->capacity - 1) / SW_CACHE_BUCKET_SLOTS + 1;
    cache->config = *config;
    cache->buckets = buckets < least ? least : buckets;
    cache->config.capacity = cache->buckets * SW_CACHE_BUCKET_SLOTS;
    cache->epoch = config->epoch;
    struct sw_cache_slots slots = {
        .buckets = cache->buckets,
        .seed = config->seed,
        .value_bytes = config->value_bytes,
        .two = config->mode == SW_CACHE_MEMORY,
        .policy = config->policy,
    };
    status = open_driver(cache, &slots, reason, reason_size);
    if (status != SW_OK) {
        free(cache);
        return status;
    }
    cache->config.backend = cache->driver->kind;
    *out = cache;
    return SW_OK;
}

void sw_cache_destroy(struct sw_cache *cache)
{
    if (cache != NULL) {
        cache->driver->close(cache->driven);
        free(cache);
    }
}

void sw_cache_info(const struct sw_cache *cache, struct sw_cache_info *info)
{
    info->config = cache->config;
    info->buckets = cache->buckets;
    info->bytes_reserved = cache->driver->bytes_reserved(cache->driven);
}

/* The time of a batch that uses entries; after enter, so that times are in the order of effect. */
static struct sw_cache_time tell_time(struct sw_cache *cache, uint32_t count)
{
    struct sw_cache_time time = {.epoch = cache->epoch};
    time.tick = __atomic_fetch_add(&cache->clock, count, __ATOMIC_RELAXED);
    time.round = __atomic_fetch_add(&cache->rounds, 1, __ATOMIC_RELAXED);
    time.round = sw_cache_least(time.round, UINT32_MAX);
    return time;
}

int sw_cache_submit(struct sw_cache *cache, const struct sw_cache_batch *batch, void *stream)
{
    int status = sw_cache_batch_valid(&cache->config, batch);
    if (status != SW_OK) {
        return status;
    }
    bool writes = sw_cache_op_writes(batch->op);
    status = cache->driver->enter(cache->driven, writes, stream);
    if (status != SW_OK) {
        return status;
    }
    struct sw_cache_work work = {.batch = *batch};
    if (sw_cache_op_uses(batch->op, batch->touch)) {
        work.time = tell_time(cache, batch->count);
    }
    status = cache->driver->run(cache->driven, &work, stream);
    cache->driver->leave(cache->driven, writes);
    return status;
}

int sw_cache_wait(struct sw_cache *cache, void *stream)
{
    return cache->driver->wait(cache->driven, stream);
}

int sw_cache_release_stream(struct sw_cache *cache, void *stream)
{
    return cache->driver->release(cache->driven, stream);
}

int sw_cache_clear(struct sw_cache *cache, void *stream)
{
    int status = cache->driver->enter(cache->driven, true, stream);
    if (status == SW_OK) {
        status = cache->driver->clear(cache->driven, stream);
        cache->driver->leave(cache->driven, true);
    }
    return status;
}

int sw_cache_export_batch_if(struct sw_cache *cache, const struct sw_cache_export *what,
                             void *stream)
{
    uint64_t capacity = cache->config.capacity;
    if (what->keys == NULL || what->count == NULL || what->first > capacity ||
        what->slots > capacity - what->first) {
        return SW_E_INVALID;
    }
    int status = cache->driver->enter(cache->driven, false, stream);
    if (status == SW_OK) {
        status = cache->driver->list(cache->driven, what, stream);
        cache->driver->leave(cache->driven, false);
    }
    return status;
}

int sw_cache_export_batch(struct sw_cache *cache, const struct sw_cache_export *what, void *stream)
{
    struct sw_cache_export all = *what;
    all.score_min = 0;
    all.score_max = UINT64_MAX;
    return sw_cache_export_batch_if(cache, &all, stream);
}

int sw_cache_set_epoch(struct sw_cache *cache, uint64_t epoch)
{
    enum sw_cache_policy policy = cache->config.policy;
    if (epoch > UINT32_MAX || (policy != SW_CACHE_EPOCH_LRU && policy != SW_CACHE_EPOCH_LFU)) {
        return SW_E_INVALID;
    }
    int status = cache->driver->enter(cache->driven, true, NULL);
    if (status != SW_OK) {
        return status;
    }
    if (epoch < cache->epoch) {
        status = SW_E_INVALID;
    } else if (epoch > cache->epoch) {
        cache->epoch = epoch;
        __atomic_store_n(&cache->rounds, 0, __ATOMIC_RELAXED);
    }
    cache->driver->leave(cache->driven, true);
    return status;
}

int sw_cache_stats(struct sw_cache *cache, struct sw_cache_counters *counters)
{
    return cache->driver->counters(cache->driven, counters);
}

int sw_cache_size(struct sw_cache *cache, uint64_t *size)
{
    struct sw_cache_counters counters;
    int status = cache->driver->counters(cache->driven, &counters);
    if (status == SW_OK) {
        *size = counters.inserted - counters.erased - counters.evicted;
    }
    return status;
}

int sw_cache_check(struct sw_cache *cache, char *violation, size_t violation_size)
{
    struct sw_cache_snapshot snapshot;
    int status = cache->driver->enter(cache->driven, true, NULL);
    if (status != SW_OK) {
        return status;
    }
    status = cache->driver->snapshot(cache->driven, &snapshot);
    if (status == SW_OK) {
        status = sw_cache_check_snapshot(&snapshot, violation, violation_size);
        free(snapshot.memory);
    }
    cache->driver->leave(cache->driven, true);
    return status;
}
