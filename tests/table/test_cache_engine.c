/* SPDX-License-Identifier: MIT
 *
 * test_cache_engine.c - the cache behind table.h, held against the model; what it refuses.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/cache/cache_backend.h"
#include "tests/support/cache_config.h"
#include "tests/support/cache_table.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(cache_engine, .timeout = 120);

/* Every policy whose evictions the model predicts, in both modes. If the engine may process
 * different keys in another order than the array's, the cache has room for all of them. */
static void compare_all_policies(uint32_t slot_bits, uint32_t value_bytes)
{
    static const enum sw_cache_policy policies[] = {SW_CACHE_LRU, SW_CACHE_LFU, SW_CACHE_EPOCH_LFU};
    const bool in_order = tested_backend() == SW_BACKEND_CPU;
    for (uint32_t round = 0; round < 6; round++) {
        const enum sw_cache_mode mode = round % 2 == 0 ? SW_CACHE_MEMORY : SW_CACHE_THROUGHPUT;
        char fault[256] = "";
        uint64_t evicted = 0;
        struct cache_table_trial trial = {
            .config = cache_config(slot_bits, value_bytes, mode, policies[round / 2]),
            .seed = random_seed() + round,
            .batches = 60,
            .ops_max = 400,
            .key_count = 2000,
        };
        trial.config.capacity_slots = in_order ? 700 : 8 * trial.key_count;
        if (tested_now(round, 6)) {
            int failed = cache_table_run(&trial, &evicted, fault, sizeof(fault));
            cr_assert_eq(failed, 0, "policy %d, mode %d, writing %d: %s", (int)policies[round / 2],
                         (int)mode, (int)trial.config.tuning.cache_writing, fault);
            cr_assert_eq(evicted > 0, in_order);
        }
    }
}

Test(cache_engine, wide_keys)
{
    compare_all_policies(128, 0);
    compare_all_policies(128, 256);
    compare_all_policies(128, 1024);
}

Test(cache_engine, narrow_keys)
{
    compare_all_policies(64, 0);
    compare_all_policies(64, 20);
    compare_all_policies(64, 32);
}

Test(cache_engine, newcomers_that_are_turned_away)
{
    for (int mode = SW_CACHE_MEMORY; mode <= SW_CACHE_THROUGHPUT; mode++) {
        char fault[256] = "";
        struct cache_table_trial trial = {
            .config = cache_config(mode == SW_CACHE_MEMORY ? 64 : 128, 20, (enum sw_cache_mode)mode,
                                   mode == SW_CACHE_MEMORY ? SW_CACHE_LFU : SW_CACHE_EPOCH_LFU),
            .seed = random_seed(),
            .ops_max = 200,
        };
        cr_assert_eq(cache_table_turn_away(&trial, fault, sizeof(fault)), 0, "mode %d: %s", mode,
                     fault);
    }
}

static void expect_refused(const struct sw_table_config *config, int expected)
{
    struct sw_table *table;
    char reason[256] = "";
    cr_assert_eq(sw_table_create(config, &table, reason, sizeof(reason)), expected);
    cr_assert_neq(reason[0], '\0');
}

Test(cache_engine, refuses)
{
    struct sw_table_config config = cache_config(128, 64, SW_CACHE_MEMORY, SW_CACHE_LRU);
    config.value_bytes = 1028;
    expect_refused(&config, SW_E_INVALID);
    config.value_bytes = 64;
    config.cache_mode = (enum sw_cache_mode)(SW_CACHE_THROUGHPUT + 1);
    expect_refused(&config, SW_E_INVALID);
    config.cache_mode = SW_CACHE_MEMORY;
    config.cache_policy = (enum sw_cache_policy)(SW_CACHE_CUSTOM + 1);
    expect_refused(&config, SW_E_INVALID);
    config.cache_policy = SW_CACHE_LRU;
    config.capacity_slots = 0;
    expect_refused(&config, SW_E_INVALID);
    config.capacity_slots = 1ULL << 45;
    expect_refused(&config, SW_E_NOMEM);
}

Test(cache_engine, tells_what_it_is)
{
    struct sw_table_config config = cache_config(128, 64, SW_CACHE_MEMORY, SW_CACHE_LFU);
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    cr_assert_eq(sw_table_create(&config, &table, NULL, 0), SW_OK);
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    uint64_t *words = sw_io_alloc(table, 80);
    memset(words, 0, 80);
    sw_table_info(table, &info);
    cr_assert_str_eq(info.engine_name, "cache");
    cr_assert_eq(info.operations, SW_CACHE_ALL_OPERATIONS);
    cr_assert_eq(info.batch_kinds,
                 (SW_CACHE_ALL_KINDS & ~(1U << SW_BATCH_EPOCH)) | 1U << SW_BATCH_RESIZE);
    cr_assert_eq(info.cache_policy, SW_CACHE_LFU);
    cr_assert_eq(info.value_bytes, 64);
    cr_assert_eq(info.bucket_slots, 128);
    cr_assert_eq(info.max_load, 1.0);
    cr_assert_eq(info.stash_slots, 0);
    cr_assert_eq(info.capacity_slots, 768);
    struct sw_batch batch = {.op = SW_SUM, .count = 1, .keys = words, .values = words + 2};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_E_UNSUPPORTED);
    struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = 1024};
    cr_assert_eq(sw_batch_run(queue, &resize), SW_E_INVALID);
    sw_io_free(table, words, 80);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}
