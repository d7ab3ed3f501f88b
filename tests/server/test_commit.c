/* SPDX-License-Identifier: MIT
 *
 * test_commit.c - rounds of several loops that share batches: each gets the results it would have
 * got alone.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/batch/commit.h"
#include "server/limits.h"
#include "server/loop.h"
#include "tests/server/loop_fixture.h"
#include "tests/support/random.h"

enum { LOOPS = 4, KEYS = 400, ROUND_MAX = 300 };

struct fixture {
    struct sw_config config;
    struct sw_table *table;
    struct sw_commit commit;
    struct sw_input_budget budget;
    struct sw_loop *loops[LOOPS];
    struct expected {
        bool waits;
        bool found[ROUND_MAX];
        uint64_t previous[ROUND_MAX];
    } expected[LOOPS];
    bool present[KEYS];
    uint64_t value[KEYS];
    /* Rounds in the order they were left: the model is carried out in that order. */
    uint64_t rounds;
};

static void set_up(struct fixture *fixture, uint64_t capacity)
{
    memset(fixture, 0, sizeof(*fixture));
    small_config(&fixture->config, capacity);
    fixture->table = open_table(&fixture->config);
    sw_commit_init(&fixture->commit);
    struct sw_input_budget *budget = &fixture->budget;
    const struct sw_loop_owner owner = {fixture,          no_snapshot, no_call, no_call,
                                        &fixture->commit, budget,      NULL};
    for (uint32_t i = 0; i < LOOPS; i++) {
        fixture->loops[i] = open_loop(&fixture->config, fixture->table, &owner, i, LOOPS);
    }
}

static void tear_down(struct fixture *fixture)
{
    for (int i = 0; i < LOOPS; i++) {
        close_loop(fixture->loops[i]);
    }
    sw_commit_fini(&fixture->commit);
    sw_table_destroy(fixture->table);
}

/* Fills the batch in as a round is submitted, in groups of one operation each. */
static void leave(struct sw_round *round)
{
    for (uint32_t i = 0; i < round->operations; i++) {
        round->group_ends[i] = i + 1;
    }
    round->flight.batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = round->ops[0],
        .ops = sw_round_is_uniform(round) ? NULL : round->ops,
        .count = round->operations,
        .keys = round->keys,
        .values = round->values,
        .previous = round->previous,
        .found = round->found,
        .group_count = round->operations,
        .group_ends = round->group_ends,
        .group_refused = round->group_refused,
    };
    sw_commit_start(round);
}

static void leave_random(struct fixture *fixture, int i, struct random *random)
{
    static const enum sw_op ops[] = {SW_SET, SW_SUM, SW_GET, SW_DELETE, SW_SET_ABSENT};
    struct sw_round *round = &fixture->loops[i]->resp.replies[0].round;
    struct expected *expected = &fixture->expected[i];
    uint32_t count = 1 + (uint32_t)random_below(random, ROUND_MAX);
    bool mixed = random_below(random, 2) == 0;
    sw_round_rewind(round, 0);
    for (uint32_t k = 0; k < count; k++) {
        enum sw_op op = mixed ? ops[random_below(random, 5)] : SW_SUM;
        uint64_t key = random_below(random, KEYS);
        uint64_t value = random_next(random);
        uint64_t old = fixture->present[key] ? fixture->value[key] : 0;
        expected->found[k] = fixture->present[key];
        expected->previous[k] = old;
        sw_round_add(round, op, key, value);
        if (op == SW_SET || op == SW_SUM || (op == SW_SET_ABSENT && !fixture->present[key])) {
            fixture->value[key] = op == SW_SUM ? old + value : value;
        }
        fixture->present[key] = op == SW_DELETE ? false
                                : op == SW_GET  ? fixture->present[key]
                                                : true;
    }
    expected->waits = true;
    leave(round);
}

static void check(struct fixture *fixture, int i)
{
    struct sw_round *round = &fixture->loops[i]->resp.replies[0].round;
    struct expected *expected = &fixture->expected[i];
    cr_assert_eq(round->flight.batch.status, SW_OK);
    for (uint32_t k = 0; k < round->operations; k++) {
        bool found = round->found[k / 64] >> (k % 64) & 1;
        cr_assert_eq(found, expected->found[k], "loop %d, operation %u", i, k);
        cr_assert_eq(((uint64_t *)round->previous)[k], expected->previous[k],
                     "loop %d, operation %u", i, k);
        cr_assert_eq(round->group_refused[k], 0);
    }
    expected->waits = false;
    fixture->rounds++;
}

Test(commit, every_round_gets_its_own_results)
{
    struct fixture fixture;
    struct random random = random_of(0);
    set_up(&fixture, 4096);
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(&random, LOOPS);
        if (!fixture.expected[i].waits) {
            leave_random(&fixture, i, &random);
        } else if (sw_commit_is_done(&fixture.loops[i]->resp.replies[0].round)) {
            check(&fixture, i);
        }
        sw_flights_poll(&fixture.loops[random_below(&random, LOOPS)]->batches.round_flights);
        cr_assert_leq(fixture.commit.batches, SW_COMMITS);
    }
    uint64_t batches = 0, shared = 0;
    for (int turn = 0; turn < 4 * LOOPS; turn++) { /* nothing new: all of it ends */
        sw_flights_poll(&fixture.loops[turn % LOOPS]->batches.round_flights);
    }
    for (int i = 0; i < LOOPS; i++) {
        if (fixture.expected[i].waits) {
            cr_assert(sw_commit_is_done(&fixture.loops[i]->resp.replies[0].round));
            check(&fixture, i);
        }
        cr_assert_eq(fixture.loops[i]->batches.round_flights.count, 0);
        batches += fixture.loops[i]->counters.batches;
        shared += fixture.loops[i]->counters.rounds_shared;
    }
    cr_assert_eq(fixture.commit.batches, 0);
    cr_assert(sw_list_is_empty(&fixture.commit.rounds));
    cr_assert_gt(shared, 0);
    cr_assert_leq(shared, fixture.rounds);
    cr_assert_lt(batches, fixture.rounds, "%lu batches for %lu rounds", (unsigned long)batches,
                 (unsigned long)fixture.rounds);
    tear_down(&fixture);
}

/* What a full table refuses is told to the round it came from. */
Test(commit, refusals_find_their_round)
{
    struct fixture fixture;
    set_up(&fixture, 256); /* 217 keys at the standard load */
    for (int i = 0; i < LOOPS; i++) {
        struct sw_round *round = &fixture.loops[i]->resp.replies[0].round;
        for (uint64_t k = 0; k < 100; k++) {
            sw_round_add(round, SW_SET, (uint64_t)i * 1000 + k, k);
        }
        leave(round);
    }
    for (int turn = 0; turn < 4 * LOOPS; turn++) {
        sw_flights_poll(&fixture.loops[turn % LOOPS]->batches.round_flights);
    }
    struct sw_table_stats stats;
    sw_table_stats(fixture.table, &stats);
    uint64_t refused = 0;
    for (int i = 0; i < LOOPS; i++) {
        struct sw_round *round = &fixture.loops[i]->resp.replies[0].round;
        cr_assert(sw_commit_is_done(round));
        for (uint32_t k = 0; k < 100; k++) {
            refused += round->group_refused[k];
        }
        if (i == 0) {
            cr_assert_eq(round->flight.batch.status, SW_OK);
        }
        if (i == LOOPS - 1) {
            cr_assert_eq(round->flight.batch.status, SW_E_FULL);
            cr_assert_eq(round->group_refused[99], 1);
        }
    }
    cr_assert_eq(refused, stats.counters.refused);
    cr_assert_eq(400 - refused, stats.occupied);
    tear_down(&fixture);
}
