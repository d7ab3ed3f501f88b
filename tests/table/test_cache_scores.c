/* SPDX-License-Identifier: MIT
 *
 * test_cache_scores.c - every operation of the cache behind table.h, held against the model: with
 * scores, ranges of scores, epochs and evictions; what is refused.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "tests/support/cache_config.h"
#include "tests/support/cache_scores.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(cache_scores, .timeout = 120);

#define BATCHES 240U

/* Adds up what trials have tried. */
static void add_seen(struct cache_scores_seen *all, const struct cache_scores_seen *seen)
{
    all->not_admitted += seen->not_admitted;
    all->erased_by_score += seen->erased_by_score;
    all->matched += seen->matched;
    all->listed += seen->listed;
    all->epochs += seen->epochs;
    all->operations |= seen->operations;
}

/* Every policy and mode in `batches` batches each; together they must cover all events that they
 * are about. If the engine may process different keys in another order than the array's, the cache
 * has room for all of them. One operation in `hot_share` is on one key, unless that is 0. */
static void compare_all_policies(uint32_t slot_bits, uint32_t value_bytes, bool floats,
                                 uint32_t hot_share, uint32_t batches)
{
    const bool in_order = tested_backend() == SW_BACKEND_CPU;
    struct cache_scores_seen all = {0};
    for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
        for (int mode = SW_CACHE_MEMORY; mode <= SW_CACHE_THROUGHPUT; mode++) {
            char fault[256] = "";
            struct cache_scores_seen seen;
            if (!tested_now((uint32_t)policy * 2 + (uint32_t)mode, 10)) {
                continue;
            }
            struct cache_scores_trial trial = {
                .config = cache_config(slot_bits, value_bytes, (enum sw_cache_mode)mode,
                                       (enum sw_cache_policy)policy),
                .seed = random_seed(),
                .batches = batches,
                .ops_max = 400,
                .key_count = 1500,
                .hot_share = hot_share,
                .floats = floats,
                .reads_overlap = !in_order,
            };
            const bool is_small = hot_share > 0 || batches < BATCHES; /* soon full */
            trial.config.capacity_slots = !in_order ? 8 * trial.key_count : is_small ? 256 : 700;
            int failed = cache_scores_run(&trial, &seen, fault, sizeof(fault));
            cr_assert_eq(failed, 0, "seed %llu, policy %d, mode %d: %s",
                         (unsigned long long)trial.seed, policy, mode, fault);
            cr_assert_eq(seen.evicted > 0, in_order);
            add_seen(&all, &seen);
        }
    }
    if (tested_share() > 1 || batches < BATCHES) {
        return; /* too few of them to be sure of anything */
    }
    const uint32_t width = value_bytes > 0 ? value_bytes : slot_bits / 16;
    const uint64_t wide = SW_OPS_ONE(SW_ADD_U64) | SW_OPS_ONE(SW_ADD_PRESENT_U64);
    const uint64_t narrow = SW_OPS_ONE(SW_ADD_U32) | SW_OPS_ONE(SW_ADD_PRESENT_U32);
    uint64_t own = floats           ? SW_OPS_ONE(SW_ADD_F32) | SW_OPS_ONE(SW_ADD_PRESENT_F32)
                   : width % 8 == 0 ? wide | narrow
                                    : narrow;
    own |= SW_OPS_ONE(SW_PEEK) | SW_OPS_ONE(SW_FIND_OR_INSERT) | SW_OPS_ONE(SW_SET_SCORE) |
           SW_OPS_ONE(SW_SET_VALUE);
    cr_assert_eq(all.operations & own, own, "operations %" PRIx64, all.operations);
    cr_assert_gt(all.matched, 0);
    cr_assert_gt(all.listed, 0);
    cr_assert_gt(all.erased_by_score, 0);
    cr_assert_gt(all.epochs, 0);
    cr_assert_eq(all.not_admitted > 0, in_order);
}

Test(cache_scores, wide_keys)
{
    compare_all_policies(128, 64, false, 0, BATCHES);
}

Test(cache_scores, wide_keys_and_floats)
{
    compare_all_policies(128, 32, true, 0, BATCHES);
}

Test(cache_scores, narrow_keys)
{
    compare_all_policies(64, 20, false, 0, BATCHES);
}

/* Values as wide as keys, and sizes for which the kernels have code of their own. */
Test(cache_scores, other_sizes_of_values)
{
    compare_all_policies(128, 0, false, 0, BATCHES / 4);
    compare_all_policies(128, 256, false, 0, BATCHES / 4);
    compare_all_policies(128, 1024, false, 0, BATCHES / 4);
    compare_all_policies(64, 0, false, 0, BATCHES / 4);
    compare_all_policies(64, 32, false, 0, BATCHES / 4);
}

Test(cache_scores, a_hot_key)
{
    compare_all_policies(128, 256, false, 2, BATCHES);
}

/* With one operation at a time the evicted key is known for every backend. */
Test(cache_scores, batches_of_one_operation)
{
    for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
        for (int mode = SW_CACHE_MEMORY; mode <= SW_CACHE_THROUGHPUT; mode++) {
            char fault[256] = "";
            struct cache_scores_seen seen;
            if (!tested_now((uint32_t)policy * 2 + (uint32_t)mode, 10)) {
                continue;
            }
            struct cache_scores_trial trial = {
                .config =
                    cache_config(128, 32, (enum sw_cache_mode)mode, (enum sw_cache_policy)policy),
                .seed = random_seed(),
                .batches = 4000 / tested_share(),
                .ops_max = 1,
                .key_count = 700,
                .floats = true,
            };
            trial.config.capacity_slots = 256;
            int failed = cache_scores_run(&trial, &seen, fault, sizeof(fault));
            for (int i = 0; i < 100 && !failed && seen.evicted == 0 && tested_share() == 1; i++) {
                trial.seed++; /* with few seeds a cache is never full */
                failed = cache_scores_run(&trial, &seen, fault, sizeof(fault));
            }
            cr_assert_eq(failed, 0, "policy %d, mode %d, seed %llu: %s", policy, mode,
                         (unsigned long long)trial.seed, fault);
            cr_assert(seen.evicted > 0 || tested_share() > 1);
        }
    }
}

Test(cache_scores, what_leaves_is_handed_back)
{
    for (int mode = SW_CACHE_MEMORY; mode <= SW_CACHE_THROUGHPUT; mode++) {
        char fault[256] = "";
        struct cache_scores_seen seen;
        struct cache_scores_trial trial = {
            .config = cache_config(mode == SW_CACHE_MEMORY ? 64 : 128, 20, (enum sw_cache_mode)mode,
                                   SW_CACHE_CUSTOM),
            .seed = random_seed(),
            .ops_max = 300,
            .key_count = 4500,
        };
        cr_assert_eq(cache_scores_evict(&trial, &seen, fault, sizeof(fault)), 0, "mode %d: %s",
                     mode, fault);
        cr_assert_gt(seen.evicted, 0);
        cr_assert_gt(seen.not_admitted, 0);
    }
}

/* --- what is refused -------------------------------------------------------------------------- */

struct small {
    struct sw_table *table;
    struct sw_queue *queue;
    struct {
        uint64_t keys[2], scores[2], scores_out[2], left_scores[2];
        uint8_t values[2 * 64];
    } * io;
    struct sw_batch batch;
};

static void open_small(struct small *small, struct sw_table_config config)
{
    memset(small, 0, sizeof(*small));
    small->table = must_create(&config);
    small->queue = must_queue(small->table);
    small->io = sw_io_alloc(small->table, sizeof(*small->io));
    memset(small->io, 0, sizeof(*small->io));
    small->io->keys[1] = 1;
    small->batch = (struct sw_batch){
        .op = SW_SET, .count = 2, .keys = small->io->keys, .values = small->io->values};
}

static void close_small(struct small *small)
{
    sw_io_free(small->table, small->io, sizeof(*small->io));
    sw_queue_destroy(small->queue);
    sw_table_destroy(small->table);
}

static void expect(struct small *small, int status)
{
    struct sw_batch batch = small->batch;
    cr_assert_eq(sw_batch_run(small->queue, &batch), status);
}

Test(cache_scores, a_policy_that_makes_its_own)
{
    for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
        struct small small;
        open_small(&small, cache_config(128, 64, SW_CACHE_MEMORY, (enum sw_cache_policy)policy));
        bool own = policy == SW_CACHE_LRU || policy == SW_CACHE_EPOCH_LRU;
        expect(&small, SW_OK);
        small.batch.scores = small.io->scores;
        expect(&small, own ? SW_E_INVALID : SW_OK);
        small.batch.op = SW_SET_SCORE;
        small.batch.values = NULL;
        expect(&small, own ? SW_E_INVALID : SW_OK);
        small.batch.scores = NULL;
        expect(&small, policy == SW_CACHE_CUSTOM ? SW_E_INVALID : SW_OK);
        small.batch.op = SW_GET;
        small.batch.leftover_scores = small.io->left_scores; /* of keys that are not wanted */
        expect(&small, SW_E_INVALID);
        close_small(&small);
    }
}

Test(cache_scores, epochs)
{
    struct small small;
    open_small(&small, cache_config(128, 64, SW_CACHE_MEMORY, SW_CACHE_EPOCH_LRU));
    small.batch = (struct sw_batch){.kind = SW_BATCH_EPOCH, .epoch = 1ULL << 32};
    expect(&small, SW_E_INVALID);
    small.batch.epoch = UINT32_MAX;
    expect(&small, SW_OK);
    close_small(&small);
}

Test(cache_scores, numbers_wider_than_a_value)
{
    struct small small;
    open_small(&small, cache_config(64, 20, SW_CACHE_MEMORY, SW_CACHE_LRU));
    const struct sw_table_info info = table_info(small.table);
    cr_assert_eq(info.operations >> SW_ADD_U32 & 1, 1);
    cr_assert_eq(info.operations >> SW_ADD_U64 & 1, 0);
    small.batch.op = SW_ADD_U64;
    expect(&small, SW_E_UNSUPPORTED);
    close_small(&small);
}

Test(cache_scores, tables_of_integers_have_none)
{
    struct small small;
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.capacity_slots = 1000;
    config.batch_ops_max = 100;
    open_small(&small, config);
    for (uint32_t op = 0; op < SW_OP_END; op++) {
        if (SW_OPS_HAS(SW_OPS_INTEGERS | SW_OPS_PAIR | SW_OPS_EXPIRE, op)) {
            continue;
        }
        small.batch.op = (enum sw_op)op;
        expect(&small, SW_E_UNSUPPORTED);
    }
    small.batch.op = SW_SET;
    expect(&small, SW_OK);
    small.batch.scores_out = small.io->scores_out;
    expect(&small, SW_E_INVALID);
    small.batch = (struct sw_batch){.kind = SW_BATCH_SCAN, .count = 2, .scan.by_score = true};
    small.batch.scan.keys = small.io->keys;
    small.batch.scan.values = small.io->values;
    expect(&small, SW_E_INVALID);
    small.batch.scan.by_score = false;
    expect(&small, SW_OK);
    for (int kind = SW_BATCH_COUNT_SCORES; kind <= SW_BATCH_EPOCH; kind++) {
        small.batch = (struct sw_batch){.kind = (enum sw_batch_kind)kind};
        expect(&small, SW_E_UNSUPPORTED);
    }
    close_small(&small);
}
