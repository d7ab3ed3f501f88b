/* SPDX-License-Identifier: MIT
 *
 * exact.c - cases in which every answer is determined: the cache against the model.
 */
#include "tests/gpu/cache/trial.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cache_batches.h"
#include "tests/support/cache_model.h"

struct exact {
    const struct trial_setting *setting;
    struct trial_faults faults;
    struct sw_cache *cache;
    struct cache_model *model;
    struct sw_cache_info info;
    struct cache_draw draw;
    struct cache_arrays in;
    struct cache_arrays got;
    struct cache_arrays expected;
    void *stream;
};

static void new_arrays(const struct trial_setting *setting, struct cache_arrays *arrays,
                       uint32_t ops_max, uint32_t value_bytes)
{
    void *memory = trial_pinned(setting, cache_arrays_bytes(ops_max, value_bytes));
    cache_arrays_cut(arrays, memory, ops_max, value_bytes);
}

static void open_exact(struct exact *exact, const struct trial_setting *setting,
                       const struct sw_cache_config *config, uint32_t ops_max, const char *name)
{
    memset(exact, 0, sizeof(*exact));
    exact->setting = setting;
    exact->faults.name = name;
    exact->cache = trial_cache(setting, config, &exact->info);
    exact->model = cache_model_create(&exact->info);
    exact->stream = trial_stream(setting);
    exact->draw = (struct cache_draw){
        .random.state = setting->seed,
        .config = exact->info.config,
        .ops_max = ops_max,
    };
    new_arrays(setting, &exact->in, ops_max, config->value_bytes);
    new_arrays(setting, &exact->got, ops_max, config->value_bytes);
    new_arrays(setting, &exact->expected, ops_max, config->value_bytes);
}

static uint64_t close_exact(struct exact *exact)
{
    sw_cache_destroy(exact->cache);
    cache_model_destroy(exact->model);
    trial_end_stream(exact->setting, exact->stream);
    trial_unpin(exact->setting, exact->in.memory);
    trial_unpin(exact->setting, exact->got.memory);
    trial_unpin(exact->setting, exact->expected.memory);
    return exact->faults.count;
}

/* Every entry, its score and its value. */
static void compare_contents(struct exact *exact)
{
    struct trial_contents *contents = trial_contents(exact->setting, exact->cache);
    uint32_t bytes = exact->info.config.value_bytes;
    if (contents->count != cache_model_size(exact->model)) {
        trial_fault(&exact->faults, "%llu entries, not %llu", (unsigned long long)contents->count,
                    (unsigned long long)cache_model_size(exact->model));
    }
    for (uint64_t i = 0; i < contents->count; i++) {
        uint64_t score = 0;
        const void *value = cache_model_find(exact->model, contents->keys[i], &score);
        if (value == NULL || score != contents->scores[i] ||
            memcmp(value, contents->values + i * bytes, bytes) != 0) {
            trial_fault(&exact->faults, "key %llu: present %d, score %llu not %llu, or the value",
                        (unsigned long long)contents->keys[i], value != NULL,
                        (unsigned long long)contents->scores[i], (unsigned long long)score);
        }
    }
    trial_contents_free(contents);
}

/* Which slot an entry takes is not compared, so neither is how a newcomer came in where nobody had
 * to leave. Places are compared as far as they are NULL. */
static void compare_answers(struct exact *exact, const struct sw_cache_batch *batch)
{
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        wrong += exact->got.results[i] != exact->expected.results[i];
        if (batch->places != NULL) {
            wrong += (exact->got.places[i] == NULL) != (exact->expected.places[i] == NULL);
        }
    }
    if (batch->places != NULL) {
        memset(exact->got.places, 0, exact->draw.ops_max * sizeof(void *));
        memset(exact->expected.places, 0, exact->draw.ops_max * sizeof(void *));
    }
    if (wrong > 0) {
        trial_fault(&exact->faults, "op %d: %llu of %u results are wrong", (int)batch->op,
                    (unsigned long long)wrong, batch->count);
    } else if (memcmp(exact->got.memory, exact->expected.memory, exact->got.bytes) != 0) {
        trial_fault(&exact->faults, "op %d of %u: other outputs than the model's", (int)batch->op,
                    batch->count);
    }
}

static void step(struct exact *exact, enum sw_cache_op op)
{
    struct sw_cache_batch batch;
    bool all = random_below(&exact->draw.random, 2) == 0;
    cache_draw_batch(&exact->draw, &exact->in, &batch, op);
    struct sw_cache_batch mirror = batch;
    cache_aim(&batch, &exact->got, all);
    cache_aim(&mirror, &exact->expected, all);
    trial_expect(&exact->faults, sw_cache_submit(exact->cache, &batch, exact->stream), "submit");
    trial_expect(&exact->faults, sw_cache_wait(exact->cache, exact->stream), "wait");
    cache_model_apply(exact->model, &mirror);
    compare_answers(exact, &batch);
}

static void clear(struct exact *exact)
{
    uint64_t size = 1;
    trial_expect(&exact->faults, sw_cache_clear(exact->cache, exact->stream), "clear");
    trial_expect(&exact->faults, sw_cache_size(exact->cache, &size), "size");
    cache_model_clear(exact->model);
    if (size != 0) {
        trial_fault(&exact->faults, "%llu entries after clear", (unsigned long long)size);
    }
}

static void run(struct exact *exact, uint32_t batches, uint32_t between_audits)
{
    enum sw_cache_policy policy = exact->info.config.policy;
    bool epochs = policy == SW_CACHE_EPOCH_LRU || policy == SW_CACHE_EPOCH_LFU;
    for (uint32_t i = 0; i < batches && exact->faults.count == 0; i++) {
        enum sw_cache_op op =
            (enum sw_cache_op)random_below(&exact->draw.random, SW_CACHE_OP_COUNT);
        if (random_below(&exact->draw.random, 2) == 0) {
            op = random_below(&exact->draw.random, 2) == 0 ? SW_CACHE_INSERT_OR_ASSIGN
                                                           : SW_CACHE_INSERT_AND_EVICT;
        }
        step(exact, op);
        if (epochs && i % 20 == 19) {
            trial_expect(&exact->faults, sw_cache_set_epoch(exact->cache, i), "set_epoch");
            cache_model_set_epoch(exact->model, i);
        }
        if (i == batches / 2) {
            clear(exact);
        }
        if (i % between_audits == between_audits - 1 || i + 1 == batches) {
            trial_audit(&exact->faults, exact->cache);
            compare_contents(exact);
        }
    }
}

/* Distinct keys in a batch and room for all keys there are: any order gives the same. */
uint64_t case_exact(const struct trial_setting *setting, const struct sw_cache_config *config)
{
    struct exact exact;
    struct sw_cache_config mine = *config;
    uint32_t ops_max = 600 * setting->scale;
    mine.capacity = 8 * ops_max;
    open_exact(&exact, setting, &mine, ops_max, "exact");
    exact.draw.distinct = true;
    exact.draw.key_count = 3 * ops_max;
    run(&exact, 40, 5);
    return close_exact(&exact);
}

/* Batches of one operation, which have but one order, on a small cache that is full. */
uint64_t case_one_by_one(const struct trial_setting *setting, const struct sw_cache_config *config)
{
    struct exact exact;
    struct sw_cache_config mine = *config;
    mine.capacity = 512;
    open_exact(&exact, setting, &mine, 1, "one by one");
    exact.draw.key_count = 2 * exact.info.config.capacity;
    run(&exact, 800 * setting->scale, 100);
    struct sw_cache_counters counters = {0};
    trial_expect(&exact.faults, sw_cache_stats(exact.cache, &counters), "stats");
    if (setting->scale > 2 && counters.evicted == 0) {
        trial_fault(&exact.faults, "nothing was evicted");
    }
    return close_exact(&exact);
}
