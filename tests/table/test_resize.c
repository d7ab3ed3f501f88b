/* SPDX-License-Identifier: MIT
 *
 * test_resize.c - a table told to resize: at every ratio the contents stay, and the layout is that
 * of a table created at that size.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/robin_hood/geometry.h"
#include "tests/support/clock.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"

TestSuite(resize, .timeout = 120);

#define ULL(x) ((unsigned long long)(x))

/* Random operations on keys below `range`; the side cell's key is one of them. */
static void churn(struct fixture *fixture, struct random *random, uint32_t count, uint64_t range)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = random_below(random, range);
        enum sw_op op = (enum sw_op)ops_draw(random, OPS_ON_INTEGERS);
        op = op == SW_DELETE || random_below(random, 2) == 0 ? op : SW_SET;
        key = key == 0 ? fixture_key_of(fixture, fixture->key_max) : key * 0x9e3779b97f4a7c15ULL;
        fixture_set(fixture, i, op, key, random_next(random) >> random_below(random, 64));
    }
    fixture_run(fixture, count, (uint32_t)random_below(random, 9));
}

/* Sizes asked for: the same, up and down by all kinds of ratios, none at all. */
static const uint64_t sizes[] = {1024, 1025, 1536, 2048, 1500, 7168, 3000, 512,
                                 0,    4096, 2049, 1,    8192, 8188, 100,  1024};

static void ratios(uint32_t slot_bits, double load, uint64_t stash_slots, uint64_t seed)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    struct random random = random_of(seed);
    config.capacity_slots = 1024;
    config.max_capacity_slots = 8192;
    config.max_load = load;
    config.stash_slots = stash_slots;
    config.seed = seed;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    fixture.seed = seed;
    oracle_limit(fixture.oracle, fixture.info.occupied_max);
    fixture_insert_range(&fixture, 0, fixture.info.occupied_max);
    oracle_limit(fixture.oracle, (uint64_t)(8192 * load));
    uint64_t resized = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint64_t held = oracle_count(fixture.oracle);
        uint64_t expected = sw_geometry_admitting(&config, sizes[i], held);
        cr_assert_eq(fixture_resize(&fixture, sizes[i]), SW_OK, "seed %llu", ULL(seed));
        cr_assert_eq(fixture.info.capacity_slots, expected, "seed %llu, %llu slots for %llu: %llu",
                     ULL(seed), ULL(sizes[i]), ULL(held), ULL(fixture.info.capacity_slots));
        fixture_canonical(&fixture);
        fixture_audit(&fixture);
        cr_assert_eq(table_stats(fixture.table).resized, ++resized);
        churn(&fixture, &random, 1 + (uint32_t)random_below(&random, 500), 2000);
    }
    cr_assert_eq(table_stats(fixture.table).resize_failed, 0);
    cr_assert_eq(fixture_resize(&fixture, 8193), SW_E_INVALID, "more than it may have");
    fixture_close(&fixture);
}

Test(resize, ratios_64)
{
    ratios(64, 0.5, 256, 11);
    ratios(64, 0.85, 0, 12);
    ratios(64, 1.0, 256, 13);
}

Test(resize, ratios_128)
{
    ratios(128, 0.5, 0, 21);
    ratios(128, 0.985, 256, 22);
    ratios(128, 1.0, 0, 23);
}

/* A cap so low that the stash is always in use: it is merged on the way up, and takes on the way
 * down no more than stash_slots, or than it had. */
static void through_the_stash(uint32_t slot_bits, uint64_t seed)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    struct random random = random_of(seed);
    bool filled = false;
    bool emptied = false;
    bool doubled = false;
    config.capacity_slots = 1024;
    config.max_capacity_slots = 16384;
    config.max_load = 0.95;
    config.max_probe = 1;
    config.stash_slots = 60;
    config.seed = seed;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    fixture.seed = seed;
    fixture_insert_range(&fixture, 0, 900);
    /* more rounds where the random numbers left a case out */
    for (int round = 0; round < 30 || (round < 300 && !(filled && emptied && doubled)); round++) {
        uint64_t wanted = random_below(&random, round % 3 == 0 ? 16384 : 2048);
        uint64_t least = sw_geometry_admitting(&config, wanted, oracle_count(fixture.oracle));
        uint64_t before = table_stats(fixture.table).stash_occupied;
        cr_assert_eq(fixture_resize(&fixture, wanted), SW_OK, "seed %llu", ULL(seed));
        uint64_t after = table_stats(fixture.table).stash_occupied;
        cr_assert_leq(after, before > 60 ? before : 60, "seed %llu", ULL(seed));
        filled |= after > before;
        emptied |= before > 0 && after == 0;
        doubled |= fixture.info.capacity_slots > least;
        fixture_canonical(&fixture);
        fixture_audit(&fixture);
        churn(&fixture, &random, 300, 1500);
        cr_assert_eq(sw_table_check(fixture.table, NULL, 0), SW_OK);
    }
    cr_assert(filled && emptied && doubled, "seed %llu: %d %d %d: the test misses its point",
              ULL(seed), filled, emptied, doubled);
    fixture_close(&fixture);
}

Test(resize, stash)
{
    through_the_stash(64, 31);
    through_the_stash(128, 32);
}

/* Runs of neighbours, eight from each of two homes: they fill four buckets, and at half the size
 * would have three. Without a stash nothing may be lost, so the table stays as large as it is. */
Test(resize, without_a_stash_nothing_is_lost)
{
    struct sw_table_config config = fixture_config(128);
    struct fixture fixture;
    config.capacity_slots = 1024;
    config.max_capacity_slots = 4096;
    config.max_probe = 1;
    config.stash_slots = 0;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    for (uint32_t i = 0; i < 8; i++) {
        fixture_set(&fixture, i, SW_SET,
                    fixture_key_of(&fixture, fixture_first_m(&fixture, 10) + i), i);
        fixture_set(&fixture, 8 + i, SW_SET,
                    fixture_key_of(&fixture, fixture_first_m(&fixture, 12) + i), i);
    }
    fixture_run(&fixture, 16, 0);
    for (uint64_t wanted = 513; wanted <= 1024; wanted += 73) {
        cr_assert_eq(fixture_resize(&fixture, wanted), SW_OK);
        cr_assert_leq(fixture.info.capacity_slots, 1024, "as large as it was does");
        fixture_canonical(&fixture);
        fixture_audit(&fixture);
        cr_assert_eq(fixture_resize(&fixture, 1024), SW_OK);
    }
    cr_assert_eq(fixture_resize(&fixture, 512), SW_OK);
    cr_assert_eq(fixture.info.capacity_slots, 1024);
    fixture_canonical(&fixture);
    fixture_audit(&fixture);
    cr_assert_eq(fixture_resize(&fixture, 64), SW_OK);
    cr_assert_eq(fixture.info.capacity_slots, 1024, "64, 128, .., 512 do not serve");
    fixture_end(&fixture);
}

/* Far more than there are slots: what does not fit is handed back, nothing is refused. */
TEST_OF_BOTH_WIDTHS(resize, load_above_one)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.capacity_slots = 400;
    config.max_capacity_slots = 400;
    config.max_load = 16.0;
    config.max_probe = 3;
    config.stash_slots = 0;
    config.batch_ops_max = 5000;
    fixture_open(&fixture, &config);
    cr_assert_eq(fixture.info.occupied_max, 6400);
    fixture_insert_range(&fixture, 0, 5000);
    cr_assert_gt(oracle_count(fixture.oracle), 300);
    cr_assert_leq(oracle_count(fixture.oracle), 412);
    fixture_audit(&fixture);
    fixture_insert_range(&fixture, 5000, 5000);
    if (config.backend == SW_BACKEND_CUDA) {
        cr_assert_eq(fixture_resize(&fixture, 0), SW_E_INVALID, "it has no stash");
    } else {
        cr_assert_eq(fixture_resize(&fixture, 0), SW_OK, "more fit nowhere else");
    }
    cr_assert_eq(fixture.info.capacity_slots, 400);
    fixture_canonical(&fixture);
    fixture_end(&fixture);
}

/* The CUDA backend cannot resize a table with a probe cap of its own: it says so, and nothing
 * changes. */
Test(resize, a_cap_of_its_own)
{
    struct sw_table_config config = fixture_config(64);
    struct fixture fixture;
    config.max_probe = 2;
    fixture_open(&fixture, &config);
    fixture_insert_range(&fixture, 0, 3000);
    cr_assert_eq(fixture_resize(&fixture, 4000),
                 config.backend == SW_BACKEND_CUDA ? SW_E_INVALID : SW_OK);
    cr_assert_eq(fixture.info.capacity_slots, config.backend == SW_BACKEND_CUDA ? 4096 : 4000);
    fixture_end(&fixture);
}

/* A table that may not grow may still shrink, and come back to the size it was created with. */
Test(resize, down_and_back)
{
    struct sw_table_config config = fixture_config(64);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    cr_assert_eq(fixture.info.max_capacity_slots, 4096);
    uint64_t bytes = fixture.info.bytes_reserved;
    fixture_insert_range(&fixture, 0, 100);
    cr_assert_eq(fixture_resize(&fixture, 4097), SW_E_INVALID);
    cr_assert_eq(fixture_resize(&fixture, 0), SW_OK);
    cr_assert_eq(fixture.info.capacity_slots, 120, "100 / 0.85, in whole buckets");
    cr_assert_eq(fixture.info.occupied_max, 102);
    cr_assert_lt(fixture.info.bytes_reserved, bytes);
    cr_assert_eq(sw_table_raw_bytes(fixture.table) % 32, 0);
    fixture_audit(&fixture);
    fixture_clear(&fixture);
    cr_assert_eq(fixture_resize(&fixture, 0), SW_OK);
    cr_assert_eq(fixture.info.capacity_slots, 4);
    cr_assert_eq(fixture_resize(&fixture, 4096), SW_OK);
    cr_assert_eq(fixture.info.bytes_reserved, bytes);
    fixture_insert_range(&fixture, 0, fixture.info.occupied_max);
    fixture_end(&fixture);
}

/* One round through the table by cursor, while it is resized and others come and go. */
static void scan_across(uint32_t slot_bits, uint64_t seed)
{
    enum { STAY = 1500, WINDOW = 97 };
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    struct random random = random_of(seed);
    static uint8_t seen[STAY];
    config.max_capacity_slots = 1 << 14;
    config.max_probe = seed % 2 == 0 ? 2 : 0;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    fixture.seed = seed;
    fixture_insert_range(&fixture, 1000000, STAY - 1);
    fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, fixture.key_max), 5);
    memset(seen, 0, sizeof(seen));
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = WINDOW,
                            .scan.keys = sw_io_alloc(fixture.table, WINDOW * 8),
                            .scan.values = sw_io_alloc(fixture.table, WINDOW * fixture.value_room)};
    do {
        cr_assert_eq(sw_batch_run(fixture.queue, &scan), SW_OK);
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            uint64_t key = fixture_load(&fixture, scan.scan.keys, i);
            if (key == fixture_key_of(&fixture, fixture.key_max)) {
                seen[STAY - 1] = 1;
            } else if (key - 1000000 < STAY - 1) {
                seen[key - 1000000] = 1;
            }
        }
        for (uint32_t i = 0; i < 100; i++) {
            fixture_set(&fixture, i, random_below(&random, 2) == 0 ? SW_SET : SW_DELETE,
                        random_below(&random, 800), i);
        }
        fixture_run(&fixture, 100, 0);
        cr_assert_eq(fixture_resize(&fixture, random_below(&random, 1 << 14)), SW_OK);
    } while (scan.scan.cursor != 0);
    for (int k = 0; k < STAY; k++) {
        cr_assert(seen[k], "seed %llu: key %d was not returned", ULL(seed), k);
    }
    sw_io_free(fixture.table, scan.scan.keys, WINDOW * 8);
    sw_io_free(fixture.table, scan.scan.values, WINDOW * fixture.value_room);
    fixture_close(&fixture);
}

Test(resize, scans)
{
    for (uint64_t seed = 41; seed < 45; seed++) {
        scan_across(64, seed);
        scan_across(128, seed);
    }
}

/* At a load so low that one more entry asks for more than any machine has. */
Test(resize, no_memory)
{
    struct sw_table_config config = fixture_config(128);
    struct fixture fixture;
    config.capacity_slots = 64;
    config.max_capacity_slots = 1ULL << 50;
    config.max_load = 1e-14;
    config.stash_slots = 8;
    config.batch_ops_max = 64;
    fixture_open(&fixture, &config);
    oracle_limit(fixture.oracle, 1);
    fixture_run_one(&fixture, SW_SET, 7, 70);
    double began = seconds_now();
    for (uint64_t key = 1; key <= 5; key++) {
        cr_assert_eq(fixture_run_one(&fixture, SW_SET, key, 1), SW_E_FULL);
        cr_assert_eq(fixture_run_one(&fixture, SW_SUM, 7, 1), SW_OK);
    }
    uint64_t failed = table_stats(fixture.table).resize_failed;
    cr_assert_gt(failed, 0);
    cr_assert(failed == 1 || seconds_now() - began >= 1, "it is not tried again at once");
    for (int i = 0; table_stats(fixture.table).resize_failed == failed; i++) {
        cr_assert_lt(i, 600, "but after a second");
        usleep(100 * 1000);
        cr_assert_eq(fixture_run_one(&fixture, SW_SET, 6, 1), SW_E_FULL);
    }
    failed = table_stats(fixture.table).resize_failed;
    cr_assert_eq(fixture_resize(&fixture, 1ULL << 50), SW_E_NOMEM);
    cr_assert_eq(fixture.info.capacity_slots, 64);
    cr_assert_eq(table_stats(fixture.table).resize_failed, failed + 1);
    cr_assert_eq(table_stats(fixture.table).resized, 0);
    cr_assert_eq(table_stats(fixture.table).grown, 0);
    fixture_end(&fixture);
}
