/* SPDX-License-Identifier: MIT
 *
 * test_growth.c - a table that grows by itself: when, how far, and that only its size shows it.
 */
#include <criterion/criterion.h>
#include <unistd.h>

#include "table/device.h"
#include "table/growth.h"
#include "table/robin_hood/cpu/resize.h"
#include "table/robin_hood/geometry.h"
#include "tests/support/clock.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(growth, .timeout = 120);

#define ULL(x) ((unsigned long long)(x))

static struct sw_table_config growing(uint32_t slot_bits, uint64_t from, uint64_t to)
{
    struct sw_table_config config = fixture_config(slot_bits);
    config.capacity_slots = from;
    config.max_capacity_slots = to;
    return config;
}

/* The CUDA backend counts every operation in flight that may insert as an entry to come. */
static void skip_where_growth_is_early(void)
{
    if (tested_backend() == SW_BACKEND_CUDA) {
        cr_skip_test("how large a table becomes is not exact on CUDA");
    }
}

struct plan {
    uint32_t slot_bits;
    uint32_t threads;
    uint32_t ops_max; /* largest batch */
    double load;
    bool stash;
    uint64_t seed;
};

/* Random batches with repeated keys and all operations, until the table is as large as it may be
 * and refuses. */
static void random_batches(struct plan plan)
{
    struct sw_table_config config = growing(plan.slot_bits, 4, 1 << 13);
    struct fixture fixture;
    struct random random = random_of(plan.seed);
    bool refused = false;
    bool most = false;
    config.threads = plan.threads;
    config.batch_ops_max = plan.ops_max;
    config.max_load = plan.load;
    config.stash_slots = plan.stash ? 64 : 0;
    config.seed = plan.seed;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    fixture.seed = plan.seed;
    for (int batch = 0; !(refused && most); batch++) {
        uint32_t count = 1 + (uint32_t)random_below(&random, plan.ops_max);
        uint64_t before = fixture.info.capacity_slots;
        bool writes_only = random_below(&random, 2) == 0; /* these may go in parallel */
        cr_assert_lt(batch, 20000, "seed %llu: it is never full", ULL(plan.seed));
        for (uint32_t i = 0; i < count; i++) {
            uint64_t key = random_below(&random, 12000) * 77;
            enum sw_op op = (enum sw_op)ops_draw(&random, OPS_ON_INTEGERS);
            op = op == SW_DELETE && (writes_only || i % 4 != 0) ? SW_SET : op;
            key = key == 0 ? fixture_key_of(&fixture, fixture.key_max) : key;
            fixture_set(&fixture, i, op, key, random_next(&random) & 0xffff);
        }
        /* without increments one group may be sure to be refused at any size, and does not grow */
        uint32_t groups = (uint32_t)random_below(&random, 5);
        groups = groups < 2 && !fixture_can(&fixture, SW_INCREMENT) ? 2 : groups;
        refused |= fixture_run(&fixture, count, groups) == SW_E_FULL;
        most |= fixture.info.capacity_slots == 1 << 13;
        cr_assert(!refused || most, "seed %llu: refused at %llu slots", ULL(plan.seed),
                  ULL(fixture.info.capacity_slots));
        if (fixture.info.capacity_slots != before) {
            fixture_audit(&fixture);
        }
        if (batch % 16 == 0) {
            must_check(fixture.table);
        }
    }
    cr_assert_gt(table_stats(fixture.table).grown, 0);
    cr_assert_eq(table_stats(fixture.table).resize_failed, 0);
    fixture_audit(&fixture);
    cr_assert_eq(fixture_resize(&fixture, 0), SW_OK);
    fixture_canonical(&fixture);
    fixture_end(&fixture);
}

Test(growth, small_batches)
{
    random_batches((struct plan){64, 1, 60, 0.85, true, 1});
    random_batches((struct plan){128, 1, 60, 1.0, false, 2});
    random_batches((struct plan){128, 1, 7, 0.5, true, 3});
}

Test(growth, large_batches)
{
    random_batches((struct plan){64, 1, 4000, 0.95, false, 4});
    random_batches((struct plan){128, 1, 20000, 0.85, true, 5});
    random_batches((struct plan){64, 3, 40000, 0.85, true, 6});
    random_batches((struct plan){128, 3, 40000, 1.0, false, 7});
}

/* Upserts alone: after each batch the layout is that of a new table. */
static void canonical_always(uint32_t slot_bits, uint64_t seed)
{
    struct sw_table_config config = growing(slot_bits, 4, 1 << 13);
    struct fixture fixture;
    struct random random = random_of(seed);
    config.seed = seed;
    /* so that the stash is used */
    config.max_probe = config.backend == SW_BACKEND_CPU ? 2 : 0;
    fixture_open(&fixture, &config);
    fixture.seed = seed;
    while (fixture.info.capacity_slots < 1 << 13) {
        uint32_t count = 1 + (uint32_t)random_below(&random, fixture.info.capacity_slots / 4);
        for (uint32_t i = 0; i < count; i++) {
            fixture_set(&fixture, i, SW_SET, random_below(&random, 1 << 20), i);
        }
        cr_assert_eq(fixture_run(&fixture, count, 0), SW_OK);
        fixture_canonical(&fixture);
        fixture_audit(&fixture);
    }
    fixture_close(&fixture);
}

Test(growth, canonical)
{
    canonical_always(64, 51);
    canonical_always(128, 52);
}

/* The table grows only where an insert might be refused, not where a batch is merely long. */
static void only_when_needed(uint32_t threads)
{
    skip_where_growth_is_early();
    struct sw_table_config config = growing(128, 4096, 1 << 20);
    struct fixture fixture;
    config.threads = threads;
    config.batch_ops_max = 1 << 15;
    fixture_open(&fixture, &config);
    uint64_t most = fixture.info.occupied_max;
    fixture_insert_range(&fixture, 0, most - 1);
    for (uint32_t i = 0; i < 1 << 15; i++) {
        fixture_set(&fixture, i, SW_SUM, 1000000, 1);
    }
    cr_assert_eq(fixture_run(&fixture, 1 << 15, 0), SW_OK, "one new key, often");
    for (uint32_t i = 0; i < 1 << 15; i++) {
        fixture_set(&fixture, i, i % 2 == 0 ? SW_SET : SW_SET_PRESENT,
                    i % (most - 1) + i % 2 * 2000000, i);
    }
    fixture_set(&fixture, 0, SW_DELETE, 3000000, 0);
    cr_assert_eq(fixture_run(&fixture, 1 << 15, 0), SW_OK, "present keys, and such as stay absent");
    cr_assert_eq(table_stats(fixture.table).occupied, most);
    cr_assert_eq(table_stats(fixture.table).grown, 0);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, fixture.key_max), 1),
                 SW_OK, "one more");
    cr_assert_eq(table_stats(fixture.table).grown, 1);
    cr_assert_eq(fixture.info.capacity_slots, 8192, "twice as large");
    fixture_canonical(&fixture);
    fixture_audit(&fixture);
    fixture_insert_range(&fixture, 1 << 20, 1 << 15);
    uint64_t held = oracle_count(fixture.oracle);
    cr_assert_eq(table_stats(fixture.table).grown, 2);
    cr_assert_eq(fixture.info.capacity_slots, sw_geometry_admitting(&config, 0, held),
                 "as large as they need");
    fixture_canonical(&fixture);
    fixture_audit(&fixture);
    fixture_clear(&fixture);
    cr_assert_eq(fixture.info.capacity_slots, sw_geometry_admitting(&config, 0, held),
                 "clearing does not shrink");
    fixture_end(&fixture);
}

Test(growth, only_when_needed)
{
    only_when_needed(1);
    only_when_needed(2);
}

/* A table at its largest refuses groups one by one, as one that never grew. */
Test(growth, up_to_the_largest)
{
    struct sw_table_config config = growing(64, 64, 1001);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    cr_assert_eq(fixture.info.max_capacity_slots, 1004, "whole buckets");
    for (uint32_t i = 0; i < 2000; i++) {
        fixture_set(&fixture, i, SW_SET, i * 3, i);
    }
    cr_assert_eq(fixture_run(&fixture, 2000, 40), SW_E_FULL);
    cr_assert_eq(fixture.info.capacity_slots, 1004);
    cr_assert_gt(oracle_count(fixture.oracle), 1004 * 0.85 - 50);
    fixture_canonical(&fixture);
    fixture_end(&fixture);
}

/* Keys of one home, more than the stash may keep: the next insert grows the table, and they spread.
 */
TEST_OF_BOTH_WIDTHS(growth, full_stash)
{
    struct sw_table_config config = growing(slot_bits, 1024, 1 << 16);
    struct fixture fixture;
    config.max_probe = 1;
    config.stash_slots = 4;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    uint64_t first = fixture_first_m(&fixture, 10);
    uint64_t step = (fixture_first_m(&fixture, 11) - first) / 16;
    for (uint32_t i = 0; i < 16; i++) {
        fixture_set(&fixture, i, SW_SET, fixture_key_of(&fixture, first + i * step), i);
    }
    cr_assert_eq(fixture_run(&fixture, 16, 0), SW_OK);
    cr_assert_eq(table_stats(fixture.table).stash_occupied, 8);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, fixture_key_of(&fixture, first), 99), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_DELETE, 12345, 0), SW_OK);
    cr_assert_eq(table_stats(fixture.table).grown, 0, "nothing was inserted");
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 12345, 1), SW_OK);
    cr_assert_eq(table_stats(fixture.table).grown, 1);
    cr_assert_eq(fixture.info.capacity_slots, 2048);
    cr_assert_eq(table_stats(fixture.table).stash_occupied, 4,
                 "16 entries of two homes, in three buckets");
    fixture_canonical(&fixture);
    fixture_end(&fixture);
}

/* Neighbours in m, which no capacity spreads: the stash cannot take them, so nothing grows, inserts
 * are refused, and deleting is the way out. */
Test(growth, nothing_helps)
{
    struct sw_table_config config = growing(128, 64, 4096);
    struct fixture fixture;
    config.max_probe = 1;
    config.stash_slots = 4;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    uint64_t first = fixture_first_m(&fixture, 10);
    for (uint32_t i = 0; i < 20; i++) {
        fixture_set(&fixture, i, SW_SET, fixture_key_of(&fixture, first + i), i);
    }
    cr_assert_eq(fixture_run(&fixture, 20, 0), SW_OK);
    oracle_limit(fixture.oracle, 20);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    cr_assert_eq(table_stats(fixture.table).resize_failed, 1);
    cr_assert_eq(fixture.info.capacity_slots, 64);
    cr_assert_eq(fixture_resize(&fixture, 512), SW_OK, "the stash is no worse for it");
    cr_assert_eq(table_stats(fixture.table).stash_occupied, 12);
    fixture_audit(&fixture);
    for (uint32_t i = 0; i < 8; i++) {
        fixture_set(&fixture, i, SW_DELETE, fixture_key_of(&fixture, first + 19 - i), 0);
    }
    fixture_run(&fixture, 8, 0);
    cr_assert_eq(table_stats(fixture.table).stash_occupied, 4);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_OK);
    fixture_end(&fixture);
}

/* A single group that fits at no size leaves the table as it is, one that does makes it grow; of
 * several groups those that fit are carried out. */
static void not_in_vain(uint32_t slot_bits, uint32_t threads)
{
    skip_where_growth_is_early();
    struct sw_table_config config = growing(slot_bits, 64, 1024);
    struct fixture fixture;
    config.threads = threads;
    config.batch_ops_max = 1 << 15;
    fixture_open(&fixture, &config);
    uint64_t most = 870; /* floor(1024 * 0.85) */
    for (uint32_t i = 0; i <= most; i++) {
        fixture_set(&fixture, i, SW_SET, i, i);
    }
    oracle_limit(fixture.oracle, most);
    cr_assert_eq(fixture_run(&fixture, (uint32_t)most + 1, 0), SW_E_FULL);
    cr_assert_eq(fixture.info.capacity_slots, 64, "one key too many");
    for (uint32_t i = 0; i < 1 << 15; i++) {
        fixture_set(&fixture, i, SW_SUM, i % (most + 1), i);
    }
    cr_assert_eq(fixture_run(&fixture, 1 << 15, 0), SW_E_FULL);
    cr_assert_eq(fixture.info.capacity_slots, 64, "the same keys, repeated");
    cr_assert_eq(table_stats(fixture.table).grown + table_stats(fixture.table).resize_failed, 0);
    for (uint32_t i = 0; i < most; i++) {
        fixture_set(&fixture, i, SW_SET, i, i);
    }
    cr_assert_eq(fixture_run(&fixture, (uint32_t)most, 0), SW_OK);
    cr_assert_eq(fixture.info.capacity_slots, 1024, "the entries just fit");
    fixture_end(&fixture);
}

Test(growth, not_in_vain)
{
    not_in_vain(64, 1);
    not_in_vain(128, 2);
}

/* Where a delete makes room within the group, or a decrement inserts nothing, it may fit. */
Test(growth, in_vain_only_if_sure)
{
    struct sw_table_config config = growing(128, 64, 1024);
    struct fixture fixture;
    fixture_open(&fixture, &config);
    oracle_limit(fixture.oracle, 870);
    for (uint32_t i = 0; i < 870; i++) {
        fixture_set(&fixture, i, SW_SET, i, i);
    }
    fixture_set(&fixture, 870, SW_DELETE, 5, 0);
    fixture_set(&fixture, 871, SW_SET, 5000, 0);
    cr_assert_eq(fixture_run(&fixture, 872, 0), SW_OK);
    fixture_clear(&fixture);
    cr_assert_eq(fixture_resize(&fixture, 64), SW_OK);
    enum sw_op nothing = fixture_can(&fixture, SW_DECREMENT) ? SW_DECREMENT : SW_SET_PRESENT;
    for (uint32_t i = 0; i < 1000; i++) {
        fixture_set(&fixture, i, i < 800 ? SW_SET : nothing, i, 1);
    }
    cr_assert_eq(fixture_run(&fixture, 1000, 0), SW_OK);
    cr_assert_eq(table_stats(fixture.table).occupied, 800);
    fixture_end(&fixture);
}

Test(growth, pause_after_a_failure)
{
    cr_assert_eq(sw_cpu_retry_pause_ns(0), 1000000000);
    cr_assert_eq(sw_cpu_retry_pause_ns(49000000), 1000000000);
    cr_assert_eq(sw_cpu_retry_pause_ns(60000000), 1200000000);
    cr_assert_eq(sw_cpu_retry_pause_ns(600ULL * 1000000000), 12000ULL * 1000000000);
}

/* Growth that failed because no size spreads the keys is tried again when it may help, and not
 * before: when something is deleted, or the capacity is another. */
Test(growth, full_is_not_repeated)
{
    struct sw_table_config config = growing(64, 64, 4096);
    struct fixture fixture;
    config.max_probe = 1;
    config.stash_slots = 4;
    if (!fixture_open_growing(&fixture, &config)) {
        return;
    }
    uint64_t first = fixture_first_m(&fixture, 10);
    for (uint32_t i = 0; i < 24; i++) {
        fixture_set(&fixture, i, SW_SET, fixture_key_of(&fixture, first + i), i);
    }
    cr_assert_eq(fixture_run(&fixture, 24, 0), SW_OK);
    oracle_limit(fixture.oracle, 24); /* what the stash above its limit amounts to */
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    cr_assert_eq(table_stats(fixture.table).resize_failed, 1);
    usleep(1100 * 1000);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    cr_assert_eq(table_stats(fixture.table).resize_failed, 1, "nothing is another");
    cr_assert_eq(fixture_run_one(&fixture, SW_DELETE, fixture_key_of(&fixture, first), 0), SW_OK);
    oracle_limit(fixture.oracle, 23);
    double began = 0;
    for (int i = 0; table_stats(fixture.table).resize_failed < 2; i++) {
        cr_assert_lt(i, 600, "there are fewer entries");
        usleep(i == 0 ? 0 : 100 * 1000); /* the pause is longer where the first try took long */
        began = seconds_now();
        cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    }
    cr_assert_eq(table_stats(fixture.table).resize_failed, 2);
    cr_assert_eq(fixture_run_one(&fixture, SW_DELETE, fixture_key_of(&fixture, first + 23), 0),
                 SW_OK);
    oracle_limit(fixture.oracle, 22);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    uint64_t failed = table_stats(fixture.table).resize_failed;
    cr_assert(failed == 2 || seconds_now() - began >= 1, "within a second");
    cr_assert_eq(fixture_resize(&fixture, 512), SW_OK);
    cr_assert_eq(fixture_run_one(&fixture, SW_SET, 1, 1), SW_E_FULL);
    cr_assert_eq(table_stats(fixture.table).resize_failed, failed + 1, "another capacity");
    fixture_end(&fixture);
}

/* More slots would not make room where the ids are the limit, also not for one of several groups,
 * or for a key that expires. */
Test(growth, of_a_table_whose_ids_are_all_in_use)
{
    enum { IDS = 100 };
    struct sw_table_config config = growing(128, 4, 1 << 13);
    config.value_bytes = 0; /* also where the suite tests rows */
    config.rows_in = SW_ROWS_IN_GPU;
    config.rows_gpu_bytes = 0;
    config.rows_max = IDS;
    memset(&config.tuning, 0, sizeof(config.tuning)); /* it may be one for CUDA */
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    struct io_memory io = {.table = table};
    uint64_t *keys = io_array(&io, (IDS + 2) * sizeof(*keys));
    uint64_t *found = io_array(&io, 2 * sizeof(*found));
    uint32_t *ends = io_array(&io, 2 * sizeof(*ends));
    uint8_t *refused = io_array(&io, 2);
    ends[0] = IDS + 1;
    ends[1] = IDS + 2;
    for (uint32_t i = 0; i < IDS + 2; i++) {
        keys[i] = i;
    }
    struct sw_batch batch = {.op = SW_FIND_OR_INSERT, .count = IDS, .keys = keys, .found = found};
    must_run(queue, &batch);
    const uint64_t grown = table_stats(table).grown;
    for (uint64_t at = 0; at <= 1000; at += 1000) {
        batch = (struct sw_batch){.op = SW_FIND_OR_INSERT,
                                  .count = IDS + 2,
                                  .keys = keys,
                                  .found = found,
                                  .group_count = 2,
                                  .group_ends = ends,
                                  .group_refused = refused,
                                  .expire_at = at};
        cr_assert_eq(sw_batch_run(queue, &batch), SW_E_FULL);
        cr_assert_eq(table_stats(table).grown, grown);
    }
    sw_queue_destroy(queue);
    io_free(&io);
    sw_table_destroy(table);
}

/* An owner that permits `most` bytes to a table. */
struct owner {
    struct sw_growth growth;
    uint64_t most, growing;
    uint32_t refused;
};

static bool permits(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t slots,
                    uint64_t bytes)
{
    struct owner *owner = (struct owner *)growth;
    (void)memory;
    const uint64_t now =
        __atomic_load_n(&growth->bytes[SW_GROWTH_OF_TABLE], __ATOMIC_RELAXED) + owner->growing;
    if (now + bytes > owner->most || (growth->slots_max != 0 && slots > growth->slots_max)) {
        owner->refused += slots != 0;
        return false;
    }
    owner->growing += bytes;
    return true;
}

static void settled(struct sw_growth *growth, enum sw_growth_memory memory, uint64_t bytes)
{
    (void)memory;
    ((struct owner *)growth)->growing -= bytes;
}

/* Inserts `count` keys by batches. The owner always knows the memory of the table. */
static void insert_owned(struct fixture *fixture, struct owner *owner, uint64_t first,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 200) {
        fixture_insert_range(fixture, first + i, 200);
        sw_table_info(fixture->table, &fixture->info);
        cr_assert_eq(owner->growth.bytes[SW_GROWTH_OF_TABLE], fixture->info.bytes_reserved);
        cr_assert_eq(owner->growing, 0);
        cr_assert_leq(owner->growth.bytes[SW_GROWTH_OF_TABLE], owner->most);
    }
}

/* A table takes no memory that its owner refuses, and fills the slots that it has. */
Test(growth, asks_its_owner)
{
    struct sw_table_config config = growing(128, 256, 1 << 14);
    struct owner owner = {.growth = {.permits = permits, .settled = settled}, .most = UINT64_MAX};
    struct fixture fixture;
    cr_assert_eq(sw_device_create(1, &config.shared), SW_OK);
    config.growth = &owner.growth;
    config.batch_ops_max = 200;
    fixture_open(&fixture, &config);
    owner.growth.bytes[SW_GROWTH_OF_TABLE] = fixture.info.bytes_reserved;
    insert_owned(&fixture, &owner, 0, 1000);
    const uint64_t slots = fixture.info.capacity_slots;
    owner.most = owner.growth.bytes[SW_GROWTH_OF_TABLE];
    oracle_limit(fixture.oracle, fixture.info.occupied_max);
    insert_owned(&fixture, &owner, 1000, 4000);
    cr_assert_gt(owner.refused, 0);
    cr_assert_eq(fixture_resize(&fixture, 1 << 13), SW_E_NOMEM);
    cr_assert_eq(fixture.info.capacity_slots, slots);
    fixture_audit(&fixture);
    owner.most = UINT64_MAX;
    owner.growth.slots_max = 3000;
    cr_assert_eq(fixture_resize(&fixture, 256), SW_OK); /* also ends the pause */
    oracle_limit(fixture.oracle, (uint64_t)(3000 * config.max_load));
    insert_owned(&fixture, &owner, 5000, 2000);
    cr_assert_eq(fixture.info.capacity_slots, 3000);
    fixture_audit(&fixture);
    fixture_close(&fixture);
    sw_device_destroy(config.shared);
}
