/* SPDX-License-Identifier: MIT
 *
 * test_cache_model.c - random batches of every operation against the model: every answer, every
 * entry, every slot, and the scanner after every batch. Modes, policies and value sizes all.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/cache/slots.h"
#include "tests/support/cache_batches.h"
#include "tests/support/cache_model.h"

TestSuite(cache_model, .timeout = 120);

#define OPS_MAX 300

struct trial {
    struct sw_cache *cache;
    struct cache_model *model;
    struct sw_cache_info info;
    struct cache_draw draw;
    uint64_t seed;
    uint64_t batches;
    struct sw_cache_counters total;
};

static void begin(struct trial *trial, struct sw_cache_config config, uint64_t seed)
{
    char reason[256];
    memset(trial, 0, sizeof(*trial));
    config.backend = SW_BACKEND_CPU;
    config.seed = seed * 7919;
    trial->seed = seed;
    int status = sw_cache_create(&config, &trial->cache, reason, sizeof(reason));
    cr_assert_eq(status, SW_OK, "%s", reason);
    sw_cache_info(trial->cache, &trial->info);
    trial->model = cache_model_create(&trial->info);
    trial->draw = (struct cache_draw){
        .random = random_of(seed),
        .config = config,
        .ops_max = OPS_MAX,
        .key_count = OPS_MAX + trial->info.config.capacity * 2,
    };
}

static void end(struct trial *trial)
{
    sw_cache_destroy(trial->cache);
    cache_model_destroy(trial->model);
}

static void arrays_new(struct cache_arrays *arrays, uint32_t value_bytes)
{
    void *memory = calloc(1, cache_arrays_bytes(OPS_MAX, value_bytes));
    cr_assert_neq(memory, NULL);
    cache_arrays_cut(arrays, memory, OPS_MAX, value_bytes);
}

/* A place must be NULL where the model's is, and otherwise point at the value the model has. */
static void compare_places(struct trial *trial, const struct sw_cache_batch *batch,
                           struct cache_arrays *got, struct cache_arrays *expected)
{
    for (uint32_t i = 0; batch->places != NULL && i < batch->count; i++) {
        uint64_t score;
        const void *value = cache_model_find(trial->model, batch->keys[i], &score);
        cr_assert_eq(got->places[i] == NULL, expected->places[i] == NULL, "seed %llu",
                     (unsigned long long)trial->seed);
        if (value != NULL) {
            cr_assert_arr_eq(got->places[i], value, trial->info.config.value_bytes);
        }
    }
    memset(got->places, 0, OPS_MAX * sizeof(void *));
    memset(expected->places, 0, OPS_MAX * sizeof(void *));
}

/* What both hold, slot by slot. */
static void compare_slots(struct trial *trial)
{
    uint64_t capacity = trial->info.config.capacity;
    uint32_t bytes = trial->info.config.value_bytes;
    uint64_t *keys = malloc(capacity * sizeof(*keys));
    uint64_t *scores = malloc(capacity * sizeof(*scores));
    uint8_t *values = malloc(capacity * bytes);
    uint64_t count = 0;
    struct sw_cache_export what = {
        .slots = capacity, .keys = keys, .scores = scores, .values = values, .count = &count};
    cr_assert_eq(sw_cache_export_batch(trial->cache, &what, NULL), SW_OK);
    cr_assert_eq(count, cache_model_size(trial->model));
    uint64_t at = 0;
    for (uint64_t slot = 0; slot < capacity; slot++) {
        uint64_t key, score;
        const void *value;
        if (!cache_model_slot(trial->model, slot, &key, &value, &score)) {
            continue;
        }
        cr_assert(keys[at] == key && scores[at] == score &&
                      memcmp(values + at * bytes, value, bytes) == 0,
                  "seed %llu, batch %llu, slot %llu: key %llu score %llu, not key %llu score %llu",
                  (unsigned long long)trial->seed, (unsigned long long)trial->batches,
                  (unsigned long long)slot, (unsigned long long)keys[at],
                  (unsigned long long)scores[at], (unsigned long long)key,
                  (unsigned long long)score);
        at++;
    }
    free(keys);
    free(scores);
    free(values);
}

static void add_counters(struct sw_cache_counters *sum, const struct sw_cache_counters *more)
{
    sum->hits += more->hits;
    sum->misses += more->misses;
    sum->inserted += more->inserted;
    sum->erased += more->erased;
    sum->evicted += more->evicted;
    sum->not_admitted += more->not_admitted;
}

static void check(struct trial *trial)
{
    char violation[256];
    struct sw_cache_counters counters;
    uint64_t size;
    int status = sw_cache_check(trial->cache, violation, sizeof(violation));
    cr_assert_eq(status, SW_OK, "seed %llu, batch %llu: %s", (unsigned long long)trial->seed,
                 (unsigned long long)trial->batches, violation);
    cr_assert_eq(sw_cache_size(trial->cache, &size), SW_OK);
    cr_assert_eq(size, cache_model_size(trial->model));
    cr_assert_eq(sw_cache_stats(trial->cache, &counters), SW_OK);
    cr_assert_arr_eq(&counters, &trial->total, sizeof(counters));
}

/* One random batch on both. */
static void step(struct trial *trial, enum sw_cache_op op, struct cache_arrays *in,
                 struct cache_arrays *got, struct cache_arrays *expected)
{
    struct sw_cache_batch batch;
    cache_draw_batch(&trial->draw, in, &batch, op);
    bool all = random_below(&trial->draw.random, 2) == 0;
    struct sw_cache_batch mirror = batch;
    cache_aim(&batch, got, all);
    cache_aim(&mirror, expected, all);
    trial->batches++;
    cr_assert_eq(sw_cache_submit(trial->cache, &batch, NULL), SW_OK, "op %d", (int)op);
    cache_model_apply(trial->model, &mirror);
    compare_places(trial, &batch, got, expected);
    for (uint32_t i = 0; i < batch.count; i++) {
        cr_assert_eq(got->results[i], expected->results[i],
                     "seed %llu, batch %llu, op %d, %u: result %u, not %u",
                     (unsigned long long)trial->seed, (unsigned long long)trial->batches, (int)op,
                     i, got->results[i], expected->results[i]);
    }
    cr_assert_arr_eq(got->memory, expected->memory, got->bytes, "seed %llu, batch %llu, op %d",
                     (unsigned long long)trial->seed, (unsigned long long)trial->batches, (int)op);
    add_counters(&trial->total, expected->counters);
    check(trial);
}

static void clear(struct trial *trial)
{
    trial->total.erased += cache_model_size(trial->model);
    cache_model_clear(trial->model);
    cr_assert_eq(sw_cache_clear(trial->cache, NULL), SW_OK);
    check(trial);
}

static void advance_epoch(struct trial *trial, uint64_t epoch)
{
    enum sw_cache_policy policy = trial->info.config.policy;
    bool epochs = policy == SW_CACHE_EPOCH_LRU || policy == SW_CACHE_EPOCH_LFU;
    cr_assert_eq(sw_cache_set_epoch(trial->cache, epoch), epochs ? SW_OK : SW_E_INVALID);
    if (epochs) {
        cache_model_set_epoch(trial->model, epoch);
    }
}

/* Inserts are as frequent as all else, so that the cache is full most of the time. */
static void run(struct sw_cache_config config, uint64_t seed, uint64_t batches)
{
    struct trial trial;
    struct cache_arrays arrays[3];
    begin(&trial, config, seed);
    for (int i = 0; i < 3; i++) {
        arrays_new(&arrays[i], config.value_bytes);
    }
    for (uint64_t i = 0; i < batches; i++) {
        enum sw_cache_op op = (enum sw_cache_op)random_below(&trial.draw.random, SW_CACHE_OP_COUNT);
        if (random_below(&trial.draw.random, 2) == 0) {
            op = random_below(&trial.draw.random, 2) == 0 ? SW_CACHE_INSERT_OR_ASSIGN
                                                          : SW_CACHE_INSERT_AND_EVICT;
        }
        step(&trial, op, arrays, arrays + 1, arrays + 2);
        if (i % 16 == 15) {
            compare_slots(&trial);
        }
        if (i % 50 == 49) {
            advance_epoch(&trial, config.epoch + i);
        }
        if (i == batches / 2) {
            clear(&trial);
        }
    }
    compare_slots(&trial);
    cr_assert_gt(trial.total.evicted, 0, "seed %llu: nothing was evicted",
                 (unsigned long long)seed);
    end(&trial);
    for (int i = 0; i < 3; i++) {
        free(arrays[i].memory);
    }
}

static void run_policies(enum sw_cache_mode mode, uint64_t capacity, uint32_t value_bytes)
{
    static const uint64_t seeds[] = {1, 2};
    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
        for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
            bool epochs = policy == SW_CACHE_EPOCH_LRU || policy == SW_CACHE_EPOCH_LFU;
            struct sw_cache_config config = {
                .capacity = capacity,
                .value_bytes = value_bytes,
                .mode = mode,
                .policy = (enum sw_cache_policy)policy,
                .epoch = epochs ? 3 : 0,
            };
            run(config, seeds[s] * 100 + (uint64_t)policy, 160);
        }
    }
}

Test(cache_model, two_buckets)
{
    run_policies(SW_CACHE_MEMORY, 1024, 16);
}

Test(cache_model, two_buckets_at_least)
{
    run_policies(SW_CACHE_MEMORY, 1, 4);
}

Test(cache_model, one_bucket)
{
    run_policies(SW_CACHE_THROUGHPUT, 1000, 8);
}

Test(cache_model, one_bucket_in_all)
{
    run_policies(SW_CACHE_THROUGHPUT, 128, 12);
}

Test(cache_model, values_behind_their_entries)
{
    run_policies(SW_CACHE_THROUGHPUT, 640, SW_CACHE_VALUE_TOGETHER_MAX);
}

Test(cache_model, long_values)
{
    run_policies(SW_CACHE_MEMORY, 512, SW_CACHE_VALUE_BYTES_MAX);
}
