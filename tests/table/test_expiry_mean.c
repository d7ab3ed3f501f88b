/* SPDX-License-Identifier: MIT
 *
 * test_expiry_mean.c - the mean time to live of a table's statistics, where no time comes.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/expiring.h"
#include "table/robin_hood/expiry_times.h"
#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(expiry_mean, .timeout = 120);

#define START 1000000000000ULL
#define KEYS 4096U

/* A table, and the clock of its next batch. */
struct world {
    struct fixture fixture;
    uint64_t clock;
};

static void open_world(struct world *world, uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    config.value_bytes = value_bytes;
    config.capacity_slots = 2 * KEYS;
    config.batch_ops_max = KEYS;
    config.stash_slots = 64;
    fixture_open(&world->fixture, &config);
    world->clock = START;
}

static void run_batch(struct world *world, struct sw_batch batch)
{
    batch.clock_ms = world->clock;
    cr_assert_eq(sw_batch_run(world->fixture.queue, &batch), SW_OK);
}

/* `op` on keys [first, first + count); each gets the expiry time `at`. */
static void put(struct world *world, enum sw_op op, uint32_t first, uint32_t count, uint64_t at)
{
    struct fixture *fixture = &world->fixture;
    for (uint32_t i = 0; i < count; i++) {
        fixture_store(fixture, fixture->keys, i, first + i);
        fixture_store_value(fixture, fixture->values, i, i);
    }
    run_batch(world, (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                       .op = op,
                                       .count = count,
                                       .keys = fixture->keys,
                                       .values = op == SW_DELETE ? NULL : fixture->values,
                                       .expire_at = at});
}

/* The next sweep, so much later. */
static void sweep_after(struct world *world, uint64_t ms)
{
    world->clock += ms;
    run_batch(world, (struct sw_batch){.kind = SW_BATCH_SWEEP, .count = KEYS});
}

static uint64_t mean_of(const struct world *world)
{
    const struct sw_table_stats stats = table_stats(world->fixture.table);
    return stats.ttl_mean_ms;
}

/* The mean is known although nothing is due, follows the clock, and hears of other times. */
static void follow_a_few(uint32_t slot_bits, uint32_t value_bytes)
{
    struct world world;
    open_world(&world, slot_bits, value_bytes);
    sweep_after(&world, 0);
    cr_assert_eq(mean_of(&world), 0, "no entry expires");
    put(&world, SW_SET, 0, 1, START + 100000);
    put(&world, SW_SET, 1, 1, START + 200000);
    put(&world, SW_SET, 2, 1, START + 300000);
    sweep_after(&world, 0);
    cr_assert_eq(mean_of(&world), 200000);
    sweep_after(&world, 1);
    cr_assert_eq(mean_of(&world), 199999, "time goes on");
    put(&world, SW_SET, 2, 1, START + 600000);
    sweep_after(&world, SW_EXPIRY_SURVEY_MS - 2);
    cr_assert_eq(mean_of(&world), 200000 - (SW_EXPIRY_SURVEY_MS - 1), "it is not looked at again");
    sweep_after(&world, 1);
    cr_assert_eq(mean_of(&world), 300000 - SW_EXPIRY_SURVEY_MS, "it is looked at again");
    world.clock = START + 100000;
    sweep_after(&world, 0);
    cr_assert_eq(mean_of(&world), 300000, "the mean of those that a pass kept");
    put(&world, SW_DELETE, 0, 3, 0);
    cr_assert_eq(mean_of(&world), 0, "no entry expires any more");
    put(&world, SW_SET, 3, 1, START + 100000000);
    sweep_after(&world, SW_EXPIRY_SURVEY_MS);
    cr_assert_eq(mean_of(&world), 99900000 - SW_EXPIRY_SURVEY_MS, "the old mean is forgotten");
    fixture_close(&world.fixture);
}

Test(expiry_mean, integers)
{
    follow_a_few(64, 0);
    follow_a_few(128, 0);
}

Test(expiry_mean, rows)
{
    follow_a_few(128, 60);
}

/* Times that no clock reaches do not overflow the sum. */
Test(expiry_mean, far_times)
{
    struct world world;
    open_world(&world, 128, 0);
    put(&world, SW_SET, 0, 16, UINT64_MAX - 1);
    sweep_after(&world, 0);
    cr_assert_eq(mean_of(&world), SW_EXPIRY_TTL_MAX);
    fixture_close(&world.fixture);
}

static void expect_about(const struct world *world, uint64_t mean)
{
    const uint64_t is = mean_of(world);
    cr_assert(is > mean - mean / 20 && is < mean + mean / 20, "the mean is %llu, not about %llu",
              (unsigned long long)is, (unsigned long long)mean);
}

/* If there are many keys, a survey reads a part of them; the estimate is near the mean, and follows
 * it. */
Test(expiry_mean, many_keys)
{
    struct world world;
    open_world(&world, 128, 0);
    put(&world, SW_SET, 0, KEYS / 2, START + 1000000000);
    put(&world, SW_SET, KEYS / 2, KEYS / 2, START + 1500000000);
    sweep_after(&world, 0);
    expect_about(&world, 1250000000);
    put(&world, SW_SET, 0, KEYS, START + 2000000000);
    for (int round = 0; round < 16; round++) {
        sweep_after(&world, SW_EXPIRY_SURVEY_MS);
    }
    expect_about(&world, 2000000000);
    fixture_close(&world.fixture);
}
