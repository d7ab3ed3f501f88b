/* SPDX-License-Identifier: MIT
 *
 * test_cuckoo_engine.c - the cuckoo engine behind table.h, held against the oracle: random batches,
 * groups at the limit, rehashes, a stash that stays.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/cuckoo/cuckoo_backend.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(cuckoo_engine, .timeout = 120);

static struct sw_table_config config_of(uint32_t slot_bits, uint32_t functions, uint64_t capacity)
{
    struct sw_table_config config = fixture_config(slot_bits);
    config.engine = SW_ENGINE_CUCKOO;
    config.tuning = (struct sw_table_tuning){.bulk = SW_CHOICE_AUTO};
    tested_tune(&config);
    config.hash_functions = functions;
    config.capacity_slots = capacity;
    config.max_load = functions == 2 ? SW_CUCKOO_LOAD_MAX_2 : 0.85;
    return config;
}

/* The oracle refuses what this engine's limit refuses. */
static void open_as(struct fixture *fixture, const struct sw_table_config *config)
{
    fixture_open(fixture, config);
    oracle_limit(fixture->oracle, fixture->info.occupied_max);
    cr_assert_eq(fixture->info.engine, SW_ENGINE_CUCKOO);
}

/* --- operations ------------------------------------------------------------------------------- */

static void draw(struct fixture *fixture, struct random *random, uint32_t count, uint64_t keys,
                 uint32_t op_mask)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op;
        do {
            op = (uint32_t)random_below(random, SW_OP_COUNT);
        } while ((op_mask >> op & 1) == 0);
        uint64_t key = random_below(random, keys);
        key = key == 0 ? fixture->key_max : key * 0x9e3779b97f4a7c15ULL;
        uint64_t operand =
            random_below(random, 4) == 0 ? random_next(random) : random_below(random, 1000);
        fixture_set(fixture, i, (enum sw_op)op, key, operand);
    }
}

static void random_batches(uint32_t slot_bits, uint32_t functions, uint32_t max_probe,
                           uint64_t seed)
{
    struct fixture fixture;
    struct random random = random_of(seed);
    struct sw_table_config config = config_of(slot_bits, functions, 900);
    config.max_probe = max_probe;
    config.stash_slots = 1U << 16; /* refuses nothing that the oracle would not */
    open_as(&fixture, &config);
    fixture.seed = seed;
    for (uint32_t round = 0; round < 120; round++) {
        static const uint32_t masks[] = {
            SW_BACKEND_ALL_OPERATIONS,
            1U << SW_SET,
            1U << SW_GET,
            1U << SW_SUM,
            1U << SW_DELETE,
            1U << SW_SET | 1U << SW_DELETE,
            1U << SW_INCREMENT | 1U << SW_DECREMENT | 1U << SW_SET_PRESENT,
        };
        uint32_t count = 1 + (uint32_t)random_below(&random, round % 10 == 0 ? 4000 : 200);
        uint32_t mask = masks[random_below(&random, sizeof(masks) / sizeof(masks[0]))];
        draw(&fixture, &random, count, 1 + random_below(&random, 1500), mask);
        uint32_t groups = (uint32_t)random_below(&random, 8);
        fixture_run(&fixture, count, groups < count ? groups : 0);
        if (round % 20 == 19) {
            fixture_audit(&fixture);
        }
        if (round == 70) {
            fixture_clear(&fixture);
        }
    }
    fixture_close(&fixture);
}

Test(cuckoo_engine, random_batches_agree_with_the_oracle)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (uint32_t functions = 2; functions <= 3; functions++) {
            random_batches(64, functions, 0, seed);
            random_batches(128, functions, 0, 10 + seed);
        }
    }
}

/* Chains give up all the time: rehashes, and entries that stay in the stash. */
Test(cuckoo_engine, random_batches_with_a_tiny_bound_agree_too)
{
    for (uint64_t seed = 21; seed <= 22; seed++) {
        for (uint32_t functions = 2; functions <= 3; functions++) {
            random_batches(64, functions, 3, seed);
            random_batches(128, functions, 8, 10 + seed);
        }
    }
}

Test(cuckoo_engine, tables_of_a_few_cells)
{
    for (uint64_t capacity = 1; capacity <= 40; capacity += 3) {
        struct fixture fixture;
        struct random random = random_of(capacity);
        struct sw_table_config config = config_of(64, 3, capacity);
        config.batch_ops_max = 512;
        config.stash_slots = 1024;
        open_as(&fixture, &config);
        fixture.seed = capacity;
        for (uint32_t round = 0; round < 30; round++) {
            draw(&fixture, &random, 60, 2 * capacity + 2, SW_BACKEND_ALL_OPERATIONS);
            fixture_run(&fixture, 60, 12);
        }
        fixture_audit(&fixture);
        fixture_close(&fixture);
    }
}

/* --- the limit -------------------------------------------------------------------------------- */

static void exact_limit(uint32_t slot_bits, uint32_t functions)
{
    struct fixture fixture;
    struct sw_table_config config = config_of(slot_bits, functions, 600);
    open_as(&fixture, &config);
    uint64_t most = fixture.info.occupied_max;
    cr_assert_eq(most, functions == 2 ? 270 : 510);
    fixture_insert_range(&fixture, 0, most - 1);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, most - 1, 1), SW_OK, "the last that fits");
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, most, 1), SW_E_FULL);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, most - 1, 2), SW_OK, "updates need no room");
    cr_assert_eq(fixture_run_one(&fixture, SW_SET_PRESENT, most, 2), SW_OK, "writes nothing");
    cr_assert_eq(fixture_run_one(&fixture, SW_DELETE, 0, 0), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture.key_max, 1), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_SUM, 0, 1), SW_E_FULL, "the side cell counts");

    /* a group that is refused at its end is taken back from its beginning */
    fixture_set(&fixture, 0, SW_DELETE, 5, 0);
    fixture_set(&fixture, 1, SW_SET, 7, 77);
    fixture_set(&fixture, 2, SW_SET, 100000, 1);
    fixture_set(&fixture, 3, SW_SET, 100001, 1);
    cr_assert_eq(fixture_run(&fixture, 4, 1), SW_E_FULL);
    fixture_audit(&fixture);
    fixture_close(&fixture);
}

Test(cuckoo_engine, exact_limit)
{
    for (uint32_t functions = 2; functions <= 3; functions++) {
        exact_limit(64, functions);
        exact_limit(128, functions);
    }
}

/* The stash limits inserts, and nothing else; nothing of it is lost. */
Test(cuckoo_engine, a_full_stash_refuses_inserts_only)
{
    struct fixture fixture;
    struct sw_table_stats stats;
    struct sw_table_config config = config_of(64, 3, 3000);
    config.max_probe = 1; /* one exchange: half of what is inserted ends in the stash */
    config.stash_slots = 0;
    open_as(&fixture, &config);
    fixture_insert_range(&fixture, 1, 2000);
    sw_table_stats(fixture.table, &stats);
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
    fixture_audit(&fixture);
    fixture_close(&fixture);
}

/* --- what it is, and is not ------------------------------------------------------------------- */

Test(cuckoo_engine, facts)
{
    struct fixture fixture;
    struct sw_table_config config = config_of(128, 0, 1000);
    open_as(&fixture, &config);
    cr_expect_str_eq(fixture.info.engine_name, "cuckoo");
    cr_expect_eq(fixture.info.capacity_slots, 1002); /* three arrays of 334 */
    cr_expect_eq(fixture.info.operations, SW_BACKEND_ALL_OPERATIONS);
    cr_expect_eq(fixture.info.batch_kinds, SW_CUCKOO_KINDS);
    cr_expect_eq(sw_table_raw_bytes(fixture.table), 0);
    fixture_close(&fixture);
}

Test(cuckoo_engine, what_it_cannot_do_is_refused)
{
    struct fixture fixture;
    struct sw_table_config config = config_of(64, 3, 1000);
    open_as(&fixture, &config);
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = 1,
                            .scan_keys = fixture.keys,
                            .scan_values = fixture.values};
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

/* --- threads ---------------------------------------------------------------------------------- */

#define THREADS 3
#define ADDERS_BATCHES 40
#define ADDERS_KEYS 500U

struct adder {
    struct sw_table *table;
    uint64_t errors;
};

/* Adds 1 to every key, batch after batch, and reads them in between. */
static void *add_ones(void *context)
{
    struct adder *self = context;
    struct sw_queue *queue;
    uint64_t *keys = sw_io_alloc(self->table, 3 * ADDERS_KEYS * sizeof(*keys));
    uint64_t *values = keys + ADDERS_KEYS;
    uint64_t *previous = values + ADDERS_KEYS;
    uint64_t last = 0;
    self->errors += sw_queue_create(self->table, &queue) != SW_OK;
    for (uint32_t k = 0; k < ADDERS_KEYS; k++) {
        keys[k] = k * 0x9e3779b97f4a7c15ULL;
        values[k] = 1;
    }
    for (uint32_t b = 0; b < ADDERS_BATCHES; b++) {
        struct sw_batch batch = {.op = b % 2 == 0 ? SW_SUM : SW_GET,
                                 .count = ADDERS_KEYS,
                                 .keys = keys,
                                 .values = values,
                                 .previous = previous};
        self->errors += sw_batch_run(queue, &batch) != SW_OK;
        /* a write is whole: every key has the same sum at any time */
        for (uint32_t k = 1; k < ADDERS_KEYS; k++) {
            self->errors += previous[k] != previous[0];
        }
        self->errors += previous[0] < last;
        last = previous[0];
    }
    sw_io_free(self->table, keys, 3 * ADDERS_KEYS * sizeof(*keys));
    sw_queue_destroy(queue);
    return NULL;
}

Test(cuckoo_engine, batches_of_several_threads_are_whole)
{
    struct adder adders[THREADS];
    pthread_t threads[THREADS];
    struct sw_table *table;
    struct sw_table_stats stats;
    struct sw_table_config config = config_of(128, 3, 700);
    cr_assert_eq(sw_table_create(&config, &table, NULL, 0), SW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        adders[t] = (struct adder){.table = table};
        cr_assert_eq(pthread_create(&threads[t], NULL, add_ones, &adders[t]), 0);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        cr_expect_eq(adders[t].errors, 0);
    }
    sw_table_stats(table, &stats);
    cr_expect_eq(stats.occupied, ADDERS_KEYS);
    cr_expect_eq(stats.counters.updated,
                 (THREADS * ADDERS_BATCHES / 2 - 1) * (uint64_t)ADDERS_KEYS);
    sw_table_destroy(table);
}
