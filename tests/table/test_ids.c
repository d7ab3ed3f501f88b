/* SPDX-License-Identifier: MIT
 *
 * test_ids.c - tables of ids beside a model that looks for the lowest free id one by one: random
 * batches with groups, repeated keys and expiry, growth, images, and batches of one stream.
 */
#include "tests/table/id_world.h"

TestSuite(ids, .timeout = 120);

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
        for (uint32_t round = 0; round < ROUNDS / tested_share(); round++) {
            take_step(&world);
        }
        close_world(&world);
    }
}

/* Submits batches of one stream, polls them in the opposite order, and compares them with the model
 * in the order of their submission. Batch b has the operations from b * SPAN on. */
static void run_stream(struct world *world)
{
    enum { BATCHES = 9, SPAN = 64 };
    struct sw_batch batches[BATCHES];
    for (uint32_t b = 0; b < BATCHES; b++) {
        const uint32_t first = b * SPAN, bytes = first * world->key_bytes;
        const uint32_t kind = (uint32_t)random_below(&world->random, 3);
        const uint32_t count = 1 + (uint32_t)random_below(&world->random, SPAN);
        for (uint32_t i = first; i < first + count; i++) {
            draw(world, i, kind);
            world->ops[i] = world->ops[i] == SW_EXPIRE ? SW_GET : world->ops[i];
            world->key_of[i] %= IDS; /* no batch is refused */
            world->expires[i] = 0;
            store(world, world->keys, i, key_of(world, world->key_of[i]));
        }
        batches[b] = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                       .count = count,
                                       .stream = 1,
                                       .keys = (uint8_t *)world->keys + bytes,
                                       .values = kind == 2 ? world->values : NULL,
                                       .ops = kind == 2 ? world->ops + first : NULL,
                                       .op = (enum sw_op)world->ops[first],
                                       .previous = (uint8_t *)world->previous + bytes,
                                       .found = world->found + b};
        cr_assert_eq(sw_batch_submit(world->queue, &batches[b]), SW_OK);
    }
    for (uint32_t b = BATCHES; b-- > 0;) {
        must_poll(world->queue, &batches[b]);
    }
    for (uint32_t b = 0; b < BATCHES; b++) {
        for (uint32_t i = b * SPAN; i < b * SPAN + batches[b].count; i++) {
            cr_assert(apply(world, &world->model, i, true));
        }
    }
}

Test(ids, keep_the_order_of_a_stream)
{
    struct world world;
    open_world(&world, 4, 7);
    for (uint32_t round = 0; round < 100 / tested_share(); round++) {
        run_stream(&world);
        must_check(world.table);
    }
    close_world(&world);
}
