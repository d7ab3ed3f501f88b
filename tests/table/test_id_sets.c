/* SPDX-License-Identifier: MIT
 *
 * test_id_sets.c - ids that a log or a snapshot sets, ids of present keys, and what tables of ids
 * refuse.
 */
#include "tests/table/id_world.h"

TestSuite(id_sets, .timeout = 120);

Test(id_sets, of_present_keys_are_read)
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

Test(id_sets, of_a_log_are_set)
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
    cr_assert_eq(load(&world, world.previous, 2), IDS - 1, "the key keeps its id");
    cr_assert_eq(next_id(world.table, 4), 1, "the lowest id that is free");
    store(&world, world.values, 2, 1); /* key 3 gets another id, and frees its own */
    must_run(world.queue, &batch);
    must_check(world.table);
    cr_assert_eq(next_id(world.table, 4), 2);
    close_world(&world);
}

/* Key 4 has no id before, and wants one that another key has or nobody can have. */
Test(id_sets, that_cannot_be_set_are_others)
{
    for (uint32_t wanted = 2; wanted <= IDS; wanted += IDS - 2) {
        struct world world;
        open_world(&world, 8, wanted);
        struct sw_batch batch = of_keys(&world, SW_SET, 4);
        batch.values = world.values;
        for (uint32_t i = 0; i < 4; i++) {
            store(&world, world.values, i, i < 3 ? i : wanted);
        }
        cr_assert_eq(sw_batch_run(world.queue, &batch), SW_E_INVALID);
        must_check(world.table);
        batch.op = SW_FIND_OR_INSERT;
        must_run(world.queue, &batch);
        cr_assert_eq(load(&world, world.previous, 3), 3, "it got the lowest free id");
        close_world(&world);
    }
}

/* The lowest free ids are found behind ids in use, in a map of several levels. */
Test(id_sets, are_found_behind_others)
{
    enum { LARGE = 3000, STEP = 700, MORE = 10 };
    struct world world;
    open_world(&world, 8, 5);
    sw_queue_destroy(world.queue);
    io_free(&world.io);
    sw_table_destroy(world.table);
    world.table = create(8, 70000, 5);
    world.io.table = world.table;
    cr_assert_eq(sw_queue_create(world.table, &world.queue), SW_OK);
    world.keys = io_array(&world.io, LARGE * sizeof(uint64_t));
    world.values = io_array(&world.io, LARGE * sizeof(uint64_t));
    world.previous = io_array(&world.io, LARGE * sizeof(uint64_t));
    world.found = io_array(&world.io, LARGE * sizeof(uint64_t));
    struct sw_batch batch = of_keys(&world, SW_SET, LARGE);
    batch.values = world.values;
    uint32_t count = 0;
    for (uint32_t id = LARGE; id-- > 0;) {
        if (id % STEP != 0) {
            store(&world, world.values, count++, id);
        }
    }
    batch.count = count;
    must_run(world.queue, &batch);
    must_check(world.table);
    batch = of_keys(&world, SW_FIND_OR_INSERT, MORE);
    for (uint32_t i = 0; i < MORE; i++) {
        store(&world, world.keys, i, LARGE + i + 1);
    }
    must_run(world.queue, &batch);
    for (uint32_t i = 0; i < MORE; i++) {
        const uint32_t holes = (LARGE + STEP - 1) / STEP;
        cr_assert_eq(load(&world, world.previous, i), i < holes ? i * STEP : LARGE + i - holes);
    }
    must_check(world.table);
    close_world(&world);
}

Test(id_sets, of_a_snapshot_are_checked)
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
    if (sw_restore_begin(table, 2, &restore) == SW_OK) {
        cr_assert_eq(sw_restore_add(restore, keys, values, 2), SW_OK);
        cr_assert_eq(sw_restore_end(restore, true), SW_E_INVALID, "two keys have one id");
        must_check(table);
        cr_assert_eq(next_id(table, 8), 0, "the table is empty");
    }
    sw_table_destroy(table);
    close_world(&world);
}

Test(id_sets, need_no_operations_that_set_values)
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

Test(id_sets, are_refused_where_they_cannot_be)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.rows_max = 1ULL << 32;
    must_refuse(&config, SW_E_INVALID, "at most 4294967295 ids");
    config.rows_max = 100;
    config.stash_slots = 0;
    must_refuse(&config, SW_E_INVALID, "a stash");
}
