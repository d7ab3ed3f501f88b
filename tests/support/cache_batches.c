/* SPDX-License-Identifier: MIT
 *
 * cache_batches.c - random batches of a cache.
 */
#include "tests/support/cache_batches.h"

#include <string.h>

/* Takes `bytes` of the memory; with none, only counts. */
static void *take(struct cache_arrays *arrays, size_t bytes)
{
    void *part = arrays->memory == NULL ? NULL : arrays->memory + arrays->bytes;
    arrays->bytes += (bytes + 15) / 16 * 16;
    return part;
}

void cache_arrays_cut(struct cache_arrays *arrays, void *memory, uint32_t ops_max,
                      uint32_t value_bytes)
{
    size_t numbers = ops_max * sizeof(uint64_t);
    size_t values = (size_t)ops_max * value_bytes;
    memset(arrays, 0, sizeof(*arrays));
    arrays->memory = memory;
    arrays->keys = take(arrays, numbers);
    arrays->scores = take(arrays, numbers);
    arrays->scores_out = take(arrays, numbers);
    arrays->evicted_keys = take(arrays, numbers);
    arrays->evicted_scores = take(arrays, numbers);
    arrays->evicted_count = take(arrays, sizeof(uint64_t));
    arrays->counters = take(arrays, sizeof(*arrays->counters));
    arrays->places = take(arrays, ops_max * sizeof(void *));
    arrays->values = take(arrays, values);
    arrays->values_out = take(arrays, values);
    arrays->evicted_values = take(arrays, values);
    arrays->accumulate = take(arrays, ops_max);
    arrays->results = take(arrays, ops_max);
}

size_t cache_arrays_bytes(uint32_t ops_max, uint32_t value_bytes)
{
    struct cache_arrays arrays;
    cache_arrays_cut(&arrays, NULL, ops_max, value_bytes);
    return arrays.bytes;
}

static uint64_t draw_key(struct cache_draw *draw)
{
    uint64_t number = random_below(&draw->random, draw->key_count);
    return number < 2 ? UINT64_MAX - number : number - 2;
}

static uint64_t draw_score(struct cache_draw *draw)
{
    switch (random_below(&draw->random, 8)) {
    case 0:
        return random_next(&draw->random);
    case 1:
        return random_below(&draw->random, 4);
    case 2:
        return UINT64_MAX - random_below(&draw->random, 2);
    default:
        return random_below(&draw->random, 100000);
    }
}

/* Distinct keys are consecutive numbers from a random one on. */
static void draw_keys(struct cache_draw *draw, struct cache_arrays *in, uint32_t count)
{
    uint64_t first = random_below(&draw->random, draw->key_count - draw->ops_max);
    for (uint32_t i = 0; i < count; i++) {
        if (draw->distinct) {
            in->keys[i] = first + i < 2 ? UINT64_MAX - (first + i) : first + i - 2;
        } else if (i > 0 && random_below(&draw->random, 10) == 0) {
            in->keys[i] = in->keys[random_below(&draw->random, i)];
        } else {
            in->keys[i] = draw_key(draw);
        }
    }
}

static bool op_reads(enum sw_cache_op op)
{
    return op == SW_CACHE_FIND || op == SW_CACHE_FIND_PLACES || op == SW_CACHE_CONTAINS;
}

static bool op_uses(enum sw_cache_op op)
{
    return !op_reads(op) && op != SW_CACHE_ERASE && op != SW_CACHE_ASSIGN_VALUES;
}

void cache_draw_batch(struct cache_draw *draw, struct cache_arrays *in,
                      struct sw_cache_batch *batch, enum sw_cache_op op)
{
    enum sw_cache_policy policy = draw->config.policy;
    bool timed = policy == SW_CACHE_LRU || policy == SW_CACHE_EPOCH_LRU;
    memset(batch, 0, sizeof(*batch));
    batch->op = op;
    batch->count = (uint32_t)random_below(&draw->random, draw->ops_max + 1);
    draw_keys(draw, in, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        in->scores[i] = draw_score(draw);
        in->accumulate[i] = (uint8_t)random_below(&draw->random, 2);
    }
    size_t words = (size_t)batch->count * draw->config.value_bytes / 4;
    for (size_t i = 0; i < words; i++) {
        float number = (float)random_below(&draw->random, 1000);
        memcpy(in->values + 4 * i, &number, 4);
    }
    batch->keys = in->keys;
    batch->touch = op_reads(op) && policy != SW_CACHE_CUSTOM && random_below(&draw->random, 2) == 0;
    if (op_uses(op) || batch->touch) {
        bool given = policy == SW_CACHE_CUSTOM || random_below(&draw->random, 2) == 0;
        batch->scores = given && !timed ? in->scores : NULL;
    }
    bool values = op != SW_CACHE_ERASE && op != SW_CACHE_ASSIGN_SCORES && !op_reads(op);
    batch->values = values ? in->values : NULL;
    if (op == SW_CACHE_ACCUM_OR_ASSIGN) {
        batch->accumulate = random_below(&draw->random, 2) == 0 ? in->accumulate : NULL;
        batch->element = (enum sw_cache_element)random_below(
            &draw->random, draw->config.value_bytes % 8 == 0 ? 3 : 2);
    }
}

void cache_aim(struct sw_cache_batch *batch, const struct cache_arrays *out, bool all)
{
    bool finds = batch->op == SW_CACHE_FIND || batch->op == SW_CACHE_FIND_OR_INSERT;
    memset(out->memory, 0xa5, out->bytes);
    memset(out->counters, 0, sizeof(*out->counters));
    batch->values_out = finds ? out->values_out : NULL;
    batch->places = batch->op == SW_CACHE_FIND_PLACES ? out->places : NULL;
    batch->scores_out = all && (finds || batch->places != NULL) ? out->scores_out : NULL;
    batch->results = out->results;
    batch->counters = out->counters;
    if (batch->op == SW_CACHE_INSERT_AND_EVICT) {
        batch->evicted_keys = out->evicted_keys;
        batch->evicted_count = out->evicted_count;
        batch->evicted_values = all ? out->evicted_values : NULL;
        batch->evicted_scores = all ? out->evicted_scores : NULL;
    }
}
