/* SPDX-License-Identifier: MIT
 *
 * test_changes.c - sw_table_stats.changes: whatever changes what a snapshot would hold is counted,
 * changes of a time or a score alone included, and what changes nothing is not.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/expiring.h"
#include "tests/support/cache_config.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(changes, .timeout = 60);

#define NOW 1000000000000ULL
#define KEYS 8U

static struct sw_table *table;
static struct sw_queue *queue;
static struct io_memory io;
static uint64_t now; /* the clock of batches */
static uint64_t *keys, *values, *times, *found;

static void open_table(const struct sw_table_config *config)
{
    table = must_create(config);
    queue = must_queue(table);
    io = (struct io_memory){.table = table};
    keys = io_array(&io, 64 * KEYS);
    values = io_array(&io, 64 * KEYS);
    times = io_array(&io, 64 * KEYS);
    found = io_array(&io, 64);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
        times[i] = NOW + 1000 + i;
    }
}

static void close_table(void)
{
    io_free(&io);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

/* Runs the batch. Returns how many changes the table counted for it. */
static uint64_t changes_of(struct sw_batch batch)
{
    struct sw_table_stats before, after;
    sw_table_stats(table, &before);
    batch.keys = batch.kind == SW_BATCH_OPERATIONS ? keys : NULL;
    batch.values = batch.kind == SW_BATCH_OPERATIONS ? values : NULL;
    must_run(queue, &batch);
    sw_table_stats(table, &after);
    return after.changes - before.changes;
}

#define OF(n, ...) changes_of((struct sw_batch){.clock_ms = now, .count = (n), __VA_ARGS__})

Test(changes, times_and_entries_that_expire)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, 128);
    config.batch_ops_max = 64;
    config.stash_slots = 64;
    now = NOW;
    open_table(&config);
    cr_assert_eq(OF(KEYS, .op = SW_EXPIRE, .expires = times, .found = found), 0, "no key is there");
    cr_assert_eq(OF(KEYS, .op = SW_SET), KEYS);
    cr_assert_eq(OF(KEYS, .op = SW_GET), 0);
    cr_assert_eq(OF(KEYS, .op = SW_EXPIRE, .expires = times, .found = found), KEYS, "EXPIRE");
    cr_assert_eq(OF(KEYS, .op = SW_EXPIRE, .expires = times), KEYS,
                 "it might have changed something");
    cr_assert_eq(OF(KEYS, .op = SW_EXPIRE, .expires = times, .expires_out = values), 0,
                 "as they were");
    cr_assert_eq(OF(KEYS, .op = SW_EXPIRE_NONE, .expire_at = NOW + 9, .expires_out = values), 0,
                 "NX");
    cr_assert_eq(OF(3, .op = SW_EXPIRE, .expires_out = values), 3, "PERSIST");
    const uint8_t ops[] = {SW_GET, SW_EXPIRE, SW_SET, SW_EXPIRE_SOME, SW_GET};
    cr_assert_eq(OF(5, .ops = ops, .expire_at = NOW + 9, .expires_out = values), 3);
    cr_assert_eq(OF(1, .op = SW_EXPIRE, .expire_at = 1, .expires_out = values), 1,
                 "a time that has passed removes the key");
    cr_assert_eq(
        changes_of((struct sw_batch){.kind = SW_BATCH_SWEEP, .clock_ms = NOW + 10000, .count = 64}),
        KEYS - 1, "entries whose time has come");
    close_table();
}

Test(changes, scores_epochs_and_evictions)
{
    struct sw_table_config config = cache_config(128, 64, SW_CACHE_MEMORY, SW_CACHE_EPOCH_LFU);
    config.backend = tested_backend();
    config.capacity_slots = 64;
    open_table(&config);
    cr_assert_eq(OF(KEYS, .op = SW_SET), KEYS);
    cr_assert_eq(OF(KEYS, .op = SW_GET), 0, "a use is no change");
    cr_assert_eq(OF(KEYS, .op = SW_SET_SCORE, .scores = times), KEYS);
    keys[0] = 77;
    cr_assert_eq(OF(KEYS, .op = SW_SET_SCORE, .scores = times, .found = found), KEYS,
                 "whatever the answers say");
    cr_assert_eq(changes_of((struct sw_batch){.kind = SW_BATCH_EPOCH, .epoch = 7}), 1);
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = 1000 + i;
    }
    struct sw_table_stats before, after;
    sw_table_stats(table, &before);
    for (uint64_t at = 0; at < 50; at++) {
        for (uint64_t i = 0; i < KEYS; i++) {
            keys[i] = 100 + at * KEYS + i;
        }
        (void)OF(KEYS, .op = SW_SET);
    }
    sw_table_stats(table, &after);
    cr_assert_gt(after.counters.evicted, 0);
    cr_assert_eq(after.changes - before.changes,
                 after.counters.inserted - before.counters.inserted + after.counters.evicted);
    close_table();
}
