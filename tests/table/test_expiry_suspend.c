/* SPDX-License-Identifier: MIT
 *
 * test_expiry_suspend.c - entries whose expiry is suspended, while a thread sweeps all the time:
 * they stay, and the others are removed. Afterwards the table no longer calls the old function.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "table/expiring.h"
#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(expiry_suspend, .timeout = 120);

#define KEYS 64U
#define START 1000000000000ULL
#define ROUNDS 60U

/* A thread that sweeps, with a clock at which every entry has expired. */
struct sweeper {
    struct sw_table *table;
    pthread_t thread;
    _Atomic bool ends;
    _Atomic uint64_t passes;
    _Atomic int status; /* of the first sweep that failed */
};

static void *sweep_on(void *context)
{
    struct sweeper *sweeper = context;
    struct sw_queue *queue = NULL;
    int status = sw_queue_create(sweeper->table, &queue);
    while (status == SW_OK && !atomic_load(&sweeper->ends)) {
        struct sw_batch sweep = {
            .kind = SW_BATCH_SWEEP, .count = KEYS / 4, .clock_ms = START + 1000};
        status = sw_batch_run(queue, &sweep);
        atomic_fetch_add(&sweeper->passes, sweep.sweep.cursor == 0);
    }
    atomic_store(&sweeper->status, status);
    sw_queue_destroy(queue);
    return NULL;
}

/* Waits for a pass that begins from here on to end. */
static void wait_for_a_pass(struct sweeper *sweeper)
{
    const uint64_t end = atomic_load(&sweeper->passes) + 2;
    while (atomic_load(&sweeper->passes) < end && atomic_load(&sweeper->status) == SW_OK) {
    }
}

/* Suspends the expiry of odd keys, until it is released. */
struct holder {
    _Atomic bool released;
    _Atomic uint64_t late; /* how often it was asked then */
};

static bool is_odd(const void *context, uint64_t key)
{
    struct holder *holder = (struct holder *)(uintptr_t)context;
    atomic_fetch_add(&holder->late, atomic_load(&holder->released));
    return key % 2 == 1;
}

static void give_times(struct fixture *fixture)
{
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = KEYS,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .expire_at = START + 1};
    for (uint32_t i = 0; i < KEYS; i++) {
        fixture_store(fixture, fixture->keys, i, i);
        fixture_store_value(fixture, fixture->values, i, i);
    }
    cr_assert_eq(sw_batch_run(fixture->queue, &batch), SW_OK);
}

static uint64_t left_in(const struct fixture *fixture)
{
    const struct sw_table_stats stats = table_stats(fixture->table);
    return stats.occupied;
}

static void run_rounds(uint32_t slot_bits, uint32_t value_bytes)
{
    struct fixture fixture;
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    config.value_bytes = value_bytes;
    config.capacity_slots = 2 * KEYS;
    config.batch_ops_max = KEYS;
    config.stash_slots = 64;
    fixture_open(&fixture, &config);
    struct sweeper sweeper = {.table = fixture.table};
    cr_assert_eq(pthread_create(&sweeper.thread, NULL, sweep_on, &sweeper), 0);
    static struct holder holders[ROUNDS];
    for (uint32_t round = 0; round < ROUNDS / tested_share(); round++) {
        struct holder *holder = &holders[round];
        *holder = (struct holder){0};
        sw_table_suspend_expiry(fixture.table, is_odd, holder);
        give_times(&fixture);
        wait_for_a_pass(&sweeper);
        cr_assert_eq(left_in(&fixture), KEYS / 2,
                     "entries whose expiry is suspended stay, the others are removed");
        sw_table_suspend_expiry(fixture.table, NULL, NULL);
        atomic_store(&holder->released, true);
        wait_for_a_pass(&sweeper);
        cr_assert_eq(left_in(&fixture), 0, "no expiry is suspended, so all entries are removed");
    }
    atomic_store(&sweeper.ends, true);
    pthread_join(sweeper.thread, NULL);
    cr_assert_eq(atomic_load(&sweeper.status), SW_OK);
    for (uint32_t round = 0; round < ROUNDS / tested_share(); round++) {
        cr_assert_eq(atomic_load(&holders[round].late), 0, "round %u: asked when released", round);
    }
    fixture_close(&fixture);
}

Test(expiry_suspend, integers)
{
    run_rounds(64, 0);
    run_rounds(128, 0);
}

Test(expiry_suspend, rows)
{
    run_rounds(128, 60);
}
