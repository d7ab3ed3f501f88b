/* SPDX-License-Identifier: MIT
 *
 * test_due.c - searches for expired entries by writes that are short of room: the bounds of the
 * parts of a table of times, the entries that a search visits, and what it finds.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "table/expiring.h"
#include "table/robin_hood/cpu/due.h"
#include "table/robin_hood/expiry_times.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"
#include "tests/support/words.h"

TestSuite(due, .timeout = 120);

/* --- bounds ----------------------------------------------------------------------------------- */

#define ENTRIES 300U
#define STEPS 5000

/* Entries in the order of m; a time of 0: the entry is absent. */
struct model {
    struct sw_due due;
    struct random random;
    uint64_t m[ENTRIES], at[ENTRIES];
    uint32_t next; /* the entry at which the sweep goes on; 0: the next sweep begins */
};

static void set_some(struct model *model)
{
    const uint64_t i = random_below(&model->random, ENTRIES);
    model->at[i] =
        random_below(&model->random, 4) == 0 ? 0 : 1 + random_below(&model->random, 1000);
    if (model->at[i] != 0) {
        sw_due_set(&model->due, model->m[i], model->at[i]);
    }
}

static uint64_t least_in(const struct model *model, uint64_t part)
{
    uint64_t least = SW_EXPIRY_NEVER;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        const bool counts = model->at[i] != 0 && sw_due_part_of(&model->due, model->m[i]) == part;
        least = counts && model->at[i] < least ? model->at[i] : least;
    }
    return least;
}

/* Sweeps a piece. A cursor is the m behind the last entry, or the next one. */
static void sweep_a_piece(struct model *model)
{
    const uint32_t end = model->next + 1 + (uint32_t)random_below(&model->random, ENTRIES / 2);
    if (model->next == 0) {
        sw_due_pass_begin(&model->due);
    }
    for (; model->next < end && model->next < ENTRIES; model->next++) {
        if (model->at[model->next] != 0) {
            sw_due_pass_kept(&model->due, model->m[model->next], model->at[model->next]);
        }
    }
    model->next = model->next < ENTRIES ? model->next : 0;
    const uint64_t behind = model->next == 0 ? 0 : model->m[model->next - 1] + 1;
    const uint64_t before = model->next == 0 ? 0 : model->m[model->next];
    sw_due_pass_reached(&model->due, random_below(&model->random, 2) == 0 ? behind : before);
}

/* Every part with an entry that has expired is found, and no part whose bound is later. */
static void find_all(const struct model *model, uint64_t clock)
{
    uint64_t found = sw_due_find(&model->due, 0, clock);
    for (uint64_t part = 0; part < sw_due_parts(&model->due); part++) {
        const bool is = part == found;
        cr_assert_eq(is, sw_due_bound(&model->due, part) <= clock);
        cr_assert_leq(sw_due_bound(&model->due, part), least_in(model, part));
        found = is ? sw_due_find(&model->due, part + 1, clock) : found;
    }
    cr_assert_eq(found, sw_due_parts(&model->due));
}

Test(due, bounds)
{
    static struct model model;
    model.random = random_of(1);
    cr_assert(sw_due_open(&model.due));
    for (uint32_t i = 0; i < ENTRIES; i++) {
        model.m[i] = i * (UINT64_MAX / (ENTRIES - 1)); /* the last one is in the last part */
    }
    for (int step = 0; step < STEPS / (int)tested_share(); step++) {
        const uint64_t chance = random_below(&model.random, 100);
        const uint64_t part = random_below(&model.random, sw_due_parts(&model.due));
        if (chance < 60) {
            set_some(&model);
        } else if (chance < 70) {
            sw_due_know(&model.due, part, least_in(&model, part));
            cr_assert_eq(sw_due_bound(&model.due, part), least_in(&model, part));
        } else if (chance < 85) {
            sweep_a_piece(&model);
        } else if (chance < 87) {
            sw_due_fit(&model.due, random_below(&model.random, 200) * SW_DUE_PART_SLOTS);
        } else if (chance < 88) {
            sw_due_lower(&model.due, 1 + random_below(&model.random, 1000));
        } else {
            find_all(&model, random_below(&model.random, 1001));
        }
    }
    sw_due_close(&model.due);
}

static void open_64_parts(struct model *model, uint64_t seed)
{
    model->random = random_of(seed);
    cr_assert(sw_due_open(&model->due));
    sw_due_fit(&model->due, 64 * SW_DUE_PART_SLOTS);
}

Test(due, a_sweep_makes_bounds_exact)
{
    static struct model model;
    open_64_parts(&model, 2);
    cr_assert_eq(sw_due_parts(&model.due), 64);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        model.m[i] = i * (UINT64_MAX / ENTRIES);
        set_some(&model);
    }
    sw_due_lower(&model.due, 1);
    do {
        sweep_a_piece(&model);
    } while (model.next != 0);
    for (uint64_t part = 0; part < 64; part++) {
        cr_assert_eq(sw_due_bound(&model.due, part), least_in(&model, part));
    }
    sw_due_close(&model.due);
}

/* It forgets all times, and visits only parts that had some. */
Test(due, clear)
{
    static struct model model;
    open_64_parts(&model, 4);
    for (int step = 0; step < 100; step++) {
        for (uint64_t i = random_below(&model.random, 60); i > 0; i--) {
            const uint64_t part = random_below(&model.random, 64);
            sw_due_set(&model.due, sw_due_first_of(&model.due, part), i);
        }
        sw_due_clear(&model.due);
        for (uint64_t node = 1; node < 128; node++) {
            cr_assert_eq(model.due.tree[node], SW_EXPIRY_NEVER);
        }
    }
    model.due.tree[64 + 40] = 7; /* no inner node leads to it */
    sw_due_set(&model.due, 0, 1);
    sw_due_clear(&model.due);
    cr_assert_eq(sw_due_bound(&model.due, 0), SW_EXPIRY_NEVER);
    cr_assert_eq(sw_due_bound(&model.due, 40), 7);
    sw_due_close(&model.due);
}

/* --- searches --------------------------------------------------------------------------------- */

#define OPS 256U
#define SLOTS (1U << 16) /* 256 parts: twice what a search visits before it is long */
#define START 1000000000000ULL
#define VALUE_BYTES 12U

/* A full table, and a count of the expired entries that searches visit. */
struct world {
    struct sw_table *table;
    struct sw_queue *queue, *other;
    uint32_t key_bytes;
    uint64_t entries;
    uint64_t keys[OPS];
    uint8_t values[OPS * VALUE_BYTES];
    pthread_t caller;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_held; /* threads of the table wait in a visit */
    _Atomic bool suspends;
    _Atomic uint64_t visits, visits_of_caller;
};

static bool visit(const void *context, uint64_t key)
{
    struct world *world = (struct world *)(uintptr_t)context;
    (void)key;
    atomic_fetch_add(&world->visits, 1);
    if (pthread_equal(pthread_self(), world->caller)) {
        atomic_fetch_add(&world->visits_of_caller, 1);
        return atomic_load(&world->suspends);
    }
    pthread_mutex_lock(&world->mutex);
    while (world->is_held) {
        pthread_cond_wait(&world->changed, &world->mutex);
    }
    pthread_mutex_unlock(&world->mutex);
    return atomic_load(&world->suspends);
}

/* Sets `count` new keys. */
static struct sw_batch new_keys(struct world *world, uint32_t count, uint64_t clock_ms, uint64_t at)
{
    for (uint32_t i = 0; i < count; i++) {
        set_word(world->keys, world->key_bytes, i, world->entries + i);
    }
    return (struct sw_batch){.op = SW_SET,
                             .count = count,
                             .keys = world->keys,
                             .values = world->values,
                             .clock_ms = clock_ms,
                             .expire_at = at,
                             .no_wait = true};
}

static int run(struct world *world, struct sw_batch *batch)
{
    int status = sw_batch_submit(world->queue, batch);
    while (status == SW_OK && (status = sw_batch_poll(world->queue, batch)) == SW_PENDING) {
    }
    world->entries += status == SW_OK ? batch->count : 0;
    return status;
}

/* Each entry expires at `at`. */
static void open_full(struct world *world, uint32_t slot_bits, uint32_t value_bytes, uint64_t at)
{
    struct sw_table_config config = cpu_config(SLOTS, OPS);
    config.slot_bits = slot_bits;
    config.value_bytes = value_bytes;
    config.stash_slots = 256;
    *world = (struct world){.table = must_create(&config),
                            .key_bytes = slot_bits / 16,
                            .caller = pthread_self(),
                            .mutex = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    world->queue = must_queue(world->table);
    world->other = must_queue(world->table);
    for (uint32_t count = OPS; count > 0; count /= OPS) {
        struct sw_batch batch = new_keys(world, count, START, at);
        while (run(world, &batch) == SW_OK) {
            batch = new_keys(world, count, START, at);
        }
    }
    cr_assert_eq(table_stats(world->table).occupied, world->entries);
}

static void close_world(struct world *world)
{
    must_check(world->table);
    sw_queue_destroy(world->queue);
    sw_queue_destroy(world->other);
    sw_table_destroy(world->table);
}

/* All entries have expired, and none may be removed: the longest search. A thread goes on with it,
 * and the searches of the next writes visit no entry again. */
static void search_in_vain(uint32_t slot_bits, uint32_t value_bytes)
{
    static struct world world;
    open_full(&world, slot_bits, value_bytes, START + 1);
    world.suspends = world.is_held = true;
    sw_table_suspend_expiry(world.table, visit, &world);
    struct sw_batch batch = new_keys(&world, 1, START + 2000, START + 9000);
    struct sw_batch second = batch;
    struct sw_batch get = {.op = SW_GET, .count = 1, .keys = world.keys, .no_wait = true};
    cr_assert_eq(sw_batch_submit(world.queue, &batch), SW_OK);
    cr_assert_eq(sw_batch_poll(world.queue, &batch), SW_PENDING);
    cr_assert_leq(world.visits_of_caller, world.entries * 6 / 10, "the loop visits few parts");
    cr_assert_eq(sw_batch_submit(world.other, &second), SW_E_BUSY);
    cr_assert_eq(sw_batch_submit(world.other, &get), SW_E_BUSY);
    pthread_mutex_lock(&world.mutex);
    world.is_held = false;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.mutex);
    while (sw_batch_poll(world.queue, &batch) == SW_PENDING) {
    }
    cr_assert_eq(batch.status, SW_E_FULL);
    cr_assert_eq(world.visits, world.entries, "the search visited each entry once");
    for (uint64_t write = 0; write < 100; write++) {
        batch = new_keys(&world, 1, START + 2000 + write, START + 9000);
        cr_assert_eq(run(&world, &batch), SW_E_FULL);
    }
    cr_assert_eq(world.visits, world.entries, "no search visited an entry again");
    /* their expiry is suspended no longer: each write finds an entry in the first part it visits */
    world.suspends = false;
    world.visits = 0;
    sw_table_suspend_expiry(world.table, visit, &world);
    for (uint64_t write = 0; write < 100; write++) {
        batch = new_keys(&world, 1, START + 2200, START + 9000);
        cr_assert_eq(run(&world, &batch), SW_OK);
        cr_assert_eq(batch.expired, 1);
    }
    cr_assert_leq(world.visits, 100 * 2 * 2 * SW_DUE_PART_SLOTS);
    sw_table_suspend_expiry(world.table, NULL, NULL);
    close_world(&world);
}

Test(due, a_search_in_vain)
{
    search_in_vain(128, 0);
    search_in_vain(64, VALUE_BYTES);
}

/* After a sweep, a search visits no entry that the sweep has kept. */
Test(due, a_search_after_a_sweep)
{
    static struct world world;
    struct sw_batch sweep;
    open_full(&world, 128, 0, START + 1);
    world.suspends = true;
    sw_table_suspend_expiry(world.table, visit, &world);
    do {
        sweep = (struct sw_batch){.kind = SW_BATCH_SWEEP, .count = OPS, .clock_ms = START + 1};
        must_run(world.queue, &sweep);
    } while (sweep.sweep.cursor != 0);
    cr_assert_geq(world.visits, world.entries);
    world.visits = 0;
    struct sw_batch batch = new_keys(&world, 1, START + 1, START + 9000);
    cr_assert_eq(run(&world, &batch), SW_E_FULL);
    cr_assert_eq(world.visits, 0);
    sw_table_suspend_expiry(world.table, NULL, NULL);
    close_world(&world);
}

/* A write is refused only if no entry has expired, whatever has changed the times before. */
Test(due, a_refusal)
{
    static struct world world;
    struct random random = random_of(3);
    uint64_t clock = START, refused = 0, fits = 0;
    open_full(&world, 128, 0, START + 1000000);
    for (int step = 0; step < 1500; step++) {
        const uint64_t chance = random_below(&random, 100);
        const uint32_t count = 1 + (uint32_t)random_below(&random, 3);
        clock += random_below(&random, 3);
        struct sw_batch batch = new_keys(&world, count, clock, clock + random_below(&random, 2000));
        if (chance < 8) { /* other times, or none, for some keys */
            batch.op = chance < 7 ? SW_EXPIRE : SW_DELETE;
            batch.count = 16;
            for (uint32_t i = 0; i < 16; i++) {
                set_word(world.keys, world.key_bytes, i, random_below(&random, world.entries));
            }
            batch.expire_at = chance < 2 ? 0 : clock + random_below(&random, 5000);
            cr_assert_eq(sw_batch_run(world.queue, &batch), SW_OK);
        } else if (chance < 10) {
            struct sw_batch sweep = {.kind = SW_BATCH_SWEEP, .count = OPS, .clock_ms = clock};
            cr_assert_eq(sw_batch_run(world.queue, &sweep), SW_OK);
        } else if (chance < 11) {
            struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = SLOTS};
            cr_assert_eq(sw_batch_run(world.queue, &resize), SW_OK);
        } else if (run(&world, &batch) != SW_OK) {
            struct sw_batch sweep;
            cr_assert_lt(batch.expired, count);
            do {
                sweep = (struct sw_batch){.kind = SW_BATCH_SWEEP, .count = OPS, .clock_ms = clock};
                cr_assert_eq(sw_batch_run(world.queue, &sweep), SW_OK);
                cr_assert_eq(sweep.expired, 0, "step %d: an entry had expired", step);
            } while (sweep.sweep.cursor != 0);
            refused++;
        } else {
            fits++;
        }
        if (step % 50 == 0) {
            must_check(world.table);
        }
    }
    cr_assert(refused > 20 && fits > 20, "%llu refused, %llu not", (unsigned long long)refused,
              (unsigned long long)fits);
    close_world(&world);
}
