/* SPDX-License-Identifier: MIT
 *
 * streams.c - threads with a stream each on one cache: two that write, two that read. Arrays of the
 * readers are device memory.
 */
#include "tests/gpu/cache/trial.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

struct worker {
    const struct trial_setting *setting;
    struct trial_faults faults;
    struct sw_cache *cache;
    uint32_t value_bytes;
    uint32_t number;
    uint32_t ops;
    uint32_t batches;
    uint64_t key_count;
    struct sw_cache_counters counters;
};

static void add(struct sw_cache_counters *sum, const struct sw_cache_counters *more)
{
    sum->hits += more->hits;
    sum->misses += more->misses;
    sum->inserted += more->inserted;
    sum->erased += more->erased;
    sum->evicted += more->evicted;
    sum->not_admitted += more->not_admitted;
}

/* Inserts, several batches at a time, and now and then erases. */
static void *write_main(void *argument)
{
    struct worker *me = argument;
    struct random random = {me->setting->seed + me->number};
    void *stream = trial_stream(me->setting);
    uint64_t *keys = trial_pinned(me->setting, me->ops * sizeof(*keys));
    uint8_t *values = trial_pinned(me->setting, (size_t)me->ops * me->value_bytes);
    struct sw_cache_counters *counters = trial_pinned(me->setting, sizeof(*counters));
    for (uint32_t b = 0; b < me->batches; b++) {
        for (uint32_t i = 0; i < me->ops; i++) {
            keys[i] = random_below(&random, me->key_count);
            trial_value(values + (size_t)i * me->value_bytes, me->value_bytes, keys[i],
                        b * me->ops + i);
        }
        struct sw_cache_batch batch = {.op =
                                           b % 4 == 3 ? SW_CACHE_ERASE : SW_CACHE_INSERT_OR_ASSIGN,
                                       .count = me->ops,
                                       .keys = keys,
                                       .values = b % 4 == 3 ? NULL : values,
                                       .counters = counters};
        trial_expect(&me->faults, sw_cache_submit(me->cache, &batch, stream), "submit");
        batch.count /= 2;
        trial_expect(&me->faults, sw_cache_submit(me->cache, &batch, stream), "submit");
        trial_expect(&me->faults, sw_cache_wait(me->cache, stream), "wait");
    }
    me->counters = *counters;
    trial_expect(&me->faults, sw_cache_release_stream(me->cache, stream), "release");
    trial_end_stream(me->setting, stream);
    trial_unpin(me->setting, keys);
    trial_unpin(me->setting, values);
    trial_unpin(me->setting, counters);
    return NULL;
}

/* Finds, with and without being a use: every value found must be whole and the key's. */
static void read_once(struct worker *me, struct random *random, uint64_t *keys, uint8_t *values,
                      uint8_t *results, void *stream, bool touch)
{
    size_t bytes = (size_t)me->ops * me->value_bytes;
    for (uint32_t i = 0; i < me->ops; i++) {
        keys[i] = random_below(random, me->key_count);
    }
    memset(values, 0xa5, bytes);
    uint64_t *device_keys = trial_on_device(me->setting, keys, me->ops * sizeof(*keys));
    uint8_t *device_values = trial_on_device(me->setting, values, bytes);
    uint8_t *device_results = trial_on_device(me->setting, results, me->ops);
    struct sw_cache_batch batch = {.op = SW_CACHE_FIND,
                                   .count = me->ops,
                                   .keys = device_keys,
                                   .values_out = device_values,
                                   .results = device_results,
                                   .touch = touch};
    trial_expect(&me->faults, sw_cache_submit(me->cache, &batch, stream), "submit");
    trial_expect(&me->faults, sw_cache_wait(me->cache, stream), "wait");
    trial_from_device(me->setting, keys, device_keys, me->ops * sizeof(*keys));
    trial_from_device(me->setting, values, device_values, bytes);
    trial_from_device(me->setting, results, device_results, me->ops);
    for (uint32_t i = 0; i < me->ops; i++) {
        const uint8_t *value = values + (size_t)i * me->value_bytes;
        me->counters.hits += results[i] == SW_CACHE_HIT;
        me->counters.misses += results[i] == SW_CACHE_MISS;
        if (results[i] == SW_CACHE_HIT && !trial_value_checks(value, me->value_bytes, keys[i])) {
            trial_fault(&me->faults, "a torn or foreign value of key %llu",
                        (unsigned long long)keys[i]);
        }
    }
}

static void *read_main(void *argument)
{
    struct worker *me = argument;
    struct random random = {me->setting->seed + me->number};
    struct sw_cache_info info;
    sw_cache_info(me->cache, &info);
    void *stream = trial_stream(me->setting);
    uint64_t *keys = malloc(me->ops * sizeof(*keys));
    uint8_t *values = malloc((size_t)me->ops * me->value_bytes);
    uint8_t *results = calloc(me->ops, 1);
    for (uint32_t b = 0; b < me->batches; b++) {
        read_once(me, &random, keys, values, results, stream,
                  b % 2 == 1 && info.config.policy != SW_CACHE_CUSTOM);
    }
    trial_expect(&me->faults, sw_cache_release_stream(me->cache, stream), "release");
    trial_end_stream(me->setting, stream);
    free(keys);
    free(values);
    free(results);
    return NULL;
}

uint64_t case_streams(const struct trial_setting *setting, const struct sw_cache_config *config)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    struct sw_cache_config mine = *config;
    struct sw_cache_info info;
    struct sw_cache_counters sum = {0};
    struct sw_cache_counters total = {0};
    if (config->policy == SW_CACHE_CUSTOM) {
        mine.policy = SW_CACHE_LRU;
    }
    mine.capacity = 1024 * setting->scale;
    struct sw_cache *cache = trial_cache(setting, &mine, &info);
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t] = (struct worker){
            .setting = setting,
            .faults.name = "streams",
            .cache = cache,
            .value_bytes = mine.value_bytes,
            .number = t,
            .ops = 700 * setting->scale,
            .batches = 12,
            .key_count = 2 * mine.capacity,
        };
        if (pthread_create(&threads[t], NULL, t % 2 == 0 ? write_main : read_main, &workers[t]) !=
            0) {
            printf("no thread\n");
            exit(2);
        }
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        add(&sum, &workers[t].counters);
    }
    trial_audit(&workers[0].faults, cache);
    trial_expect(&workers[0].faults, sw_cache_stats(cache, &total), "stats");
    if (memcmp(&sum, &total, sizeof(sum)) != 0) {
        trial_fault(&workers[0].faults, "the cache's counters are not the sum of the batches'");
    }
    sw_cache_destroy(cache);
    return workers[0].faults.count + workers[1].faults.count + workers[2].faults.count +
           workers[3].faults.count;
}
