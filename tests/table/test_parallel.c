/* SPDX-License-Identifier: MIT
 *
 * test_parallel.c - large batches on several threads do what they do on one: same answers, same
 * counters, same buckets. (test_concurrent.c takes the same path under ThreadSanitizer.)
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/cpu/parallel.h"
#include "table/robin_hood/robin_hood.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"

TestSuite(parallel, .timeout = 120);

#define OPS (SW_PARALLEL_WRITES_MIN + 1000)
#define UPSERTS (SW_OPS_INTEGERS & ~SW_OPS_DELETE)

static struct sw_table_config config_of(uint32_t slot_bits, uint32_t threads)
{
    struct sw_table_config config = fixture_config(slot_bits);
    config.capacity_slots = 1 << 18;
    config.batch_ops_max = OPS;
    config.stash_slots = 1 << 16;
    config.threads = threads;
    return config;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

/* Both tables hold the same set in every bucket. */
static void compare_slots(const struct fixture *a, const struct fixture *b)
{
    size_t bytes = sw_table_raw_bytes(a->table);
    size_t slot = a->info.slot_bits / 8;
    unsigned char *raw[2] = {malloc(bytes), malloc(bytes)};
    const size_t slots = SW_BUCKET_SLOTS;
    unsigned char bucket[2][SW_BUCKET_SLOTS][16];
    cr_assert_eq(bytes, sw_table_raw_bytes(b->table));
    cr_assert(raw[0] != NULL && raw[1] != NULL);
    cr_assert_eq(sw_table_raw_copy(a->table, raw[0]), SW_OK);
    cr_assert_eq(sw_table_raw_copy(b->table, raw[1]), SW_OK);
    for (size_t at = 0; at < bytes; at += slots * slot) {
        memset(bucket, 0, sizeof(bucket));
        for (int t = 0; t < 2; t++) {
            for (size_t i = 0; i < slots; i++) {
                memcpy(bucket[t][i], raw[t] + at + i * slot, slot);
            }
            qsort(bucket[t], slots, 16, by_bytes);
        }
        cr_assert_eq(memcmp(bucket[0], bucket[1], sizeof(bucket[0])), 0, "bucket %zu differs",
                     at / (slots * slot));
    }
    free(raw[0]);
    free(raw[1]);
}

/* Two tables, one with threads; the same batches for both. */
struct pair {
    struct fixture alone;
    struct fixture together;
};

static void pair_open(struct pair *pair, const struct sw_table_config *config)
{
    struct sw_table_config one = *config;
    one.threads = 1;
    fixture_open(&pair->alone, &one);
    fixture_open(&pair->together, config);
}

static int pair_run(struct pair *pair, uint32_t count, uint32_t groups)
{
    memcpy(pair->together.operations, pair->alone.operations,
           count * sizeof(*pair->alone.operations));
    fixture_run(&pair->alone, count, groups);
    return fixture_run(&pair->together, count, groups);
}

static void pair_close(struct pair *pair)
{
    compare_slots(&pair->alone, &pair->together);
    fixture_audit(&pair->alone);
    fixture_audit(&pair->together);
    fixture_close(&pair->alone);
    fixture_close(&pair->together);
}

/* Upserts and reads of all kinds over `keys` keys: on all threads, then in batches that one thread
 * updates before it inserts. */
static void upserts(uint32_t slot_bits, uint32_t threads, uint64_t keys, uint64_t seed)
{
    struct sw_table_config config = config_of(slot_bits, threads);
    struct random random = random_of(seed);
    struct pair pair;
    pair_open(&pair, &config);
    pair.alone.seed = pair.together.seed = seed;
    for (int step = 0; step < 24; step++) {
        uint32_t count = step < 4 ? OPS - (uint32_t)random_below(&random, 500)
                                  : SW_UPDATES_FIRST_MIN + (uint32_t)random_below(&random, 900);
        for (uint32_t i = 0; i < count; i++) {
            enum sw_op op = (enum sw_op)ops_draw(&random, UPSERTS);
            uint64_t key = random_below(&random, keys);
            if (random_below(&random, 1000) == 0) {
                key = fixture_key_of(&pair.alone, pair.alone.key_max);
            }
            fixture_set(&pair.alone, i, op, key, random_next(&random) >> (8 * (i % 8)));
        }
        pair_run(&pair, count, step % 2 != 0 ? 100 : 0);
    }
    pair_close(&pair);
}

Test(parallel, few_keys)
{
    upserts(64, 4, 3, 1);
    upserts(128, 4, 3, 2);
    upserts(64, 3, 2000, 3);
    upserts(128, 3, 2000, 4);
}

Test(parallel, many_keys)
{
    upserts(64, 4, 1ULL << 40, 5);
    upserts(128, 4, 1ULL << 40, 6);
    upserts(64, 2, 60000, 7);
    upserts(128, 2, 60000, 8);
    upserts(128, 64, 60000, 9);
}

/* The same keys reach the cap in parallel and in order, also with repeated keys. Batches of `piece`
 * operations. */
static void cap(uint32_t slot_bits, uint64_t stash_slots, bool repeated, uint32_t piece)
{
    struct sw_table_config config = config_of(slot_bits, 4);
    struct random random = random_of(slot_bits + stash_slots);
    struct sw_table_stats stats[2];
    struct pair pair;
    config.capacity_slots = SW_PARALLEL_WRITES_MIN; /* full after the batch */
    config.max_load = 1.0;
    config.max_probe = 1;
    config.stash_slots = stash_slots;
    pair_open(&pair, &config);
    for (uint32_t at = 0; at < SW_PARALLEL_WRITES_MIN; at += piece) {
        for (uint32_t i = 0; i < piece; i++) {
            bool again = repeated &&
                         i % 32 == 31; /* fewer keys reach the cap in a table that is less full */
            uint64_t key = again ? random_below(&random, at + i) : at + i;
            fixture_set(&pair.alone, i, again ? (enum sw_op)ops_draw(&random, UPSERTS) : SW_SET,
                        key * 3, random_next(&random));
        }
        pair_run(&pair, piece, 0);
    }
    sw_table_stats(pair.alone.table, &stats[0]);
    sw_table_stats(pair.together.table, &stats[1]);
    cr_assert_gt(stats[0].counters.failures, 100);
    cr_assert_eq(stats[0].counters.failures, stats[1].counters.failures);
    cr_assert_eq(stats[0].stash_occupied, stats[1].stash_occupied);
    cr_assert_eq(stats[0].occupied, stats[1].occupied);
    pair_close(&pair);
}

Test(parallel, cap_with_stash)
{
    cap(64, 1 << 16, false, SW_PARALLEL_WRITES_MIN);
    cap(64, 1 << 16, false, 1 << 10);
    cap(128, 1 << 16, false, SW_PARALLEL_WRITES_MIN);
    cap(128, 1 << 16, false, 1 << 10);
    cap(64, 1 << 16, true, SW_PARALLEL_WRITES_MIN);
    cap(64, 1 << 16, true, 1 << 10);
    cap(128, 1 << 16, true, SW_PARALLEL_WRITES_MIN);
    cap(128, 1 << 16, true, 1 << 10);
}

Test(parallel, cap_without_stash)
{
    cap(64, 0, false, SW_PARALLEL_WRITES_MIN);
    cap(64, 0, false, 1 << 10);
    cap(128, 0, false, SW_PARALLEL_WRITES_MIN);
    cap(128, 0, false, 1 << 10);
    cap(64, 0, true, SW_PARALLEL_WRITES_MIN);
    cap(64, 0, true, 1 << 10);
    cap(128, 0, true, SW_PARALLEL_WRITES_MIN);
    cap(128, 0, true, 1 << 10);
}

/* Near the limit the absent keys are counted first; where they do not fit, or with deletes, a table
 * with threads does the batch in order. Nothing differs. */
TEST_OF_BOTH_WIDTHS(parallel, near_the_limit)
{
    struct sw_table_config config = config_of(slot_bits, 4);
    struct random random = random_of(slot_bits);
    struct pair pair;
    int refused = 0;
    /* room for all; then room for the absent keys only; then refused; then with deletes */
    const uint64_t keys[] = {OPS, 2 * OPS, 2 * OPS, 4 * OPS, 4 * OPS, 3 * OPS};
    config.capacity_slots = 2 * OPS;
    pair_open(&pair, &config);
    for (int step = 0; step < 6; step++) {
        for (uint32_t i = 0; i < OPS; i++) {
            enum sw_op op = (enum sw_op)ops_draw(
                &random, step < 5 ? OPS_ON_INTEGERS & ~SW_OPS_DELETE : OPS_ON_INTEGERS);
            fixture_set(&pair.alone, i, op, random_below(&random, keys[step]), i);
        }
        refused += pair_run(&pair, OPS, step == 4 ? 1000 : 0) == SW_E_FULL;
    }
    cr_assert(refused > 0 && refused < 4, "%d batches were refused", refused);
    pair_close(&pair);
}

/* Large reads, of lengths around multiples of 64. */
Test(parallel, reads)
{
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        struct sw_table_config config = config_of(bits, 4);
        struct fixture fixture;
        fixture_open(&fixture, &config);
        fixture_insert_range(&fixture, 0, 50000);
        for (uint32_t more = 0; more < 130; more += 13) {
            uint32_t count = SW_PARALLEL_GETS_MIN + more;
            for (uint32_t i = 0; i < count; i++) {
                fixture_set(&fixture, i, SW_GET, (uint64_t)i * 2 + more, 0);
            }
            fixture_run(&fixture, count, 0);
        }
        fixture_close(&fixture);
    }
}
