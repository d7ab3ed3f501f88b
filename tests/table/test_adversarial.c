/* SPDX-License-Identifier: MIT
 *
 * test_adversarial.c - keys chosen to hurt: all of one bucket, dense runs, extremes; and what
 * happens at the probe cap, with a stash (nothing is lost) and without (it is handed back).
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "table/robin_hood/cpu/parallel.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/table_fixture.h"

TestSuite(adversarial, .timeout = 120);

/* Batches of `count` absent keys whose m runs upwards or downwards from `first`. */
static void insert_run(struct fixture *fixture, uint64_t first, uint32_t count, bool down)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t m = down ? first + count - 1 - i : first + i;
        fixture_set(fixture, i, SW_SET, fixture_key_of(fixture, m), m ^ 0x5555);
    }
    fixture_run(fixture, count, 0);
}

static void delete_every(struct fixture *fixture, uint64_t first, uint32_t count, uint32_t step)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i += step) {
        fixture_set(fixture, n++, SW_DELETE, fixture_key_of(fixture, first + i), 0);
    }
    fixture_run(fixture, n, 0);
}

/* Keys of one home: exactly the number that the cap and the stash hold together. */
static void one_home(uint32_t slot_bits, uint64_t bucket, uint32_t count)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    uint64_t first = fixture_first_m(&fixture, bucket);
    insert_run(&fixture, first, count, bucket % 2 != 0);
    fixture_audit(&fixture);
    for (uint32_t step = 7; step > 1; step -= 2) {
        delete_every(&fixture, first, count, step);
        fixture_audit(&fixture);
        insert_run(&fixture, first, count, bucket % 2 == 0);
        fixture_audit(&fixture);
    }
    delete_every(&fixture, first, count, 1);
    fixture_audit(&fixture);
    cr_assert_eq(oracle_count(fixture.oracle), 0);
    fixture_close(&fixture);
}

Test(adversarial, one_home_64)
{
    one_home(64, 0, 90);
    one_home(64, 511, 90);
    one_home(64, 1023, 90);
}

Test(adversarial, one_home_128)
{
    one_home(128, 0, 300);
    one_home(128, 511, 300);
    one_home(128, 1023, 300);
}

static void set_first_keys(struct fixture *fixture, uint64_t m, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fixture_set(fixture, i, SW_SET, fixture_key_of(fixture, m + i), i);
    }
}

/* At cap 1 a home takes 8 entries: the others go to the stash and everything stays found. */
TEST_OF_BOTH_WIDTHS(adversarial, cap_with_stash)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct sw_table_stats stats;
    struct fixture fixture;
    config.max_probe = 1;
    fixture_open(&fixture, &config);
    uint64_t first = fixture_first_m(&fixture, 100);
    set_first_keys(&fixture, first, 100);
    fixture_run(&fixture, 100, 0);
    fixture_audit(&fixture);
    sw_table_stats(fixture.table, &stats);
    cr_assert_eq(stats.stash_occupied, 92);
    cr_assert_eq(stats.counters.failures, 92);
    cr_assert_eq(stats.occupied, 100);

    /* updates and deletes reach the stash; what it held is inserted anew */
    for (int round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 100; i++) {
            fixture_set(&fixture, i, SW_SUM, fixture_key_of(&fixture, first + i), 3);
        }
        fixture_run(&fixture, 100, 0);
        fixture_audit(&fixture);
        delete_every(&fixture, first, 100, 2 + (uint32_t)round);
        fixture_audit(&fixture);
        set_first_keys(&fixture, first, 100);
        fixture_run(&fixture, 100, 5);
        fixture_audit(&fixture);
    }
    delete_every(&fixture, first, 100, 1);
    fixture_audit(&fixture);
    sw_table_stats(fixture.table, &stats);
    cr_assert_eq(stats.stash_occupied, 0);
    set_first_keys(&fixture, first, 50);
    fixture_run(&fixture, 50, 0);
    fixture_clear(&fixture);
    sw_table_stats(fixture.table, &stats);
    cr_assert_eq(stats.stash_occupied, 0);
    fixture_end(&fixture);
}

/* Crafted keys fill the stash; then inserts are refused, and nothing acknowledged is lost. */
TEST_OF_BOTH_WIDTHS(adversarial, stash_fills_up)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.max_probe = 1;
    config.stash_slots = 10;
    config.batch_ops_max = 64;
    fixture_open(&fixture, &config);
    oracle_destroy(fixture.oracle); /* two buckets, the stash's 10, and the one that passed it */
    fixture.oracle = oracle_create(slot_bits / 2, 8 + 10 + 1);
    uint64_t first = fixture_first_m(&fixture, 7);
    for (uint32_t i = 0; i < 64; i++) {
        cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, first + i), i),
                     i < 19 ? SW_OK : SW_E_FULL);
    }
    fixture_audit(&fixture);
    const struct sw_table_stats stats = table_stats(fixture.table);
    cr_assert_eq(stats.stash_occupied, 11);
    cr_assert_eq(stats.counters.refused, 64 - 19);
    /* a batch of nothing is not refused; updates still work, and room comes back */
    struct sw_batch nothing = {.op = SW_SET};
    cr_assert_eq(sw_batch_run(fixture.queue, &nothing), SW_OK);
    fixture.batches++;
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, first + 3), 9), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, first + 40), 9),
                 SW_E_FULL);
    fixture_set(&fixture, 0, SW_SUM, fixture_key_of(&fixture, first + 3), 5);
    fixture_set(&fixture, 1, SW_SET, fixture_key_of(&fixture, first + 41), 9);
    cr_assert_eq(fixture_run(&fixture, 2, 0), SW_E_FULL, "the sum is taken back");
    fixture_audit(&fixture);
    for (uint32_t i = 0; i < 19; i++) {
        fixture_run_one(&fixture, SW_DELETE, fixture_key_of(&fixture, first + i), 0);
    }
    fixture_audit(&fixture);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, first + 40), 9), SW_OK);
    fixture_end(&fixture);
}

/* The stash is searched from its start: a large one takes ten seconds, half a minute under the
 * sanitizers, more on an emulated device. */
#define COLLIDING_MAX 2000
#define COLLIDING_MAX_CUDA 600

/* `colliding` keys of one home, and up to `count` more, each alone in its home. */
static void set_colliding(struct fixture *fixture, enum sw_op op, uint32_t colliding,
                          uint32_t count)
{
    const uint64_t home = 7;
    uint64_t first = fixture_first_m(fixture, home);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t m =
            i < colliding ? first + i : fixture_first_m(fixture, home + 2 + (i - colliding));
        fixture_set(fixture, i, op, fixture_key_of(fixture, m), i);
    }
}

/* The limit of the stash is checked only when a batch begins. So one batch may exceed it, in one
 * group or in many, on one thread or on several. Then inserts are refused until a batch begins with
 * room again. */
static void stash_limit_by_batch(uint32_t slot_bits, uint32_t groups, uint32_t threads)
{
    struct sw_table_config config = fixture_config(slot_bits);
    const uint32_t count = threads > 1 ? SW_PARALLEL_WRITES_MIN : 100;
    const uint32_t most = config.backend == SW_BACKEND_CUDA ? COLLIDING_MAX_CUDA : COLLIDING_MAX;
    const uint32_t colliding = count < most ? count : most;
    struct fixture fixture;
    config.capacity_slots = 4 * SW_PARALLEL_WRITES_MIN;
    config.max_probe = 1;
    config.stash_slots = 10;
    config.batch_ops_max = count + 1;
    config.threads = threads;
    fixture_open(&fixture, &config);
    set_colliding(&fixture, SW_SET, colliding, count);
    cr_assert_eq(fixture_run(&fixture, count, groups), SW_OK);
    const struct sw_table_stats stats = table_stats(fixture.table);
    cr_assert_eq(stats.stash_occupied, colliding - 8);
    fixture_audit(&fixture);

    uint64_t limit = fixture.info.occupied_max;
    oracle_limit(fixture.oracle, 0); /* no insert, but everything else */
    set_colliding(&fixture, SW_DELETE, colliding, count);
    fixture_set(&fixture, count, SW_SET, fixture.operations[0].key, 1);
    cr_assert_eq(fixture_run(&fixture, count + 1, count + 1), SW_E_FULL, "full when it began");
    oracle_limit(fixture.oracle, limit);
    cr_assert_eq(fixture_run(&fixture, count + 1, 0), SW_OK, "empty when it began");
    fixture_end(&fixture);
}

Test(adversarial, stash_limit_by_batch)
{
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        stash_limit_by_batch(slot_bits, 0, 1);
        stash_limit_by_batch(slot_bits, 100, 1);
        stash_limit_by_batch(slot_bits, 0, 4);
        stash_limit_by_batch(slot_bits, 100, 4);
    }
}

/* Refused groups that were partly applied move entries to the stash and back: it stays bounded. */
static void refused_groups_at_the_cap(uint32_t slot_bits, uint64_t stash_slots)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct random random = random_of(slot_bits + stash_slots);
    struct fixture fixture;
    config.capacity_slots = 256;
    config.max_load = 0.5;
    config.max_probe = 1;
    config.stash_slots = stash_slots;
    config.batch_ops_max = 512;
    fixture_open(&fixture, &config);
    fixture.seed = random.state;
    uint64_t bases[4];
    for (uint32_t b = 0; b < 4; b++) {
        bases[b] = fixture_first_m(&fixture, 10 + b * 9);
    }
    for (int step = 0; step < 300; step++) {
        uint32_t count = 1 + (uint32_t)random_below(&random, 200);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t m = bases[random_below(&random, 4)] + random_below(&random, 40);
            fixture_set(&fixture, i, random_below(&random, 3) == 0 ? SW_DELETE : SW_SUM,
                        fixture_key_of(&fixture, m), random_next(&random));
        }
        fixture_run(&fixture, count, 1 + (uint32_t)random_below(&random, 4));
        fixture_audit(&fixture);
    }
    fixture_close(&fixture);
}

Test(adversarial, refused_groups_at_the_cap)
{
    refused_groups_at_the_cap(64, 200);
    refused_groups_at_the_cap(128, 200);
    refused_groups_at_the_cap(64, 0); /* answers are the same: handed back at the batch's end */
    refused_groups_at_the_cap(128, 0);
}

/* Without a stash: the table and the entries handed back together have every offered entry. */
static void cap_without_stash(uint32_t slot_bits, bool down)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.max_probe = 2;
    config.stash_slots = 0;
    fixture_open(&fixture, &config);
    uint64_t offered = 0;
    for (uint64_t bucket = 20; bucket < 60; bucket += 3) {
        insert_run(&fixture, fixture_first_m(&fixture, bucket), 30, down);
        offered += 30;
        fixture_audit(&fixture);
    }
    const struct sw_table_stats stats = table_stats(fixture.table);
    cr_assert_eq(stats.occupied + stats.counters.failures, offered);
    cr_assert_gt(stats.counters.failures, 0);
    cr_assert_eq(stats.stash_occupied, 0);
    fixture_close(&fixture);
}

Test(adversarial, cap_without_stash)
{
    cap_without_stash(64, false);
    cap_without_stash(64, true);
    cap_without_stash(128, false);
    cap_without_stash(128, true);
}

/* Without a stash, at the cap and at the maximum load: what is handed back fills the table until
 * the batch's end, so it is refused although less stays. Operations on what fell out still find it.
 */
TEST_OF_BOTH_WIDTHS(adversarial, cap_and_limit_without_stash)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct sw_table_stats stats;
    struct fixture fixture;
    config.capacity_slots = 64;
    config.max_load = 0.5;
    config.max_probe = 1;
    config.stash_slots = 0;
    fixture_open(&fixture, &config);
    uint64_t first = fixture_first_m(&fixture, 5);
    set_first_keys(&fixture, first, 33);
    cr_assert_eq(fixture_run(&fixture, 33, 0), SW_E_FULL);
    set_first_keys(&fixture, first, 32);
    for (uint32_t i = 0; i < 32; i++) {
        fixture_set(&fixture, 32 + i, SW_SUM, fixture_key_of(&fixture, first + i), 100);
        fixture_set(&fixture, 64 + i, SW_GET, fixture_key_of(&fixture, first + i), 0);
    }
    fixture_set(&fixture, 96, SW_DELETE, fixture_key_of(&fixture, first + 30), 0);
    fixture_set(&fixture, 97, SW_SET_ABSENT, fixture_key_of(&fixture, first + 31), 7);
    cr_assert_eq(fixture_run(&fixture, 98, 0), SW_OK);
    fixture_audit(&fixture);
    sw_table_stats(fixture.table, &stats);
    cr_assert_eq(stats.occupied, 8);

    /* a refused group hands nothing back, and what a deletion made room for stays */
    fixture_set(&fixture, 0, SW_SET, fixture_key_of(&fixture, first + 9), 1);
    fixture_set(&fixture, 1, SW_DELETE, fixture_key_of(&fixture, first + 2), 1);
    cr_assert_eq(fixture_run(&fixture, 2, 0), SW_OK);
    sw_table_stats(fixture.table, &stats);
    cr_assert_eq(stats.occupied, 8);
    fixture_end(&fixture);
}

/* A table without a stash in which both buckets of a home are full. Returns the home's first m. */
static uint64_t open_full_home(struct fixture *fixture, uint32_t slot_bits)
{
    struct sw_table_config config = fixture_config(slot_bits);
    config.capacity_slots = 64;
    config.max_load = 0.5;
    config.max_probe = 1;
    config.stash_slots = 0;
    fixture_open(fixture, &config);
    const uint64_t first = fixture_first_m(fixture, 5);
    for (uint32_t i = 0; i < 8; i++) {
        fixture_set(fixture, i, SW_SET, fixture_key_of(fixture, first + 100 + i), i);
    }
    fixture_run(fixture, 8, 0);
    return first;
}

/* Runs the `n` operations, and 200 inserts behind them, which pass the limit. The table must be as
 * before, bit by bit, except the order within a bucket. */
static void run_refused(struct fixture *fixture, uint32_t n)
{
    for (uint32_t i = 0; i < 200; i++) {
        fixture_set(fixture, n++, SW_SET, 1000 + i, i);
    }
    cr_assert_eq(fixture_run(fixture, n, 0), SW_E_FULL);
    cr_assert_eq(oracle_count(fixture->oracle), 8);
    fixture_audit(fixture);
    fixture_close(fixture);
}

/* A refused group takes its left-over entries back. */
TEST_OF_BOTH_WIDTHS(adversarial, refused_group_without_stash)
{
    struct fixture fixture;
    const uint64_t first = open_full_home(&fixture, slot_bits);
    uint32_t n = 0;
    for (uint32_t i = 0; i < 4; i++) {
        fixture_set(&fixture, n++, SW_SUM, fixture_key_of(&fixture, first + 107 - i), 50);
        fixture_set(&fixture, n++, SW_DELETE, fixture_key_of(&fixture, first + 100 + i), 0);
        fixture_set(&fixture, n++, SW_SET, fixture_key_of(&fixture, first + i), i);
        fixture_set(&fixture, n++, SW_SET, fixture_key_of(&fixture, first + 10 + i), i);
        /* what fell out comes in again under its own key, and may fall out again */
        fixture_set(&fixture, n++, SW_SET, fixture_key_of(&fixture, first + 107), i);
    }
    run_refused(&fixture, n);
}

/* A refused group writes a key that is among the left-overs. The key is updated there, gets its old
 * value back there, and returns to the table. */
TEST_OF_BOTH_WIDTHS(adversarial, key_left_over_and_written)
{
    struct fixture fixture;
    const uint64_t first = open_full_home(&fixture, slot_bits);
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++) {
        fixture_set(&fixture, n++, SW_SET, fixture_key_of(&fixture, first + i), i);
        fixture_set(&fixture, n++, SW_SET, fixture_key_of(&fixture, first + 107), 99);
        fixture_set(&fixture, n++, SW_SET, fixture_key_of(&fixture, first + 107 - i), 98);
    }
    run_refused(&fixture, n);
}

/* Mixed keys that share their upper or lower halves, or differ in the sign of a half only. A bucket
 * is searched by halves. */
TEST_OF_BOTH_WIDTHS(adversarial, equal_halves)
{
    static const uint32_t halves[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    const uint32_t count = sizeof(halves) / sizeof(halves[0]);
    struct sw_table_config config = fixture_config(slot_bits);
    struct random random = random_of(slot_bits);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    for (int round = 0; round < 200; round++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < count * count; i++) {
            const uint64_t upper = halves[i / count], lower = halves[i % count];
            const uint64_t m = slot_bits == 64 ? upper ^ lower << 8 : upper << 32 | lower;
            const uint64_t key = fixture_key_of(&fixture, m & fixture.key_max);
            fixture_set(&fixture, n++, SW_GET, key, 0);
            if (random_below(&random, 3) == 0) {
                fixture_set(&fixture, n++, random_below(&random, 2) ? SW_SET : SW_DELETE, key, m);
            }
        }
        fixture_run(&fixture, n, 0);
        fixture_audit(&fixture);
    }
    fixture_end(&fixture);
}

/* A read probes one bucket if that is enough. The tuning is the table's own choice, because a drawn
 * one may read every bucket. */
Test(adversarial, probes_are_counted)
{
    struct sw_table_config config = fixture_config(128);
    config.tuning = (struct sw_table_tuning){0};
    struct fixture fixture;
    fixture_open(&fixture, &config);
    for (uint32_t i = 0; i < 64; i++) {
        fixture_store(&fixture, fixture.keys, i, i);
        fixture_store(&fixture, fixture.values, i, i);
    }
    struct sw_batch batch = fixture_batch(&fixture, SW_GET, 64);
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_GET].probes, 64);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_GET].misses, 64);
    batch.op = SW_SET;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    const uint64_t probes = batch.counters.by_class[SW_CLASS_UPSERT].probes;
    const uint64_t least = config.backend == SW_BACKEND_CUDA ? 64 : 128;
    cr_assert(probes >= least && probes <= 128,
              "one to look, one to insert; a direct write of CUDA does both by one: %llu",
              (unsigned long long)probes);
    batch.op = SW_GET;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_GET].probes, 64);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_GET].hits, 64);
    fixture_close(&fixture);
}
