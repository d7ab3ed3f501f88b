/* SPDX-License-Identifier: MIT
 *
 * test_cache_valid.c - what the cache refuses, and that nothing happened then.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/cache/cache.h"

static struct sw_cache_config small(enum sw_cache_policy policy)
{
    return (struct sw_cache_config){
        .backend = SW_BACKEND_CPU, .capacity = 256, .value_bytes = 12, .policy = policy};
}

static struct sw_cache *create(enum sw_cache_policy policy)
{
    struct sw_cache_config config = small(policy);
    struct sw_cache *cache;
    char reason[256];
    cr_assert_eq(sw_cache_create(&config, &cache, reason, sizeof(reason)), SW_OK, "%s", reason);
    return cache;
}

static void expect_refused(const struct sw_cache_config *config)
{
    struct sw_cache *cache = (struct sw_cache *)1;
    char reason[256] = "";
    cr_assert_eq(sw_cache_create(config, &cache, reason, sizeof(reason)), SW_E_INVALID);
    cr_assert_eq(cache, NULL);
    cr_assert_neq(reason[0], '\0');
    cr_assert_eq(sw_cache_create(config, &cache, NULL, 0), SW_E_INVALID);
}

Test(cache_valid, configurations)
{
    struct sw_cache_config config = small(SW_CACHE_LRU);
    static const uint32_t sizes[] = {0, 2, 6, 1028};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        config.value_bytes = sizes[i];
        expect_refused(&config);
    }
    config = small(SW_CACHE_LRU);
    config.capacity = 0;
    expect_refused(&config);
    config = small(SW_CACHE_LRU);
    config.mode = (enum sw_cache_mode)2;
    expect_refused(&config);
    config = small(SW_CACHE_LRU);
    config.writing = (enum sw_cache_writing)4;
    expect_refused(&config);
    config = small((enum sw_cache_policy)5);
    expect_refused(&config);
    config = small(SW_CACHE_LRU);
    config.epoch = 1;
    expect_refused(&config);
    config = small(SW_CACHE_EPOCH_LFU);
    config.epoch = 1ULL << 32;
    expect_refused(&config);
}

Test(cache_valid, sizes_are_whole_buckets)
{
    struct sw_cache_config config = small(SW_CACHE_LRU);
    struct sw_cache *cache;
    struct sw_cache_info info;
    config.capacity = 1;
    cr_assert_eq(sw_cache_create(&config, &cache, NULL, 0), SW_OK);
    sw_cache_info(cache, &info);
    cr_assert_eq(info.buckets, 2);
    cr_assert_eq(info.config.capacity, 256);
    cr_assert_eq(info.config.backend, SW_BACKEND_CPU);
    sw_cache_destroy(cache);
    config.mode = SW_CACHE_THROUGHPUT;
    config.capacity = 129;
    cr_assert_eq(sw_cache_create(&config, &cache, NULL, 0), SW_OK);
    sw_cache_info(cache, &info);
    cr_assert_eq(info.buckets, 2);
    sw_cache_destroy(cache);
}

struct arrays {
    uint64_t keys[1];
    uint64_t scores[1];
    uint32_t values[6];
    uint32_t values_out[6];
    void *places[1];
    uint64_t evicted_keys[1];
    uint64_t evicted_count;
    uint8_t accumulate[1];
};

/* A batch that is right, for a policy that takes scores or not. */
static struct sw_cache_batch right(struct arrays *arrays, enum sw_cache_op op, bool scores)
{
    struct sw_cache_batch batch = {.op = op, .count = 1, .keys = arrays->keys};
    bool reads = op == SW_CACHE_FIND || op == SW_CACHE_FIND_PLACES || op == SW_CACHE_CONTAINS;
    if (!reads && op != SW_CACHE_ERASE && op != SW_CACHE_ASSIGN_SCORES) {
        batch.values = arrays->values;
    }
    if (scores && !reads && op != SW_CACHE_ERASE && op != SW_CACHE_ASSIGN_VALUES) {
        batch.scores = arrays->scores;
    }
    if (op == SW_CACHE_FIND || op == SW_CACHE_FIND_OR_INSERT) {
        batch.values_out = arrays->values_out;
    }
    if (op == SW_CACHE_FIND_PLACES) {
        batch.places = arrays->places;
    }
    if (op == SW_CACHE_INSERT_AND_EVICT) {
        batch.evicted_keys = arrays->evicted_keys;
        batch.evicted_count = &arrays->evicted_count;
    }
    return batch;
}

static void expect(struct sw_cache *cache, struct sw_cache_batch batch, int status)
{
    cr_assert_eq(sw_cache_submit(cache, &batch, NULL), status, "op %d", (int)batch.op);
}

/* Every operation, right, then without and with arrays it must or must not have. */
Test(cache_valid, arrays)
{
    struct sw_cache *cache = create(SW_CACHE_LFU);
    struct arrays arrays = {.keys = {7}, .scores = {1}};
    for (int op = 0; op < SW_CACHE_OP_COUNT; op++) {
        struct sw_cache_batch good = right(&arrays, (enum sw_cache_op)op, false);
        struct sw_cache_batch bad = good;
        expect(cache, good, SW_OK);
        bad.keys = NULL;
        expect(cache, bad, SW_E_INVALID);
        bad = good;
        bad.values = good.values == NULL ? arrays.values : NULL;
        expect(cache, bad, SW_E_INVALID);
        bad = good;
        bad.values_out = good.values_out == NULL ? arrays.values_out : NULL;
        expect(cache, bad, SW_E_INVALID);
        bad = good;
        bad.places = good.places == NULL ? arrays.places : NULL;
        expect(cache, bad, SW_E_INVALID);
        bad = good;
        bad.evicted_keys = good.evicted_keys == NULL ? arrays.evicted_keys : NULL;
        expect(cache, bad, SW_E_INVALID);
        bad = good;
        bad.count = SW_CACHE_BATCH_MAX + 1;
        expect(cache, bad, SW_E_INVALID);
        bad = good;
        bad.accumulate = arrays.accumulate;
        expect(cache, bad, op == SW_CACHE_ACCUM_OR_ASSIGN ? SW_OK : SW_E_INVALID);
        bad = good;
        bad.element = SW_CACHE_U64; /* 12 bytes are no whole number of these */
        expect(cache, bad, SW_E_INVALID);
    }
    struct sw_cache_batch none = {.op = SW_CACHE_OP_COUNT, .count = 1, .keys = arrays.keys};
    expect(cache, none, SW_E_INVALID);
    sw_cache_destroy(cache);
}

Test(cache_valid, scores)
{
    struct arrays arrays = {.keys = {7}, .scores = {1}};
    struct sw_cache *lru = create(SW_CACHE_LRU);
    struct sw_cache *custom = create(SW_CACHE_CUSTOM);
    expect(lru, right(&arrays, SW_CACHE_INSERT_OR_ASSIGN, true), SW_E_INVALID);
    expect(lru, right(&arrays, SW_CACHE_INSERT_OR_ASSIGN, false), SW_OK);
    expect(custom, right(&arrays, SW_CACHE_INSERT_OR_ASSIGN, false), SW_E_INVALID);
    expect(custom, right(&arrays, SW_CACHE_INSERT_OR_ASSIGN, true), SW_OK);
    expect(custom, right(&arrays, SW_CACHE_ASSIGN_VALUES, false), SW_OK);
    struct sw_cache_batch find = right(&arrays, SW_CACHE_FIND, false);
    find.scores = arrays.scores;
    expect(lru, find, SW_E_INVALID);
    find.scores = NULL;
    find.touch = true;
    expect(lru, find, SW_OK);
    expect(custom, find, SW_E_INVALID);
    sw_cache_destroy(lru);
    sw_cache_destroy(custom);
}

Test(cache_valid, epochs_and_exports)
{
    struct sw_cache *lru = create(SW_CACHE_LRU);
    struct sw_cache *epochs = create(SW_CACHE_EPOCH_LRU);
    uint64_t keys[256];
    uint64_t count;
    cr_assert_eq(sw_cache_set_epoch(lru, 1), SW_E_INVALID);
    cr_assert_eq(sw_cache_set_epoch(epochs, 1ULL << 32), SW_E_INVALID);
    cr_assert_eq(sw_cache_set_epoch(epochs, 5), SW_OK);
    cr_assert_eq(sw_cache_set_epoch(epochs, 5), SW_OK);
    cr_assert_eq(sw_cache_set_epoch(epochs, 4), SW_E_INVALID);
    struct sw_cache_export what = {.slots = 256, .keys = keys, .count = &count};
    cr_assert_eq(sw_cache_export_batch(lru, &what, NULL), SW_OK);
    what.first = 1;
    cr_assert_eq(sw_cache_export_batch(lru, &what, NULL), SW_E_INVALID);
    what.first = UINT64_MAX;
    cr_assert_eq(sw_cache_export_batch(lru, &what, NULL), SW_E_INVALID);
    what.first = 0;
    what.keys = NULL;
    cr_assert_eq(sw_cache_export_batch(lru, &what, NULL), SW_E_INVALID);
    sw_cache_destroy(lru);
    sw_cache_destroy(epochs);
}
