/* SPDX-License-Identifier: MIT
 *
 * test_scan.c - scans return every entry, in any steps, while the table changes under them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"
#include "table/robin_hood/robin_hood_backend.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(scan, .timeout = 60);

/* One call; returns its status. */
static int scan(struct fixture *fixture, uint64_t *cursor, uint32_t count, uint32_t *got)
{
    struct sw_batch batch = {.kind = SW_BATCH_SCAN,
                             .count = count,
                             .scan.cursor = *cursor,
                             .scan.keys = fixture->keys,
                             .scan.values = fixture->values};
    int status = sw_batch_run(fixture->queue, &batch);
    *cursor = batch.scan.cursor;
    *got = batch.scan.got;
    fixture->batches++;
    return status;
}

static uint64_t m_of(const struct fixture *fixture, uint64_t key)
{
    return fixture->info.slot_bits == 64 ? sw_mix_32((uint32_t)key, fixture->info.seed)
                                         : sw_mix_64(key, fixture->info.seed);
}

/* Scans an unchanging table: ascending, every entry once, with its value. */
static void scan_all(struct fixture *fixture, uint32_t count)
{
    uint64_t cursor = 0;
    uint64_t seen = 0;
    uint64_t last = 0;
    do {
        uint32_t got;
        cr_assert_eq(scan(fixture, &cursor, count, &got), SW_OK);
        cr_assert_leq(got, count);
        for (uint32_t i = 0; i < got; i++) {
            uint64_t key = fixture_load(fixture, fixture->keys, i);
            uint64_t value;
            uint64_t m = m_of(fixture, key);
            cr_assert(oracle_get(fixture->oracle, key, &value), "key %llx is not stored",
                      (unsigned long long)key);
            cr_assert_eq(value, fixture_load_value(fixture, fixture->values, i));
            cr_assert(seen == 0 || m > last, "m %llx after %llx", (unsigned long long)m,
                      (unsigned long long)last);
            last = m;
            seen++;
        }
    } while (cursor != 0);
    cr_assert_eq(seen, oracle_count(fixture->oracle));
}

static void still(uint32_t slot_bits, bool last_m, uint32_t max_probe)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.max_probe = max_probe;
    config.stash_slots = 2000;
    fixture_open(&fixture, &config);
    scan_all(&fixture, 10);
    if (last_m) {
        fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, fixture.key_max), 77);
        scan_all(&fixture, 10);
    }
    fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, fixture.key_max - 1), 78);
    scan_all(&fixture, 1);
    scan_all(&fixture, 2);
    fixture_insert_range(&fixture, 0, 3000);
    const uint32_t counts[] = {1, 2, 7, 64, 1000, 4096};
    for (int i = 0; i < 6; i++) {
        scan_all(&fixture, counts[i]);
    }
    fixture_end(&fixture);
}

Test(scan, still_table)
{
    still(64, false, 0);
    still(64, true, 0);
    still(128, false, 0);
    still(128, true, 0);
}

/* With a cap of one bucket many entries are in the stash: both are merged by m. */
Test(scan, stash_is_merged)
{
    still(64, true, 1);
    still(128, true, 1);
}

/* More buckets than a window. */
static void large(uint32_t slot_bits, uint64_t entries)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct fixture fixture;
    config.capacity_slots = 1 << 18;
    fixture_open(&fixture, &config);
    fixture_insert_range(&fixture, 0, entries);
    scan_all(&fixture, 4096);
    fixture_close(&fixture);
}

Test(scan, several_windows)
{
    large(64, 0);
    large(64, 3);
    large(128, 3);
    large(64, 200000);
    large(128, 200000);
}

/* All entries of one home, in a run longer than the window: nothing can be decided until the window
 * reaches past the cursor. */
Test(scan, run_longer_than_the_window)
{
    enum { HOME = 10, RUN = 160 / SW_BUCKET_SLOTS, BUCKETS = 100 };
    struct sw_slot_s128 slots[(BUCKETS + RUN) * SW_BUCKET_SLOTS];
    struct sw_state state = {.occupied = RUN * SW_BUCKET_SLOTS};
    const struct sw_scan_shape shape = {.buckets = BUCKETS, .buckets_total = BUCKETS + RUN};
    uint64_t first = UINT64_MAX / BUCKETS * HOME + 1000;
    uint64_t keys[100];
    uint64_t values[100];
    memset(slots, 0xFF, sizeof(slots));
    for (uint32_t i = 0; i < RUN * SW_BUCKET_SLOTS; i++) {
        slots[HOME * SW_BUCKET_SLOTS + i] = (struct sw_slot_s128){.value = i, .m = first + i};
    }
    struct sw_scan_window stash = {NULL, 0, 0};
    for (uint64_t buckets = 1; buckets <= BUCKETS + RUN - HOME; buckets++) {
        struct sw_scan_window window = {slots + HOME * SW_BUCKET_SLOTS, HOME, buckets};
        struct sw_batch batch = {.kind = SW_BATCH_SCAN,
                                 .count = 100,
                                 .scan.cursor = first + 81,
                                 .scan.keys = keys,
                                 .scan.values = values};
        bool moved = sw_scan_collect(128, &shape, &state, &window, &stash, &batch);
        cr_assert_eq(moved, buckets * SW_BUCKET_SLOTS > 81, "%llu buckets",
                     (unsigned long long)buckets);
        if (!moved) {
            cr_assert(batch.scan.cursor == first + 81 && batch.scan.got == 0);
            continue;
        }
        uint32_t expected = (uint32_t)(buckets < RUN ? buckets : RUN) * SW_BUCKET_SLOTS - 81;
        cr_assert_eq(batch.scan.got, expected);
        for (uint32_t i = 0; i < expected; i++) {
            cr_assert_eq(values[i], 81 + i);
        }
        bool complete = HOME + buckets >= BUCKETS; /* what follows is tail, and empty */
        cr_assert_eq(batch.scan.cursor == 0, complete);
    }
}

/* A window ends just before the bucket of the smallest m a later bucket can hold. */
Test(scan, cursor_stops_at_the_end_of_the_window)
{
    enum { BUCKETS = 7, TAIL = 2 };
    struct sw_slot_s64 slots[(BUCKETS + TAIL) * SW_BUCKET_SLOTS];
    struct sw_state state = {.occupied = 1};
    const struct sw_view_s64 view = {.buckets = BUCKETS, .buckets_total = BUCKETS + TAIL};
    const struct sw_scan_shape shape = {.buckets = BUCKETS, .buckets_total = BUCKETS + TAIL};
    uint32_t keys[4];
    uint32_t values[4];
    for (uint64_t end = 1; end < BUCKETS; end++) {
        struct sw_scan_window window = {slots, 0, end};
        struct sw_scan_window stash = {NULL, 0, 0};
        struct sw_batch batch = {
            .kind = SW_BATCH_SCAN, .count = 4, .scan.keys = keys, .scan.values = values};
        memset(slots, 0xFF, sizeof(slots));
        cr_assert(sw_scan_collect(64, &shape, &state, &window, &stash, &batch));
        cr_assert_eq(batch.scan.got, 0);
        cr_assert_eq(sw_home_s64(&view, (uint32_t)batch.scan.cursor), end);
        cr_assert_eq(sw_home_s64(&view, (uint32_t)batch.scan.cursor - 1), end - 1);
    }
}

/* Entries that stay from the first call to the last are returned, whatever comes and goes. */
static void changing(uint32_t slot_bits, uint64_t seed)
{
    struct sw_table_config config = fixture_config(slot_bits);
    struct random random = random_of(seed);
    struct fixture fixture;
    config.max_load = 0.95;
    config.max_probe = seed % 2 != 0 ? 2 : 0;
    config.stash_slots = 4000;
    fixture_open(&fixture, &config);
    fixture.seed = seed;
    const uint32_t staying = 1500; /* even keys below 3000 */
    uint8_t *seen = calloc(3000, 1);
    cr_assert_not_null(seen);
    fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, fixture.key_max), 1);
    for (uint32_t i = 0; i < staying; i++) {
        fixture_set(&fixture, i, SW_SET, (uint64_t)i * 2, i);
    }
    fixture_run(&fixture, staying, 0);
    uint64_t cursor = 0;
    unsigned calls = 0;
    bool saw_last = false;
    do {
        uint32_t got;
        cr_assert_eq(scan(&fixture, &cursor, 1 + (uint32_t)random_below(&random, 60), &got), SW_OK);
        for (uint32_t i = 0; i < got; i++) {
            uint64_t key = fixture_load(&fixture, fixture.keys, i);
            saw_last |= key == fixture_key_of(&fixture, fixture.key_max);
            if (key < 3000) {
                seen[key] = 1;
            }
        }
        uint32_t n = (uint32_t)random_below(&random, 300);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t other = 3001 + random_below(&random, 3000);
            fixture_set(&fixture, i, random_below(&random, 2) != 0 ? SW_SET : SW_DELETE, other, 1);
        }
        fixture_run(&fixture, n, n / 4);
        cr_assert_lt(++calls, 10000, "the scan does not end");
    } while (cursor != 0);
    for (uint32_t i = 0; i < staying; i++) {
        cr_assert(seen[2 * i], "key %u was not returned, seed %llu", 2 * i,
                  (unsigned long long)seed);
    }
    cr_assert(saw_last);
    free(seen);
    fixture_end(&fixture);
}

Test(scan, changing_table)
{
    const uint32_t rounds = 16;
    for (uint32_t round = 0; round < rounds; round++) {
        if (tested_now(round, rounds)) {
            changing(round % 2 == 0 ? 64 : 128, 1 + round / 2);
        }
    }
}

/* Any number may come as a cursor. */
Test(scan, cursors_from_anywhere)
{
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        struct sw_table_config config = fixture_config(bits);
        struct fixture fixture;
        uint32_t got;
        fixture_open(&fixture, &config);
        fixture_insert_range(&fixture, 0, 100);
        uint64_t cursor = fixture.key_max;
        cr_assert_eq(scan(&fixture, &cursor, 10, &got), SW_OK);
        cr_assert(got == 0 && cursor == 0);
        fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, fixture.key_max), 5);
        cursor = fixture.key_max;
        cr_assert_eq(scan(&fixture, &cursor, 10, &got), SW_OK);
        cr_assert(got == 1 && cursor == 0);
        if (bits == 64) {
            cursor = 1ULL << 32;
            cr_assert_eq(scan(&fixture, &cursor, 10, &got), SW_OK);
            cr_assert(got == 0 && cursor == 0);
            cursor = UINT64_MAX;
            cr_assert_eq(scan(&fixture, &cursor, 10, &got), SW_OK);
            cr_assert(got == 0 && cursor == 0);
        }
        cursor = 0;
        cr_assert_eq(scan(&fixture, &cursor, 0, &got), SW_E_INVALID, "nothing wanted");
        fixture_close(&fixture);
    }
}
