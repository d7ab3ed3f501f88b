/* SPDX-License-Identifier: MIT
 *
 * test_operations.c - random batches of every operation, with repeated keys, against the oracle, at
 * loads from 0.1 to 1.0. Every stored key is looked up after every step.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(operations, .timeout = 120);

/* Random operations over `keys` keys; of three batches one has operations of one kind. */
static void random_batch(struct fixture *fixture, struct random *random, uint32_t count,
                         uint64_t keys)
{
    const bool one_op = random_below(random, 3) == 0;
    const enum sw_op all = fixture_draw_op(fixture, random);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = random_below(random, keys);
        uint64_t operand = random_next(random);
        if (random_below(random, 4) == 0) {
            operand = random_below(random, 3); /* small, and equal to others */
        }
        if (random_below(random, 64) == 0) {
            key = fixture_key_of(fixture, fixture->key_max - random_below(random, 2));
        }
        fixture_set(fixture, i, one_op ? all : fixture_draw_op(fixture, random), key, operand);
    }
}

static void mixed(uint32_t slot_bits, uint64_t seed)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct random random = random_of(seed);
    struct fixture fixture;
    config.seed = seed;
    fixture_open(&fixture, &config);
    fixture.seed = seed;
    for (int step = 0; step < 40; step++) {
        uint32_t count = (uint32_t)random_below(&random, 700);
        uint32_t groups = (uint32_t)random_below(&random, 2) * (count / 7 + 1);
        random_batch(&fixture, &random, count, 10 + random_below(&random, 6000));
        fixture_run(&fixture, count, groups);
        fixture_audit(&fixture);
        if (step == 25) {
            fixture_clear(&fixture);
            fixture_audit(&fixture);
        }
    }
    fixture_close(&fixture);
}

Test(operations, mixed_64)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        mixed(64, seed);
    }
}

Test(operations, mixed_128)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        mixed(128, seed);
    }
}

/* Every pair of operations on one key, present and absent, in one batch and in two. */
static void pairs(uint32_t slot_bits)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.capacity_slots = 64;
    fixture_open(&fixture, &config);
    const uint64_t operands[] = {0, 1, 5, fixture.key_max - 1, fixture.key_max};
    uint64_t keys[] = {3, fixture_key_of(&fixture, fixture.key_max)};
    const uint32_t kinds = OPS_COUNT(OPS_ON_INTEGERS);
    const uint32_t rounds = kinds * kinds * 25U * 4;
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t x = 0; x < rounds; x++) {
            if (!tested_now(x, rounds)) {
                continue;
            }
            enum sw_op first = (enum sw_op)ops_at(OPS_ON_INTEGERS, x % kinds);
            enum sw_op second = (enum sw_op)ops_at(OPS_ON_INTEGERS, x / kinds % kinds);
            if (!fixture_can(&fixture, first) || !fixture_can(&fixture, second)) {
                continue;
            }
            uint32_t rest = x / (kinds * kinds);
            uint64_t a = operands[rest % 5];
            uint64_t b = operands[rest / 5 % 5];
            fixture_run_one(&fixture, rest / 25 % 2 ? SW_SET : SW_DELETE, keys[k], 7);
            if (rest / 50 != 0) {
                fixture_run_one(&fixture, first, keys[k], a);
                fixture_run_one(&fixture, second, keys[k], b);
            } else {
                fixture_set(&fixture, 0, first, keys[k], a);
                fixture_set(&fixture, 1, second, keys[k], b);
                fixture_run(&fixture, 2, 0);
            }
            fixture_run_one(&fixture, SW_GET, keys[k], 0);
        }
        fixture_audit(&fixture);
    }
    fixture_close(&fixture);
}

Test(operations, pairs_64)
{
    pairs(64);
}

Test(operations, pairs_128)
{
    pairs(128);
}

/* Fills to a load, if tables of the engine may have it, and stays there: it deletes one key for
 * each key that it inserts. */
static void at_load(uint32_t slot_bits, double load)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct random random = random_of((uint64_t)(load * 1000));
    struct fixture fixture;
    if (load > fixture_load_max(config.engine)) {
        return;
    }
    config.max_load = fixture_load_max(config.engine);
    config.batch_ops_max = 1024;
    fixture_open(&fixture, &config);
    fixture.seed = random.state;
    uint64_t entries = (uint64_t)((double)config.capacity_slots * load);
    uint64_t next = 0;
    uint64_t oldest = 0;
    while (next < entries) {
        uint32_t n = 0;
        while (n < 1000 && next < entries) {
            fixture_set(&fixture, n++, SW_SET, next * 3, random_next(&random));
            next++;
        }
        fixture_run(&fixture, n, 0);
        fixture_audit(&fixture);
    }
    for (int step = 0; step < 6; step++) {
        uint32_t n = 0;
        while (n < 1000) {
            fixture_set(&fixture, n++, SW_DELETE, oldest++ * 3, 0);
            enum sw_op op =
                fixture_can(&fixture, SW_SUM) ? (enum sw_op)(1 + random_below(&random, 3)) : SW_SET;
            fixture_set(&fixture, n++, op, next++ * 3, random_next(&random));
            if (oldest == next) {
                break;
            }
        }
        cr_assert_eq(fixture_run(&fixture, n, 0), SW_OK);
        fixture_audit(&fixture);
    }
    cr_assert_eq(oracle_count(fixture.oracle), entries);
    fixture_close(&fixture);
}

Test(operations, loads_64)
{
    const double loads[] = {0.1, 0.5, 0.85, 0.95, 0.98, 1.0};
    for (int i = 0; i < 6; i++) {
        at_load(64, loads[i]);
    }
}

Test(operations, loads_128)
{
    const double loads[] = {0.1, 0.5, 0.85, 0.95, 0.98, 1.0};
    for (int i = 0; i < 6; i++) {
        at_load(128, loads[i]);
    }
}

/* The smallest tables. */
Test(operations, tiny_tables)
{
    for (uint64_t slots = tested_engine() == SW_ENGINE_ROBIN_HOOD ? 0 : 3; slots <= 24;
         slots += 3) {
        for (uint32_t bits = 64; bits <= 128; bits += 64) {
            struct sw_table_config config = fixture_config(bits);
            struct random random = random_of(slots);
            struct fixture fixture;
            config.capacity_slots = slots;
            config.max_load = fixture_load_max(config.engine);
            config.stash_slots = config.engine == SW_ENGINE_ROBIN_HOOD ? slots % 2 : 256;
            fixture_open(&fixture, &config);
            fixture.seed = slots;
            for (uint32_t step = 0; step < 60; step += tested_share()) {
                random_batch(&fixture, &random, 20, 2 * slots + 4);
                fixture_run(&fixture, 20, (uint32_t)random_below(&random, 10));
                fixture_audit(&fixture);
            }
            fixture_close(&fixture);
        }
    }
}

/* A batch of nothing, with memory and without, with empty groups and without groups. */
static void empty_batch(struct fixture *fixture, enum sw_op op, uint32_t groups)
{
    static const struct sw_counters zero;
    struct sw_batch bare = {.kind = SW_BATCH_OPERATIONS, .op = op};
    struct sw_batch batch = fixture_batch(fixture, op, 0);
    batch.group_count = groups;
    batch.group_ends = groups > 0 ? fixture->group_ends : NULL;
    batch.group_refused = groups > 0 ? fixture->group_refused : NULL;
    batch.leftover_keys = fixture->leftover_keys;
    batch.leftover_values = fixture->leftover_values;
    memset(fixture->group_ends, 0, groups * sizeof(*fixture->group_ends));
    memset(fixture->group_refused, 0xA5, 4);
    fixture->found[0] = 0xCDCDCDCDCDCDCDCD;
    fixture_store(fixture, fixture->previous, 0, 0xABABABAB);
    cr_assert_eq(sw_batch_run(fixture->queue, &batch), SW_OK);
    cr_assert_eq(sw_batch_run(fixture->queue, &bare), SW_OK);
    batch.ops = fixture->ops;
    cr_assert_eq(sw_batch_run(fixture->queue, &batch), SW_OK);
    fixture->batches += 3;
    cr_assert_eq(memcmp(&batch.counters, &zero, sizeof(zero)), 0);
    cr_assert_eq(batch.leftover_count, 0);
    cr_assert_eq(fixture->found[0], 0xCDCDCDCDCDCDCDCD, "op %d wrote", (int)op);
    cr_assert_eq(fixture_load(fixture, fixture->previous, 0), 0xABABABAB, "op %d wrote", (int)op);
    for (uint32_t g = 0; g < groups; g++) {
        cr_assert_eq(fixture->group_refused[g], 0);
    }
}

static void empty_batches(struct fixture *fixture)
{
    for (int op = SW_GET; op < SW_OP_END; op++) {
        for (uint32_t groups = 0; groups <= 2 && fixture_can(fixture, (enum sw_op)op); groups++) {
            empty_batch(fixture, (enum sw_op)op, groups);
        }
    }
    fixture_audit(fixture);
}

/* On an empty table, one with keys, a full one, a cleared one: each works after, and holds the
 * same. */
static void nothing(uint32_t slot_bits, uint64_t stash_slots)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.capacity_slots = 512;
    config.stash_slots = stash_slots;
    fixture_open(&fixture, &config);
    empty_batches(&fixture);
    fixture_insert_range(&fixture, 0, 200);
    empty_batches(&fixture);
    fixture_insert_range(&fixture, 0, fixture.room);
    empty_batches(&fixture);
    cr_assert_eq(oracle_count(fixture.oracle), fixture.room);
    fixture_clear(&fixture);
    empty_batches(&fixture);
    fixture_insert_range(&fixture, 5, 100);
    fixture_end(&fixture);
}

Test(operations, empty_batches)
{
    nothing(64, 256);
    nothing(128, 256);
    if (tested_engine() == SW_ENGINE_ROBIN_HOOD) {
        nothing(64, 0); /* a stash of no slots: nobody has one but Robin Hood */
    }
}

/* Answers and operands that are not needed may be left out. */
Test(operations, optional_arrays)
{
    struct sw_table_config config = fixture_config(128);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    fixture_insert_range(&fixture, 0, 100);
    for (uint32_t i = 0; i < 100; i++) {
        fixture_store(&fixture, fixture.keys, i, i);
    }
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_GET, .count = 100, .keys = fixture.keys};
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_GET].hits, 100);
    batch.op = SW_DELETE;
    batch.count = 50;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    cr_assert_eq(batch.counters.deleted, 50);
    batch.count = 0;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    fixture_close(&fixture);
}

static void dense(uint32_t slot_bits, uint64_t first)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    fixture_insert_range(&fixture, first, 3000);
    fixture_audit(&fixture);
    for (uint32_t i = 0; i < 1500; i++) {
        fixture_set(&fixture, i, SW_DELETE, first + 2 * i, 0);
    }
    fixture_run(&fixture, 1500, 0);
    fixture_end(&fixture);
}

Test(adversarial, dense_keys)
{
    dense(64, 0);
    dense(128, 0);
    dense(64, UINT32_MAX - 1499); /* wraps around to 0: the largest keys and the smallest */
    dense(128, UINT64_MAX - 1499);
    dense(128, 1ULL << 32);
}

/* The keys 0 and all ones, and those whose m is 0 and all ones (the one that has no slot). */
TEST_OF_BOTH_WIDTHS(adversarial, extremes)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    const uint64_t keys[] = {0, fixture.key_max, fixture_key_of(&fixture, 0),
                             fixture_key_of(&fixture, fixture.key_max),
                             fixture_key_of(&fixture, fixture.key_max - 1)};
    for (uint32_t subset = 0; subset < 32; subset++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < 5; k++) {
            if ((subset >> k & 1) != 0) {
                fixture_set(&fixture, n++, SW_SET, keys[k], fixture.key_max - k);
                enum sw_op op = fixture_can(&fixture, SW_SUM) ? SW_SUM : SW_SET_PRESENT;
                fixture_set(&fixture, n++, op, keys[k], 2);
            }
        }
        fixture_run(&fixture, n, 0);
        fixture_audit(&fixture);
        for (uint32_t k = 0; k < 5; k++) {
            fixture_set(&fixture, k, SW_DELETE, keys[k], 0);
        }
        fixture_run(&fixture, 5, 0);
        cr_assert_eq(oracle_count(fixture.oracle), 0);
        fixture_audit(&fixture);
    }
    fixture_close(&fixture);
}
