/* SPDX-License-Identifier: MIT
 *
 * test_ids.c - tables of ids beside a model that looks for the lowest free id one by one: random
 * batches with groups, repeated keys and expiry, growth, images, and batches as a log has them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/expiring.h"
#include "table/image.h"
#include "table/mix.h"
#include "table/restore.h"
#include "table/table.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"

TestSuite(ids, .timeout = 120);

enum { KEYS = 400, IDS = 250, OPS = 600, GROUPS_MAX = 8, ROUNDS = 400 };

struct entry {
    bool present;
    uint64_t id;
    uint64_t expires; /* 0: never */
};

struct model {
    struct entry entries[KEYS];
    bool used[IDS];
    uint32_t count;
};

struct world {
    struct sw_table *table;
    struct sw_queue *queue;
    struct random random;
    struct model model;
    uint32_t key_bytes;
    uint64_t seed;
    uint32_t most; /* most entries at any time so far */
    uint64_t clock_ms;
    struct io_memory io;
    uint8_t *ops, *refused;
    void *keys, *values, *previous;
    uint64_t *found, *expires;
    uint32_t *ends;
    uint32_t key_of[OPS]; /* of operation i, in the model */
};

static uint64_t load(const struct world *world, const void *array, uint32_t i)
{
    return world->key_bytes == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static void store(const struct world *world, void *array, uint32_t i, uint64_t value)
{
    if (world->key_bytes == 8) {
        ((uint64_t *)array)[i] = value;
    } else {
        ((uint32_t *)array)[i] = (uint32_t)value;
    }
}

/* Key k of the model. Key 0 is the key of the side cell. */
static uint64_t key_of(const struct world *world, uint32_t k)
{
    return k > 0                   ? k
           : world->key_bytes == 8 ? sw_unmix_64(UINT64_MAX, world->seed)
                                   : sw_unmix_32(UINT32_MAX, world->seed);
}

static struct sw_table *create(uint32_t key_bytes, uint64_t ids, uint64_t seed)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.slot_bits = 16 * key_bytes;
    config.capacity_slots = 64;
    config.max_capacity_slots = 4096;
    config.rows_max = ids;
    config.stash_slots = 64;
    config.batch_ops_max = 1U << 14;
    config.threads = 2;
    config.seed = seed;
    return must_create(&config);
}

static void open_world(struct world *world, uint32_t key_bytes, uint64_t number)
{
    memset(world, 0, sizeof(*world));
    world->random = random_of(number);
    world->key_bytes = key_bytes;
    world->seed = 77;
    world->clock_ms = 1000;
    world->table = create(key_bytes, IDS, world->seed);
    cr_assert_eq(sw_queue_create(world->table, &world->queue), SW_OK);
    world->io.table = world->table;
    world->ops = io_array(&world->io, OPS);
    world->refused = io_array(&world->io, OPS);
    world->keys = io_array(&world->io, OPS * sizeof(uint64_t));
    world->values = io_array(&world->io, OPS * sizeof(uint64_t));
    world->previous = io_array(&world->io, OPS * sizeof(uint64_t));
    world->found = io_array(&world->io, OPS * sizeof(uint64_t));
    world->expires = io_array(&world->io, OPS * sizeof(uint64_t));
    world->ends = io_array(&world->io, OPS * sizeof(uint32_t));
}

static void close_world(struct world *world)
{
    sw_queue_destroy(world->queue);
    io_free(&world->io);
    sw_table_destroy(world->table);
}

/* --- the model -------------------------------------------------------------------------------- */

static void remove_entry(struct model *model, uint32_t k)
{
    if (model->entries[k].present) {
        model->used[model->entries[k].id] = false;
        model->entries[k] = (struct entry){0};
        model->count--;
    }
}

static void insert_entry(struct model *model, uint32_t k, uint64_t id, uint64_t expires)
{
    model->used[id] = true;
    model->entries[k] = (struct entry){true, id, expires};
    model->count++;
}

static uint64_t lowest(const struct model *model)
{
    uint64_t id = 0;
    while (model->used[id]) {
        id++;
    }
    return id;
}

/* Removes what has expired among the keys of a batch; a write does that first. */
static void expire_keys(struct world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct entry *entry = &world->model.entries[world->key_of[i]];
        if (entry->expires != 0 && entry->expires <= world->clock_ms) {
            remove_entry(&world->model, world->key_of[i]);
        }
    }
}

/* Applies operation i to the model, and compares the answer if `compares`. Returns false if no id
 * is free. */
static bool apply(struct world *world, struct model *model, uint32_t i, bool compares)
{
    const uint32_t k = world->key_of[i];
    const bool found = model->entries[k].present;
    uint64_t answer = model->entries[k].id;
    switch (world->ops[i]) {
    case SW_FIND_OR_INSERT:
        if (!found && model->count == IDS) {
            return false;
        }
        if (!found) {
            answer = lowest(model);
            insert_entry(model, k, answer, world->expires[i]);
        }
        break;
    case SW_DELETE:
        remove_entry(model, k);
        break;
    case SW_EXPIRE:
        if (found) {
            model->entries[k].expires = world->expires[i];
        }
        break;
    default:
        break;
    }
    world->most = model->count > world->most ? model->count : world->most;
    if (compares) {
        cr_assert_eq(world->found[i / 64] >> (i % 64) & 1, found, "operation %u on key %u", i, k);
        cr_assert_eq(load(world, world->previous, i), answer, "operation %u on key %u", i, k);
        cr_assert_lt(answer, world->most + (world->most == 0));
    }
    return true;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void draw(struct world *world, uint32_t i, uint32_t kind)
{
    static const uint8_t mixed[] = {SW_FIND_OR_INSERT, SW_FIND_OR_INSERT, SW_DELETE, SW_GET,
                                    SW_EXPIRE};
    const uint32_t k = (uint32_t)random_below(&world->random, KEYS);
    world->key_of[i] = k;
    world->ops[i] = kind == 0   ? SW_FIND_OR_INSERT
                    : kind == 1 ? SW_DELETE
                                : mixed[random_below(&world->random, sizeof(mixed))];
    /* a time in the future, or none; EXPIRE always has one */
    world->expires[i] = world->ops[i] == SW_EXPIRE || random_below(&world->random, 4) == 0
                            ? world->clock_ms + 1 + random_below(&world->random, 50)
                            : 0;
    store(world, world->keys, i, key_of(world, k));
    store(world, world->values, i, random_next(&world->random)); /* not read */
}

/* Applies the groups of a batch to the model, and compares refusals and answers. */
static void compare(struct world *world, const struct sw_batch *batch)
{
    const uint32_t groups = batch->group_count > 0 ? batch->group_count : 1;
    bool some_refused = false;
    for (uint32_t g = 0, first = 0; g < groups; g++) {
        const uint32_t end = batch->group_count > 0 ? batch->group_ends[g] : batch->count;
        struct model before = world->model;
        const uint32_t most = world->most;
        bool admitted = true;
        for (uint32_t i = first; i < end && admitted; i++) {
            admitted = apply(world, &before, i, false);
        }
        world->most = admitted ? world->most : most;
        for (uint32_t i = first; i < end && admitted; i++) {
            cr_assert(apply(world, &world->model, i, true));
        }
        if (batch->group_count > 0) {
            cr_assert_eq(world->refused[g], admitted ? SW_ADMITTED : SW_REFUSED_FULL);
        }
        some_refused |= !admitted;
        first = end;
    }
    cr_assert_eq(batch->status, some_refused ? SW_E_FULL : SW_OK);
}

/* Runs `count` drawn operations as a batch. `times`: with expiry times. */
static void run_batch(struct world *world, uint32_t count, uint32_t groups, uint32_t kind,
                      bool times)
{
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .count = count,
                             .keys = world->keys,
                             .values = kind == 2 ? world->values : NULL,
                             .ops = kind == 2 ? world->ops : NULL,
                             .op = (enum sw_op)world->ops[0],
                             .previous = world->previous,
                             .found = world->found,
                             .expires = times ? world->expires : NULL,
                             .clock_ms = world->clock_ms,
                             .group_count = groups,
                             .group_ends = world->ends,
                             .group_refused = world->refused};
    for (uint32_t g = 0; g < groups; g++) {
        world->ends[g] = g + 1 == groups ? count : (g + 1) * (count / groups);
    }
    for (uint32_t i = 0; i < count && !times; i++) {
        world->expires[i] = 0;
    }
    expire_keys(world, count);
    cr_assert_neq(sw_batch_run(world->queue, &batch), SW_E_INVALID);
    compare(world, &batch);
}

static void draw_batch(struct world *world)
{
    const uint32_t kind = (uint32_t)random_below(&world->random, 3);
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS);
    const uint32_t groups = (uint32_t)random_below(&world->random, GROUPS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        draw(world, i, kind);
    }
    run_batch(world, count, groups <= count ? groups : 0, kind, kind == 2 || count % 3 == 0);
}

/* --- the same contents elsewhere -------------------------------------------------------------- */

/* Returns a table that is filled from an image of the world's table. */
static struct sw_table *restored(struct world *world, int wanted, uint64_t ids)
{
    struct sw_image *image = NULL;
    struct sw_restore *restore = NULL;
    uint64_t keys[KEYS], values[KEYS], times[KEYS];
    uint32_t got = 0;
    struct sw_table *table = create(world->key_bytes, ids, world->seed + 1);
    cr_assert_eq(sw_image_take(world->queue, false, &image), SW_OK);
    cr_assert_eq(sw_image_read(image, KEYS, keys, values, times, &got), SW_OK);
    sw_image_drop(image);
    int status = sw_restore_begin(table, got, &restore);
    if (status == SW_OK) {
        cr_assert_eq(sw_restore_add(restore, keys, values, got), SW_OK);
        status = sw_restore_end(restore, true);
    }
    cr_assert_eq(status, wanted);
    must_check(table);
    return table;
}

/* Returns the id that the next new key gets. The key leaves at once. */
static uint64_t next_id(struct sw_table *table, uint32_t key_bytes)
{
    struct sw_queue *queue = NULL;
    uint64_t *memory = sw_io_alloc(table, 4 * sizeof(*memory));
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    memset(memory, 0, 4 * sizeof(*memory));
    memory[0] = KEYS + 1000;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_FIND_OR_INSERT,
                             .count = 1,
                             .keys = memory,
                             .previous = memory + 1,
                             .found = memory + 2};
    must_run(queue, &batch);
    cr_assert_eq(memory[2], 0);
    const uint64_t id = key_bytes == 8 ? memory[1] : *(uint32_t *)(void *)(memory + 1);
    batch.op = SW_DELETE;
    must_run(queue, &batch);
    sw_queue_destroy(queue);
    sw_io_free(table, memory, 4 * sizeof(*memory));
    return id;
}

/* A table that was filled from the image gives the next key the same id. */
static void compare_next(struct world *world)
{
    if (table_stats(world->table).occupied < IDS) {
        struct sw_table *other = restored(world, SW_OK, IDS);
        cr_assert_eq(next_id(other, world->key_bytes), next_id(world->table, world->key_bytes));
        sw_table_destroy(other);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Removes all expired entries. */
static void sweep(struct world *world)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_SWEEP, .count = 1U << 14, .clock_ms = world->clock_ms};
    must_run(world->queue, &batch);
    for (uint32_t k = 0; k < KEYS; k++) {
        const struct entry *entry = &world->model.entries[k];
        if (entry->expires != 0 && entry->expires <= world->clock_ms) {
            remove_entry(&world->model, k);
        }
    }
}

static void take_step(struct world *world)
{
    const uint64_t what = random_below(&world->random, 40);
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    if (what == 0) {
        must_clear(world->queue);
        world->model = (struct model){0};
    } else if (what == 1) {
        batch = (struct sw_batch){.kind = SW_BATCH_RESIZE,
                                  .capacity = 16 + random_below(&world->random, 2000)};
        must_run(world->queue, &batch);
    } else if (what < 4) {
        compare_next(world);
    } else {
        /* A write that is short of room also removes other expired entries. The sweep before it
         * leaves none, so the model need not know that. */
        world->clock_ms += random_below(&world->random, 20);
        sweep(world);
        draw_batch(world);
    }
    must_check(world->table);
}

Test(ids, are_the_lowest_free_ones)
{
    for (uint32_t key_bytes = 4; key_bytes <= 8; key_bytes += 4) {
        struct world world;
        open_world(&world, key_bytes, key_bytes);
        for (int round = 0; round < ROUNDS; round++) {
            take_step(&world);
        }
        close_world(&world);
    }
}

/* Sets keys 1 .. count of a batch, all of operation `op`. */
static struct sw_batch of_keys(struct world *world, enum sw_op op, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        store(world, world->keys, i, i + 1);
    }
    return (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                             .op = op,
                             .count = count,
                             .keys = world->keys,
                             .previous = world->previous,
                             .found = world->found};
}

Test(ids, of_present_keys_are_read)
{
    struct world world;
    open_world(&world, 8, 1);
    struct sw_batch batch = of_keys(&world, SW_FIND_OR_INSERT, 100);
    must_run(world.queue, &batch);
    cr_assert_eq(batch.write_sequence, 1);
    cr_assert_eq(batch.counters.inserted, 100);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_UPSERT].misses, 100);
    must_run(world.queue, &batch);
    cr_assert_eq(batch.write_sequence, 0);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_UPSERT].hits, 100);
    cr_assert_eq(batch.counters.by_class[SW_CLASS_GET].operations, 0);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_eq(load(&world, world.previous, i), i);
    }
    close_world(&world);
}

Test(ids, of_a_log_are_set)
{
    struct world world;
    open_world(&world, 4, 2);
    struct sw_batch batch = of_keys(&world, SW_SET, 3);
    batch.values = world.values;
    store(&world, world.values, 0, 7);
    store(&world, world.values, 1, 0);
    store(&world, world.values, 2, IDS - 1);
    must_run(world.queue, &batch);
    cr_assert_eq(sw_batch_run(world.queue, &batch), SW_OK, "the same ids again");
    must_check(world.table);
    store(&world, world.values, 2, 7); /* the id of key 1 */
    cr_assert_eq(sw_batch_run(world.queue, &batch), SW_E_INVALID);
    store(&world, world.values, 2, IDS);
    cr_assert_eq(sw_batch_run(world.queue, &batch), SW_E_INVALID);
    must_check(world.table);
    cr_assert_eq(next_id(world.table, 4), 1, "the lowest id that is free");
    store(&world, world.values, 2, 1); /* key 3 gets another id, and frees its own */
    must_run(world.queue, &batch);
    must_check(world.table);
    cr_assert_eq(next_id(world.table, 4), 2);
    close_world(&world);
}

Test(ids, of_a_snapshot_are_checked)
{
    struct world world;
    open_world(&world, 8, 3);
    struct sw_batch batch = of_keys(&world, SW_FIND_OR_INSERT, 100);
    must_run(world.queue, &batch);
    batch = of_keys(&world, SW_DELETE, 90);
    must_run(world.queue, &batch);
    sw_table_destroy(restored(&world, SW_OK, 100));
    sw_table_destroy(restored(&world, SW_E_INVALID, 99)); /* id 99 is not below the limit */
    struct sw_table *table = create(8, IDS, 1);
    struct sw_restore *restore = NULL;
    const uint64_t keys[] = {5, 6}, values[] = {3, 3};
    cr_assert_eq(sw_restore_begin(table, 2, &restore), SW_OK);
    cr_assert_eq(sw_restore_add(restore, keys, values, 2), SW_OK);
    cr_assert_eq(sw_restore_end(restore, true), SW_E_INVALID, "two keys have one id");
    must_check(table);
    cr_assert_eq(next_id(table, 8), 0, "the table is empty");
    sw_table_destroy(table);
    close_world(&world);
}

Test(ids, need_no_operations_that_set_values)
{
    struct world world;
    open_world(&world, 8, 4);
    struct sw_batch batch = of_keys(&world, SW_GET, 1);
    batch.values = world.values;
    static const enum sw_op refused[] = {SW_SUM,         SW_MIN,       SW_SET_ABSENT,
                                         SW_SET_PRESENT, SW_INCREMENT, SW_OR};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        batch.op = refused[i];
        cr_assert_eq(sw_batch_run(world.queue, &batch), SW_E_UNSUPPORTED);
    }
    batch.op = SW_SET;
    batch.values = NULL;
    cr_assert_eq(sw_batch_run(world.queue, &batch), SW_E_INVALID);
    close_world(&world);
}

Test(ids, are_refused_where_they_cannot_be)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.rows_max = 100;
    config.backend = SW_BACKEND_CUDA;
    must_refuse(&config, SW_E_INVALID, "use the backend cpu");
    config.backend = SW_BACKEND_CPU;
    config.rows_max = 1ULL << 32;
    must_refuse(&config, SW_E_INVALID, "at most 4294967295 ids");
    config.rows_max = 100;
    config.stash_slots = 0;
    must_refuse(&config, SW_E_INVALID, "a stash");
}
