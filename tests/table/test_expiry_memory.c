/* SPDX-License-Identifier: MIT
 *
 * test_expiry_memory.c - the memory that times have: none before a key is given one, whatever else
 * is asked of times, and what a resize gives back; and the room for times that a group needs.
 */
#include <criterion/criterion.h>

#include "table/image.h"
#include "table/robin_hood/cpu/expiry.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(expiry_memory, .timeout = 120);

#define KEYS 1500U /* more than the table of times has room for at first */
#define FAR 4000000000000ULL

struct world {
    struct fixture fixture;
    uint64_t *expires_out; /* I/O memory */
};

static void open_world(struct world *world, uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    config.value_bytes = value_bytes;
    config.batch_ops_max = KEYS;
    config.stash_slots = 64;
    fixture_open(&world->fixture, &config);
    world->expires_out = sw_io_alloc(world->fixture.table, KEYS * sizeof(uint64_t));
}

static void close_world(struct world *world)
{
    sw_io_free(world->fixture.table, world->expires_out, KEYS * sizeof(uint64_t));
    fixture_close(&world->fixture);
}

static uint64_t bytes_of(const struct world *world)
{
    const struct sw_table_info info = table_info(world->fixture.table);
    return info.bytes_reserved;
}

/* The keys from `first` on, all of them by one operation; a SET gives each its own number as value,
 * others would give another one. Returns the number of found keys. Each must have had the time
 * `before`. */
static uint32_t run(struct world *world, enum sw_op op, uint32_t first, uint32_t count, uint64_t at,
                    uint64_t before)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch = fixture_batch(fixture, op, count);
    batch.expire_at = at;
    batch.expires_out = world->expires_out;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        fixture_store(fixture, fixture->keys, i, first + i);
        fixture_store_value(fixture, fixture->values, i, first + i + (op == SW_SET ? 0 : 1));
        world->expires_out[i] = 77;
    }
    batch.previous = op == SW_GET ? fixture->previous : NULL;
    cr_assert_eq(sw_batch_run(fixture->queue, &batch), SW_OK);
    for (uint32_t i = 0; i < count; i++) {
        const bool is = (fixture->found[i / 64] >> (i % 64) & 1) != 0;
        found += is;
        cr_assert_eq(world->expires_out[i], is ? before : 0, "operation %u", i);
        cr_assert(op != SW_GET || !is ||
                  fixture_load_value(fixture, fixture->previous, i) == first + i);
    }
    return found;
}

static void resize(struct world *world)
{
    struct sw_batch batch = {.kind = SW_BATCH_RESIZE,
                             .capacity = world->fixture.info.capacity_slots};
    cr_assert_eq(sw_batch_run(world->fixture.queue, &batch), SW_OK);
}

/* PERSIST, other kinds of EXPIRE that set no time, and reads of times. */
static void ask_for_none(uint32_t slot_bits, uint32_t value_bytes)
{
    struct world world;
    open_world(&world, slot_bits, value_bytes);
    const uint64_t bytes = bytes_of(&world);
    cr_assert_eq(run(&world, SW_SET, 0, 100, 0, 0), 0);
    cr_assert_eq(run(&world, SW_GET, 50, 100, 0, 0), 50);
    for (uint32_t i = 0; i < OPS_COUNT(SW_OPS_EXPIRE); i++) {
        const enum sw_op op = (enum sw_op)ops_at(SW_OPS_EXPIRE, i);
        cr_assert_eq(run(&world, op, 50, 100, 0, 0), 50);
        cr_assert_eq(run(&world, op, 50, 100, SW_EXPIRE_KEEP, 0), 50);
    }
    cr_assert_eq(run(&world, SW_GET, 0, 200, 0, 0), 100);
    cr_assert_eq(run(&world, SW_DELETE, 90, 100, 0, 0), 10);
    cr_assert_eq(run(&world, SW_SET_ABSENT, 80, 20, 0, 0), 10);
    cr_assert_eq(bytes_of(&world), bytes, "no key has a time");
    cr_assert_eq(run(&world, SW_EXPIRE, 0, 1, FAR, 0), 1);
    cr_assert_gt(bytes_of(&world), bytes, "one has");
    close_world(&world);
}

static void give_back(uint32_t slot_bits, uint32_t value_bytes)
{
    struct world world;
    open_world(&world, slot_bits, value_bytes);
    resize(&world);
    const uint64_t none = bytes_of(&world);
    for (int life = 0; life < 3; life++) {
        cr_assert_eq(run(&world, SW_SET, 0, KEYS, FAR, 0), 0);
        const uint64_t all = bytes_of(&world);
        resize(&world);
        cr_assert_leq(bytes_of(&world), all);
        cr_assert_eq(run(&world, SW_GET, 0, KEYS, 0, FAR), KEYS);
        cr_assert_eq(run(&world, SW_EXPIRE, 10, KEYS - 10, 0, FAR), KEYS - 10);
        resize(&world);
        cr_assert_lt(bytes_of(&world), all, "10 have times");
        cr_assert_eq(run(&world, SW_DELETE, 0, 10, 0, FAR), 10);
        resize(&world);
        cr_assert_lt(bytes_of(&world), all, "none has one");
        cr_assert(tested_backend() == SW_BACKEND_CPU || bytes_of(&world) == none);
        cr_assert_eq(run(&world, SW_DELETE, 10, KEYS - 10, 0, 0), KEYS - 10);
    }
    close_world(&world);
}

Test(expiry_memory, none_for_what_gives_no_time)
{
    ask_for_none(64, 0);
    ask_for_none(128, 0);
    ask_for_none(128, 60);
}

Test(expiry_memory, a_resize_gives_it_back)
{
    give_back(64, 0);
    give_back(128, 0);
    give_back(64, 12);
}

/* A group may set one time for each free slot of the table of times. Slots in use are not free. */
Test(expiry_memory, a_group_needs_room_beside_the_times_in_use)
{
    enum { OPS = 4, IN_USE = 7 };
    struct sw_cpu times = {.geometry = {.occupied_max = IN_USE + 3, .stash_max = 2},
                           .state = {.occupied = IN_USE}};
    struct sw_expiry expiry = {.times = &times};
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_SET, .count = OPS, .expire_at = FAR};
    cr_assert(sw_expiry_has_room(&expiry, &batch, 0, 3));
    cr_assert_not(sw_expiry_has_room(&expiry, &batch, 0, OPS));
    cr_assert(sw_expiry_has_room(&expiry, &batch, 1, OPS), "the group is 3 operations");
    times.state.occupied = IN_USE + 3;
    cr_assert_not(sw_expiry_has_room(&expiry, &batch, 0, 1), "no slot is free");
    batch.op = SW_GET;
    cr_assert(sw_expiry_has_room(&expiry, &batch, 0, OPS), "reads set no time");
    batch.op = SW_SET;
    times.state.occupied = IN_USE;
    times.state.stash_occupied = 3;
    cr_assert_not(sw_expiry_has_room(&expiry, &batch, 0, 1), "the stash is full");
    expiry.roomy = true;
    cr_assert(sw_expiry_has_room(&expiry, &batch, 0, OPS), "the batch has room already");
    expiry.failed = true;
    cr_assert_not(sw_expiry_has_room(&expiry, &batch, 0, 1), "a time could not be set");
}

/* A sweep removes times in the order of the table. The rest lies close together, and an image has
 * room for it. */
Test(expiry_memory, an_image_amid_a_sweep)
{
    enum { ENTRIES = 100000, SWEPT = 90000, PIECE = 10000 };
    static uint64_t keys[PIECE], values[PIECE], times[PIECE];
    const struct sw_table_config config = cpu_config(1 << 17, PIECE);
    struct sw_table *table = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    struct sw_image *image = NULL;
    uint32_t got = 0, all = 0;
    for (uint64_t first = 0; first < ENTRIES; first += PIECE) {
        struct sw_batch set = {
            .op = SW_SET, .count = PIECE, .keys = keys, .values = values, .expire_at = FAR};
        for (uint64_t i = 0; i < PIECE; i++) {
            keys[i] = first + i;
        }
        must_run(queue, &set);
    }
    for (uint32_t swept = 0; swept < SWEPT; swept += PIECE) {
        struct sw_batch sweep = {.kind = SW_BATCH_SWEEP, .count = PIECE, .clock_ms = FAR};
        must_run(queue, &sweep);
    }
    cr_assert_eq(sw_image_take(queue, false, &image), SW_OK);
    do {
        cr_assert_eq(sw_image_read(image, PIECE, keys, values, times, &got), SW_OK);
        for (uint32_t i = 0; i < got; i++) {
            cr_assert_eq(times[i], FAR);
        }
        all += got;
    } while (got > 0);
    cr_assert_eq(all, table_stats(table).occupied);
    cr_assert(all > 0 && all <= ENTRIES - SWEPT);
    sw_image_drop(image);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}
