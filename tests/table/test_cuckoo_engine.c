/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_engine.c - the cuckoo engine behind table.h, held against the oracle: what other
 * engines have not, hash functions, rehashes, a stash that stays.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/cuckoo/cuckoo_backend.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"

TestSuite(cuckoo_engine, .timeout = 120);

static struct sw_table_config config_of(uint32_t slot_bits, uint32_t functions, uint64_t capacity)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_CUCKOO, slot_bits);
    config.hash_functions = functions;
    config.capacity_slots = capacity;
    config.max_load = functions == 2 ? SW_CUCKOO_LOAD_MAX_2 : 0.85;
    return config;
}

/* --- operations ------------------------------------------------------------------------------- */

static void draw(struct fixture *fixture, struct random *random, uint32_t count, uint64_t keys,
                 uint64_t op_mask)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op;
        do {
            op = (uint32_t)ops_draw(random, SW_OPS_INTEGERS);
        } while ((op_mask >> op & 1) == 0);
        uint64_t key = random_below(random, keys);
        key = key == 0 ? fixture->key_max : key * 0x9e3779b97f4a7c15ULL;
        uint64_t operand =
            random_below(random, 4) == 0 ? random_next(random) : random_below(random, 1000);
        fixture_set(fixture, i, (enum sw_op)op, key, operand);
    }
}

/* A table that gave its memory back behaves as an empty one, and takes the memory again. */
static void release(struct fixture *fixture)
{
    const uint64_t before = fixture->info.bytes_reserved;
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR, .releases = true};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(sw_batch_run(fixture->queue, &clear), SW_OK);
        cr_assert_eq(clear.counters.deleted, 0);
        fixture->batches++;
        sw_table_info(fixture->table, &fixture->info);
        cr_assert(fixture->info.backend != SW_BACKEND_CPU || fixture->info.bytes_reserved < before);
    }
    fixture_audit(fixture);
    sw_table_info(fixture->table, &fixture->info);
    cr_assert_eq(fixture->info.bytes_reserved, before);
    cr_assert_eq(sw_batch_run(fixture->queue, &clear), SW_OK); /* the next batch finds it so */
    fixture->batches++;
}

static void random_batches(uint32_t slot_bits, uint32_t functions, uint32_t max_probe,
                           uint64_t seed)
{
    struct fixture fixture;
    struct random random = random_of(seed);
    struct sw_table_config config = config_of(slot_bits, functions, 900);
    config.max_probe = max_probe;
    config.stash_slots = 1U << 16; /* refuses nothing that the oracle would not */
    fixture_open(&fixture, &config);
    fixture.seed = seed;
    for (uint32_t round = 0; round < 120; round++) {
        static const uint64_t masks[] = {
            SW_BACKEND_ALL_OPERATIONS,
            SW_OPS_ONE(SW_SET),
            SW_OPS_ONE(SW_GET),
            SW_OPS_ONE(SW_SUM),
            SW_OPS_ONE(SW_DELETE),
            SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_DELETE),
            SW_OPS_ONE(SW_INCREMENT) | SW_OPS_ONE(SW_DECREMENT) | SW_OPS_ONE(SW_SET_PRESENT),
        };
        uint32_t count = 1 + (uint32_t)random_below(&random, round % 10 == 0 ? 4000 : 200);
        uint64_t mask = masks[random_below(&random, sizeof(masks) / sizeof(masks[0]))];
        draw(&fixture, &random, count, 1 + random_below(&random, 1500), mask);
        uint32_t groups = (uint32_t)random_below(&random, 8);
        fixture_run(&fixture, count, groups < count ? groups : 0);
        if (round % 20 == 19) {
            fixture_audit(&fixture);
        }
        if (round == 70 || round == 100) {
            fixture_clear(&fixture);
        }
        if (round == 100) {
            release(&fixture);
        }
    }
    fixture_close(&fixture);
}

/* With a tiny bound chains give up all the time: rehashes, and entries that stay in the stash. */
Test(cuckoo_engine, random_batches_agree_with_the_oracle)
{
    static const uint32_t bounds[][2] = {{0, 0}, {0, 0}, {0, 0}, {3, 8}, {3, 8}};
    for (uint64_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        for (uint32_t functions = 2; functions <= 3; functions++) {
            random_batches(64, functions, bounds[i][0], 2 * i);
            random_batches(128, functions, bounds[i][1], 2 * i + 1);
        }
    }
}

/* --- the limit -------------------------------------------------------------------------------- */

/* The stash limits inserts, and nothing else; nothing of it is lost. */
Test(cuckoo_engine, a_full_stash_refuses_inserts_only)
{
    struct fixture fixture;
    struct sw_table_config config = config_of(64, 3, 3000);
    config.max_probe = 1; /* one exchange: half of what is inserted ends in the stash */
    config.stash_slots = 0;
    fixture_open(&fixture, &config);
    fixture_insert_range(&fixture, 1, 2000);
    const struct sw_table_stats stats = table_stats(fixture.table);
    cr_assert_gt(stats.stash_occupied, 0);
    cr_expect_gt(stats.counters.failures, 0);
    fixture_set(&fixture, 0, SW_SET, 900000, 1);
    struct sw_batch batch = {
        .op = SW_SET, .count = 1, .keys = fixture.keys, .values = fixture.values};
    fixture_store(&fixture, fixture.keys, 0, 900000);
    fixture_store(&fixture, fixture.values, 0, 1);
    cr_expect_eq(sw_batch_run(fixture.queue, &batch), SW_E_FULL);
    cr_expect_eq(batch.counters.refused, 1);
    fixture.batches++;
    fixture.expected.refused++;
    cr_expect_eq(fixture_run_one(&fixture, SW_SUM, 3, 5), SW_OK);
    cr_expect_eq(fixture_run_one(&fixture, SW_DELETE, 4, 0), SW_OK);
    fixture_end(&fixture);
}

/* --- features and limits ---------------------------------------------------------------------- */

Test(cuckoo_engine, facts)
{
    struct fixture fixture;
    struct sw_table_config config = config_of(128, 0, 1000);
    fixture_open(&fixture, &config);
    cr_expect_str_eq(fixture.info.engine_name, "cuckoo");
    cr_expect_eq(fixture.info.capacity_slots, 1002); /* three arrays of 334 */
    const uint64_t operations = SW_BACKEND_ALL_OPERATIONS;
    cr_expect_eq(fixture.info.operations, operations);
    cr_expect_eq(fixture.info.batch_kinds, SW_CUCKOO_KINDS);
    cr_expect_eq(sw_table_raw_bytes(fixture.table), 0);
    fixture_close(&fixture);
}

Test(cuckoo_engine, what_it_cannot_do_is_refused)
{
    struct fixture fixture;
    struct sw_table_config config = config_of(64, 3, 1000);
    fixture_open(&fixture, &config);
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = 1,
                            .scan.keys = fixture.keys,
                            .scan.values = fixture.values};
    struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = 1000};
    cr_expect_eq(sw_batch_submit(fixture.queue, &scan), SW_E_UNSUPPORTED);
    cr_expect_eq(sw_batch_submit(fixture.queue, &resize), SW_E_UNSUPPORTED);
    fixture_close(&fixture);
}

static void refuses(const struct sw_table_config *config, const char *word)
{
    struct sw_table *table;
    char reason[512] = "";
    cr_expect_eq(sw_table_create(config, &table, reason, sizeof(reason)), SW_E_INVALID, "%s", word);
    cr_expect_not_null(strstr(reason, word), "\"%s\" does not say %s", reason, word);
}

Test(cuckoo_engine, configurations_that_cannot_be)
{
    struct sw_table_config config = config_of(64, 2, 1000);
    config.max_load = 0.5;
    refuses(&config, "load");
    config = config_of(64, 3, 1000);
    config.max_load = 0.9;
    refuses(&config, "load");
    config.max_load = 0;
    refuses(&config, "load");
    config = config_of(64, 3, 0);
    refuses(&config, "slots");
    config = config_of(64, 2, 2);
    refuses(&config, "holds no key");
    config = config_of(64, 4, 1000);
    refuses(&config, "hash functions");
    config = config_of(64, 3, 1000);
    config.max_capacity_slots = 2000;
    refuses(&config, "cuckoo");
}
