/* SPDX-License-Identifier: MIT
 *
 * test_expiry.c - entries that expire, beside a model of a few keys: random batches of random
 * groups under clocks that the test drives, in tables that are too small for all keys and in ones
 * that grow, of integers of both widths and of rows. Now and then the expiry of some entries is
 * suspended. After every step every key is looked up.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/expiring.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"
#include "tests/table/expiry_model.h"

TestSuite(expiry, .timeout = 240);

#define OPS_MAX 24U
#define STEPS 3000

struct world {
    struct fixture fixture;
    struct random random;
    uint64_t keys[KEYS];
    struct model model;
    uint64_t clock; /* the table's */
    uint64_t clock_steps;
    uint64_t *expires, *expires_out;
    uint8_t *expired_keys;
    bool grows;
    uint64_t held; /* bit k: key k is */
};

static uint32_t number_of(const struct world *world, uint64_t key)
{
    uint32_t k = 0;
    while (k < KEYS && world->keys[k] != key) {
        k++;
    }
    cr_assert_lt(k, KEYS, "seed %llu: the test has no key %llu", (unsigned long long)random_seed(),
                 (unsigned long long)key);
    return k;
}

#define agree(what, must, is)                                                                \
    cr_assert_eq((uint64_t)(is), (uint64_t)(must),                                           \
                 "seed %llu, step %d, operation %u: %s is %llu, "                            \
                 "not %llu",                                                                 \
                 (unsigned long long)random_seed(), step, i, what, (unsigned long long)(is), \
                 (unsigned long long)(must))

/* --- steps --------------------------------------------------------------------------------------
 */

static void open_world(struct world *world, uint32_t slot_bits, uint32_t value_bytes, bool grows)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    memset(world, 0, sizeof(*world));
    config.value_bytes = value_bytes;
    config.capacity_slots = 16;
    config.max_capacity_slots = grows ? 256 : 0;
    config.batch_ops_max = 64;
    config.stash_slots = 64;
    world->grows = grows;
    fixture_open(&world->fixture, &config);
    world->model.limit = grows ? KEYS : world->fixture.info.occupied_max;
    world->model.value_max = world->fixture.value_max;
    world->random = random_of(slot_bits + value_bytes + (grows ? 1 : 0));
    for (uint32_t k = 0; k < KEYS; k++) {
        world->keys[k] = k;
    }
    world->keys[KEYS - 1] = fixture_key_of(&world->fixture, world->fixture.key_max);
    world->keys[KEYS - 2] = world->fixture.key_max;
    world->clock = 1000000000000;
    /* the first batch that sets a time starts the table's clock; its key is absent */
    struct sw_batch first = fixture_batch(&world->fixture, SW_EXPIRE, 1);
    first.clock_ms = world->clock;
    first.expire_at = world->clock + 1;
    fixture_store(&world->fixture, world->fixture.keys, 0, 0);
    cr_assert_eq(sw_batch_run(world->fixture.queue, &first), SW_OK);
    world->expires = sw_io_alloc(world->fixture.table, OPS_MAX * 2 * sizeof(uint64_t));
    world->expires_out = sw_io_alloc(world->fixture.table, OPS_MAX * 2 * sizeof(uint64_t));
}

static void close_world(struct world *world)
{
    sw_io_free(world->fixture.table, world->expires, OPS_MAX * 2 * sizeof(uint64_t));
    sw_io_free(world->fixture.table, world->expires_out, OPS_MAX * 2 * sizeof(uint64_t));
    fixture_close(&world->fixture);
}

static uint64_t draw_time(struct world *world)
{
    switch (random_below(&world->random, 8)) {
    case 0:
        return 0;
    case 1:
        return SW_EXPIRE_KEEP;
    case 2:
        return 1;
    case 3:
        return world->clock;
    case 4:
        return world->clock + 1000000000000ULL;
    default:
        return world->clock + random_below(&world->random, 60);
    }
}

/* Draws the clock of the next batch: it stands, goes on, or is 0; or the system's is behind. */
static uint64_t draw_clock(struct world *world)
{
    switch (random_below(&world->random, 8)) {
    case 0:
        return world->clock - random_below(&world->random, 100);
    case 1:
        return world->clock + random_below(&world->random, 50);
    case 2:
        return 0;
    default:
        return world->clock + random_below(&world->random, 5);
    }
}

static uint64_t table_clock(struct world *world, uint64_t clock)
{
    world->clock = clock > world->clock ? clock : world->clock;
    return clock == 0 ? 0 : world->clock;
}

static bool names(const struct world *world, const struct sw_batch *batch, uint64_t key)
{
    bool named = false;
    for (uint32_t i = 0; batch->kind == SW_BATCH_OPERATIONS && i < batch->count; i++) {
        named |= fixture_load(&world->fixture, batch->keys, i) == key;
    }
    return named;
}

/* Takes what the table has removed from the model. Each had to be dead, and not held, unless the
 * batch names it. */
static void take_expired(struct world *world, struct sw_batch *batch, uint64_t clock, int step)
{
    for (uint32_t i = 0; i < batch->expired_keys_count; i++) {
        const uint64_t key = fixture_load(&world->fixture, batch->expired_keys, i);
        const uint32_t k = number_of(world, key);
        agree("a removed entry's death", 1, model_is_dead(&world->model.entries[k], clock));
        agree("a removed entry that was held", 0,
              (world->held >> k & 1) != 0 && !names(world, batch, key));
        model_drop(&world->model, k);
        world->model.expired++;
    }
    free(batch->expired_keys);
}

/* Whether an expired entry that is not held remains. */
static bool has_dead(const struct world *world, uint64_t clock)
{
    bool has = false;
    for (uint32_t k = 0; k < KEYS; k++) {
        has |= (world->held >> k & 1) == 0 && model_is_dead(&world->model.entries[k], clock);
    }
    return has;
}

static bool holds(const void *context, uint64_t key)
{
    const struct world *world = context;
    return (world->held >> number_of(world, key) & 1) != 0;
}

/* Holds other entries, or none. */
static void hold_some(struct world *world)
{
    sw_table_suspend_expiry(world->fixture.table, NULL, NULL);
    world->held = random_below(&world->random, 3) == 0 ? random_next(&world->random) : 0;
    if (world->held != 0) {
        sw_table_suspend_expiry(world->fixture.table, holds, world);
    }
}

/* Every key, at a clock. */
static void look_at_all(struct world *world, uint64_t given, int step)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch = fixture_batch(fixture, SW_GET, KEYS);
    batch.clock_ms = given;
    batch.expires_out = world->expires_out;
    for (uint32_t i = 0; i < KEYS; i++) {
        fixture_store(fixture, fixture->keys, i, world->keys[i]);
    }
    cr_assert_eq(sw_batch_run(fixture->queue, &batch), SW_OK);
    uint64_t living = 0;
    uint32_t i = 0;
    const uint64_t clock = table_clock(world, given);
    for (; i < KEYS; i++) {
        const struct entry *entry = &world->model.entries[i];
        const bool lives = entry->held && !model_is_dead(entry, clock);
        living += lives;
        agree("presence", lives, fixture->found[0] >> i & 1);
        agree("time", lives ? entry->at : 0, world->expires_out[i]);
        agree("value", lives ? entry->value : 0, fixture_load_value(fixture, fixture->previous, i));
    }
    agree("hits", living, batch.counters.by_class[SW_CLASS_GET].hits);
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = 64,
                            .clock_ms = given,
                            .scan.keys = fixture->keys,
                            .scan.values = fixture->values};
    cr_assert_eq(sw_batch_run(fixture->queue, &scan), SW_OK);
    agree("the scan's cursor", 0, scan.scan.cursor);
    agree("the scan's length", living, scan.scan.got);
    for (i = 0; i < scan.scan.got; i++) {
        const struct entry *entry =
            &world->model.entries[number_of(world, fixture_load(fixture, fixture->keys, i))];
        agree("a scanned entry's life", 1, entry->held && !model_is_dead(entry, clock));
        agree("its value", entry->value, fixture_load_value(fixture, fixture->values, i));
    }
}

static void check_figures(struct world *world, int step)
{
    char violation[256] = "";
    uint64_t expires = 0;
    const uint32_t i = 0;
    for (uint32_t k = 0; k < KEYS; k++) {
        expires += world->model.entries[k].held && world->model.entries[k].at != 0;
    }
    const struct sw_table_stats stats = table_stats(world->fixture.table);
    agree("entries held", world->model.held, stats.occupied);
    agree("entries that expire", expires, stats.expires);
    agree("entries expired", world->model.expired, stats.expired);
    agree("steps of the clock", world->clock_steps, stats.clock_steps);
    cr_assert_eq(sw_table_check(world->fixture.table, violation, sizeof(violation)), SW_OK,
                 "seed %llu, step %d: %s", (unsigned long long)random_seed(), step, violation);
}

static void draw_batch(struct world *world, struct sw_batch *batch, bool one_time)
{
    struct fixture *fixture = &world->fixture;
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS_MAX);
    const uint32_t range = 1 + (uint32_t)random_below(&world->random, KEYS);
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum sw_op op = SW_GET;
        do {
            op = (enum sw_op)ops_draw(&world->random, random_below(&world->random, 3) == 0
                                                          ? SW_OPS_EXPIRE
                                                          : SW_OPS_INTEGERS);
        } while (!fixture_can(fixture, op));
        fixture->ops[i] = (uint8_t)op;
        fixture_store(fixture, fixture->keys, i,
                      world->keys[KEYS - 1 - random_below(&world->random, range)]);
        fixture_store_value(fixture, fixture->values, i,
                            random_below(&world->random, 4) == 0
                                ? fixture->value_max - random_below(&world->random, 2)
                                : random_below(&world->random, 5));
        world->expires[i] = draw_time(world);
        if (i + 1 == count || random_below(&world->random, 3) == 0) {
            fixture->group_ends[groups++] = i + 1;
        }
    }
    *batch = fixture_batch(fixture, SW_GET, count);
    batch->ops = fixture->ops;
    batch->group_count = groups;
    batch->group_ends = fixture->group_ends;
    batch->group_refused = fixture->group_refused;
    batch->clock_ms = draw_clock(world);
    batch->expires = one_time ? NULL : world->expires;
    batch->expire_at = world->expires[0];
    batch->expires_out = world->expires_out;
    batch->wants_expired_keys = true;
}

static bool only_gets(const struct sw_batch *batch)
{
    bool only = true;
    for (uint32_t i = 0; i < batch->count; i++) {
        only &= batch->ops[i] == SW_GET;
    }
    return only;
}

static void write_some(struct world *world, int step)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch;
    draw_batch(world, &batch, random_below(&world->random, 4) == 0);
    const uint64_t given = batch.clock_ms;
    const int status = sw_batch_run(fixture->queue, &batch);
    uint32_t i = 0;
    if (only_gets(&batch)) {
        table_clock(world, given);
        return;
    }
    const uint64_t clock = table_clock(world, given);
    agree("the clock", clock, batch.clock_ms);
    const uint64_t own = world->model.expired;
    take_expired(world, &batch, clock, step);
    for (; i < batch.count; i++) {
        const uint32_t k = number_of(world, fixture_load(fixture, fixture->keys, i));
        agree("a dead key of the batch", 0, model_is_dead(&world->model.entries[k], clock));
    }
    bool refused = false;
    i = 0;
    for (uint32_t g = 0; g < batch.group_count; g++) {
        const uint32_t first = i;
        struct entry saved[KEYS];
        struct entry before[OPS_MAX];
        memcpy(saved, world->model.entries, sizeof(saved));
        const uint64_t held = world->model.held, expired = world->model.expired;
        bool fits = true;
        for (; i < batch.group_ends[g]; i++) {
            const uint64_t at = batch.expires != NULL ? world->expires[i] : batch.expire_at;
            fits = fits && model_apply(&world->model, (enum sw_op)fixture->ops[i],
                                       number_of(world, fixture_load(fixture, fixture->keys, i)),
                                       fixture_load_value(fixture, fixture->values, i), at,
                                       clock > 0 ? clock : 1, &before[i]);
        }
        agree("a group's refusal", !fits, fixture->group_refused[g]);
        if (!fits) {
            memcpy(world->model.entries, saved, sizeof(saved));
            world->model.held = held;
            world->model.expired = expired;
            refused = true;
            continue;
        }
        for (i = first; i < batch.group_ends[g]; i++) {
            agree("presence before", before[i].held, fixture->found[i / 64] >> (i % 64) & 1);
            agree("the value before", before[i].held ? before[i].value : 0,
                  fixture_load_value(fixture, fixture->previous, i));
            agree("the time before", before[i].at, world->expires_out[i]);
        }
    }
    agree("the status", refused ? SW_E_FULL : SW_OK, status);
    agree("entries the batch let expire", world->model.expired - own, batch.expired);
    if (refused) {
        agree("dead entries beside a refusal", 0,
              has_dead(world, clock) && batch.expired_keys_count < batch.count);
    }
}

/* A sweep, of all or of a part; now and then the system's clock has been set back. */
static void sweep_some(struct world *world, int step)
{
    const uint64_t chance = random_below(&world->random, 6);
    const uint64_t given = chance == 0   ? world->clock - 60001 - random_below(&world->random, 1000)
                           : chance == 1 ? world->clock - 60000
                                         : world->clock + random_below(&world->random, 30);
    uint32_t i = 0;
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, 64);
    bool ended = false;
    for (; !ended; i++) {
        struct sw_batch batch = {
            .kind = SW_BATCH_SWEEP, .count = count, .clock_ms = given, .wants_expired_keys = true};
        cr_assert_eq(sw_batch_run(world->fixture.queue, &batch), SW_OK);
        const uint64_t clock = table_clock(world, given);
        agree("the sweep's clock", clock, batch.clock_ms);
        agree("a sweep's number", batch.expired_keys_count > 0, batch.write_sequence > 0);
        take_expired(world, &batch, clock, step);
        ended = batch.sweep.cursor == 0;
        if (ended && chance == 0) {
            agree("dead entries where the clock goes back", 0, has_dead(world, clock));
            world->clock = given;
            world->clock_steps++;
        } else if (ended && chance > 1 && i > 0) {
            break;
        }
        if (!ended && chance > 1 && random_below(&world->random, 4) == 0) {
            break; /* the next one goes on with it */
        }
    }
    agree("the table's clock", world->clock, sw_table_clock(world->fixture.table, 0));
}

static void run_world(uint32_t slot_bits, uint32_t value_bytes, bool grows)
{
    static struct world world;
    open_world(&world, slot_bits, value_bytes, grows);
    const int steps = STEPS / (int)tested_share();
    for (int step = 0; step < steps; step++) {
        const uint64_t chance = random_below(&world.random, 100);
        if (chance < 12) {
            sweep_some(&world, step);
        } else if (chance < 13) {
            struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
            cr_assert_eq(sw_batch_run(world.fixture.queue, &clear), SW_OK);
            memset(world.model.entries, 0, sizeof(world.model.entries));
            world.model.held = 0;
        } else if (chance < 15) {
            struct sw_batch resize = {.kind = SW_BATCH_RESIZE,
                                      .capacity = random_below(&world.random, grows ? 200 : 16)};
            cr_assert_eq(sw_batch_run(world.fixture.queue, &resize), SW_OK);
        } else if (chance < 18) {
            hold_some(&world);
        } else {
            write_some(&world, step);
        }
        look_at_all(&world, draw_clock(&world), step);
        check_figures(&world, step);
    }
    close_world(&world);
}

Test(expiry, integers_of_32_bits)
{
    run_world(64, 0, false);
    run_world(64, 0, true);
}

Test(expiry, integers_of_64_bits)
{
    run_world(128, 0, false);
    run_world(128, 0, true);
}

Test(expiry, short_rows)
{
    run_world(64, 4, false);
    run_world(128, 60, true);
}

Test(expiry, long_rows)
{
    run_world(64, 1028, true);
    run_world(128, 4096, false);
}
