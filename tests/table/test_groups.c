/* SPDX-License-Identifier: MIT
 *
 * test_groups.c - admission near the limit: a group takes effect as a whole or not at all.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(groups, .timeout = 60);

static void open_small(struct fixture *fixture, uint32_t slot_bits)
{
    struct sw_table_config config = fixture_config(slot_bits);
    config.capacity_slots = 256;
    config.max_load = 0.5;
    fixture_open(fixture, &config);
    cr_assert_eq(fixture->info.occupied_max, fixture->info.capacity_slots / 2);
}

TEST_OF_BOTH_WIDTHS(groups, exact_limit)
{
    struct fixture fixture;
    open_small(&fixture, slot_bits);
    const uint64_t most = fixture.info.occupied_max;
    fixture_insert_range(&fixture, 0, most - 1);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, most - 1, 1), SW_OK, "the last that fits");
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, most, 1), SW_E_FULL);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, most - 1, 2), SW_OK, "updates need no room");
    cr_assert_eq(fixture_run_one(&fixture, SW_SET_PRESENT, most, 2), SW_OK, "writes nothing");
    if (fixture_can(&fixture, SW_DECREMENT)) {
        cr_assert_eq(fixture_run_one(&fixture, SW_DECREMENT, most, 2), SW_OK, "writes nothing");
    }
    cr_assert_eq(fixture_run_one(&fixture, SW_GET, most, 2), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_DELETE, 0, 0), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_INCREMENT, most, 1), SW_OK);
    const uint64_t without_slot[] = {fixture.key_max, fixture_key_of(&fixture, fixture.key_max)};
    for (int i = 0; i < 2; i++) { /* cuckoo's key, Robin Hood's m */
        cr_assert_eq(fixture_run_one(&fixture, SW_SUM, without_slot[i], 1), SW_E_FULL,
                     "the side cell counts");
    }
    fixture_end(&fixture);
}

/* The slots of two moments hold the same entries, bucket by bucket. */
static int by_word(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

static void normalize(const struct fixture *fixture, unsigned char *slots)
{
    size_t slot_bytes = fixture->info.slot_bits / 8;
    size_t bytes = sw_table_raw_bytes(fixture->table);
    size_t bucket_slots = fixture->info.bucket_slots;
    unsigned char wide[8][16];
    for (size_t at = 0; at < bytes; at += bucket_slots * slot_bytes) {
        memset(wide, 0, sizeof(wide));
        for (size_t i = 0; i < bucket_slots; i++) {
            memcpy(wide[i], slots + at + i * slot_bytes, slot_bytes);
        }
        qsort(wide, bucket_slots, 16, by_word);
        for (size_t i = 0; i < bucket_slots; i++) {
            memcpy(slots + at + i * slot_bytes, wide[i], slot_bytes);
        }
    }
}

/* The slots of a table as they are, those of a bucket in an order of their own. NULL where the
 * engine shows none: there the audit tells. */
static unsigned char *slots_of(const struct fixture *fixture)
{
    const size_t bytes = sw_table_raw_bytes(fixture->table);
    unsigned char *slots = bytes > 0 ? malloc(bytes) : NULL;
    if (bytes > 0) {
        cr_assert_not_null(slots);
        cr_assert_eq(sw_table_raw_copy(fixture->table, slots), SW_OK);
        normalize(fixture, slots);
    }
    return slots;
}

TEST_OF_BOTH_WIDTHS(groups, refused_group_changes_nothing)
{
    struct fixture fixture;
    open_small(&fixture, slot_bits);
    fixture_insert_range(&fixture, 0, 120);
    unsigned char *before = slots_of(&fixture);
    uint32_t n = 0;
    for (uint32_t i = 0; i < 40; i++) {
        fixture_set(&fixture, n++, SW_SUM, i, 5);
        fixture_set(&fixture, n++, SW_DELETE, i + 50, 0);
        fixture_set(&fixture, n++, SW_SET, 1000 + 2 * i, 5);
        fixture_set(&fixture, n++, SW_SET, 1001 + 2 * i, 5);
        fixture_set(&fixture, n++, SW_SET, i + 50, 5); /* back, with another value */
    }
    cr_assert_eq(fixture_run(&fixture, n, 0), SW_E_FULL);
    unsigned char *after = slots_of(&fixture);
    cr_assert(before == NULL || memcmp(before, after, sw_table_raw_bytes(fixture.table)) == 0);
    fixture_audit(&fixture);
    free(before);
    free(after);
    fixture_close(&fixture);
}

/* Random groups around the limit, of all sizes, empty ones included. */
static void random_groups(uint32_t slot_bits, uint64_t seed)
{
    struct random random = random_of(seed);
    struct fixture fixture;
    open_small(&fixture, slot_bits);
    fixture.seed = seed;
    unsigned refused = 0;
    for (int step = 0; step < 150; step++) {
        uint32_t count = (uint32_t)random_below(&random, 120);
        for (uint32_t i = 0; i < count; i++) {
            fixture_set(&fixture, i, (enum sw_op)ops_draw(&random, OPS_ON_INTEGERS),
                        random_below(&random, 220), random_next(&random));
        }
        uint32_t groups = (uint32_t)random_below(&random, 2 * (uint64_t)count + 2);
        refused += fixture_run(&fixture, count, groups) == SW_E_FULL;
        fixture_audit(&fixture);
    }
    cr_assert_gt(refused, 10, "seed %llu never came near the limit", (unsigned long long)seed);
    fixture_close(&fixture);
}

Test(groups, random_groups)
{
    for (uint32_t round = 0; round < 6; round += tested_share()) {
        random_groups(64, random_seed() + round);
        random_groups(128, random_seed() + round);
    }
}
