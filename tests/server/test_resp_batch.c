/* SPDX-License-Identifier: MIT
 *
 * test_resp_batch.c - operations that are added, taken back and grouped; and batches of several
 * loops on one table.
 */
#include <string.h>

#include "table/table.h"
#include "tests/server/serve_fixture.h"
#include "tests/support/ops.h"
#include "tests/support/oracle.h"

static struct sw_resp_batch *filling(struct serve *serve)
{
    return &serve->loop->first.resp.replies[0].batch;
}

LOOP_TEST(batch, a_new_one_is_empty_and_uniform)
{
    struct sw_resp_batch *batch = filling(serve);
    cr_assert_eq(batch->operations, 0);
    cr_assert(sw_resp_batch_is_uniform(batch));
    cr_assert(sw_resp_batch_has_room(batch, 1024));
    cr_assert_not(sw_resp_batch_has_room(batch, 1025));
}

LOOP_TEST(batch, another_operation_makes_it_mixed)
{
    struct sw_resp_batch *batch = filling(serve);
    sw_resp_batch_add(batch, SW_GET, 1, 0);
    sw_resp_batch_add(batch, SW_GET, 2, 0);
    cr_assert(sw_resp_batch_is_uniform(batch));
    sw_resp_batch_add(batch, SW_SET, 3, 0);
    sw_resp_batch_add(batch, SW_GET, 4, 0);
    cr_assert_not(sw_resp_batch_is_uniform(batch));
    sw_resp_batch_reset(batch);
    cr_assert(sw_resp_batch_is_uniform(batch));
}

/* A refused command leaves no trace: reads after it go the way of reads. */
LOOP_TEST(batch, what_is_taken_back_mixes_nothing)
{
    struct sw_resp_batch *batch = filling(serve);
    sw_resp_batch_add(batch, SW_GET, 1, 0);
    cr_assert_eq(sw_resp_batch_end_group(batch), 0);
    sw_resp_batch_add(batch, SW_SET, 2, 5);
    sw_resp_batch_add(batch, SW_SET, 3, 5);
    sw_resp_batch_rewind(batch, 1);
    cr_assert(sw_resp_batch_is_uniform(batch));
    sw_resp_batch_add(batch, SW_GET, 4, 0);
    cr_assert_eq(sw_resp_batch_end_group(batch), 1);
    cr_assert(sw_resp_batch_is_uniform(batch));
    sw_resp_batch_reset(batch);
}

LOOP_TEST(batch, the_first_one_may_be_taken_back)
{
    struct sw_resp_batch *batch = filling(serve);
    sw_resp_batch_add(batch, SW_SET, 1, 0);
    sw_resp_batch_rewind(batch, 0);
    sw_resp_batch_add(batch, SW_GET, 1, 0);
    cr_assert(sw_resp_batch_is_uniform(batch));
    sw_resp_batch_reset(batch);
}

/* By RESP: the GETs around a refused MSET are one batch of GETs. */
SERVE_TEST(batch, reads_around_a_refused_write_are_reads)
{
    struct sw_resp_batch *batch = filling(serve);
    fake_say(peer, "GET 1\r\nMSET 1 2 3 x\r\nGET 2\r\n");
    cr_assert_eq(batch->operations, 2);
    cr_assert(sw_resp_batch_is_uniform(batch));
    serve_ask(serve, peer, "",
              "$-1\r\n-ERR value is not an unsigned integer or out of range; for strings start the "
              "server with --value-bytes N --value-type string\r\n$-1\r\n");
}

LOOP_TEST(batch, random_steps_are_those_of_an_array)
{
    struct sw_resp_batch *batch = filling(serve);
    struct random random = random_of(0);
    static uint8_t model[1024];
    for (int step = 0; step < 20000; step++) {
        uint32_t grouped = batch->groups > 0 ? batch->group_ends[batch->groups - 1] : 0;
        uint64_t what = random_below(&random, 20);
        if (what == 0 && batch->operations > grouped) {
            sw_resp_batch_end_group(batch);
        } else if (what == 1) {
            sw_resp_batch_rewind(
                batch, grouped + (uint32_t)random_below(&random, batch->operations - grouped + 1));
        } else if (!sw_resp_batch_has_room(batch, 1)) {
            sw_resp_batch_reset(batch);
        } else {
            enum sw_op op = random_below(&random, 10) == 0 ? SW_SET : SW_GET;
            model[batch->operations] = (uint8_t)op;
            sw_resp_batch_add(batch, op, step, 0);
        }
        bool uniform = true;
        for (uint32_t i = 1; i < batch->operations; i++) {
            uniform &= model[i] == model[0];
        }
        cr_assert_eq(sw_resp_batch_is_uniform(batch), uniform, "%u operations", batch->operations);
        cr_assert_eq(memcmp(model, batch->ops, batch->operations), 0);
    }
    sw_resp_batch_reset(batch);
}

/* --- several loops on one table --------------------------------------------------------------- */

enum { LOOPS = 4, KEYS = 400, BATCH_MAX = 300 };

struct fleet {
    struct sw_config config;
    struct sw_table *table;
    struct sw_input_budget budget;
    struct sw_loop *loops[LOOPS];
    /* What the batch of each loop must find. */
    struct expected {
        bool waits;
        bool done;
        bool found[BATCH_MAX];
        uint64_t previous[BATCH_MAX];
    } expected[LOOPS];
    bool present[KEYS];
    uint64_t value[KEYS];
};

static struct fleet *fleet; /* of the test that runs: `done` has no argument for it */

static struct sw_resp_batch *batch_of(int i)
{
    return &fleet->loops[i]->first.resp.replies[0].batch;
}

static void on_done(struct sw_resp_batch *batch)
{
    for (int i = 0; i < LOOPS; i++) {
        if (batch == batch_of(i)) {
            cr_assert(fleet->expected[i].waits && !fleet->expected[i].done, "loop %d", i);
            fleet->expected[i].done = true;
        }
    }
}

static void set_up_fleet(uint64_t capacity)
{
    fleet = calloc(1, sizeof(*fleet));
    cr_assert_not_null(fleet);
    small_config(&fleet->config, capacity);
    fleet->table = open_table(&fleet->config, NULL);
    const struct sw_loop_owner owner = {.server = fleet,
                                        .snapshot = no_snapshot,
                                        .device_lost = no_call,
                                        .input_budget = &fleet->budget};
    for (int i = 0; i < LOOPS; i++) {
        fleet->loops[i] = open_loop(&fleet->config, fleet->table, &owner, (uint32_t)i, LOOPS);
        batch_of(i)->done = on_done;
    }
}

static void tear_down_fleet(void)
{
    for (int i = 0; i < LOOPS; i++) {
        cr_assert_eq(fleet->loops[i]->first.batches.resp_flights.count, 0);
        sw_resp_batch_reset(batch_of(i));
        close_loop(fleet->loops[i]);
    }
    sw_table_destroy(fleet->table);
    free(fleet);
}

static void poll_loop(int i)
{
    sw_flights_poll(&fleet->loops[i]->first.batches.resp_flights);
}

static void submit(int i)
{
    fleet->expected[i].waits = true;
    fleet->expected[i].done = false;
    sw_resp_batch_submit(batch_of(i));
}

static void add_operation(int i, enum sw_op op, uint64_t key, uint64_t value)
{
    struct expected *expected = &fleet->expected[i];
    uint32_t at = batch_of(i)->operations;
    uint64_t old = fleet->present[key] ? fleet->value[key] : 0;
    uint64_t after = 0;
    expected->found[at] = fleet->present[key];
    expected->previous[at] = old;
    sw_resp_batch_add(batch_of(i), op, key, value);
    sw_resp_batch_end_group(batch_of(i));
    if (oracle_writes(op, fleet->present[key], old, value, UINT64_MAX, &after)) {
        fleet->value[key] = after;
        fleet->present[key] = true;
    }
    fleet->present[key] = fleet->present[key] && op != SW_DELETE;
}

/* A batch that writes: batches of writes take effect in the order of their submission. */
static void submit_random(int i, struct random *random)
{
    uint64_t count = random_below(random, BATCH_MAX);
    bool mixed = random_below(random, 2) == 0;
    sw_resp_batch_reset(batch_of(i));
    add_operation(i, SW_SUM, random_below(random, KEYS), 1);
    for (uint64_t k = 1; k < count; k++) {
        enum sw_op op = mixed ? (enum sw_op)ops_draw(random, SW_OPS_INTEGERS) : SW_SUM;
        add_operation(i, op, random_below(random, KEYS), random_next(random));
    }
    submit(i);
}

static void check_batch(int i)
{
    const struct sw_resp_batch *batch = batch_of(i);
    struct expected *expected = &fleet->expected[i];
    cr_assert_eq(batch->flight->batch.status, SW_OK);
    for (uint32_t k = 0; k < batch->operations; k++) {
        bool found = batch->found[k / 64] >> (k % 64) & 1;
        cr_assert_eq(found, expected->found[k], "loop %d, operation %u", i, k);
        cr_assert_eq(((uint64_t *)batch->previous)[k], expected->previous[k],
                     "loop %d, operation %u", i, k);
        cr_assert_eq(batch->group_refused[k], 0);
    }
    expected->waits = false;
}

Test(batch, batches_of_several_loops_get_their_own_results)
{
    struct random random = random_of(0);
    set_up_fleet(4096);
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(&random, LOOPS);
        if (!fleet->expected[i].waits) {
            submit_random(i, &random);
        } else if (fleet->expected[i].done) {
            check_batch(i);
        }
        poll_loop((int)random_below(&random, LOOPS));
    }
    for (int i = 0; i < LOOPS; i++) {
        while (fleet->expected[i].waits) {
            poll_loop(i);
            if (fleet->expected[i].done) {
                check_batch(i);
            }
        }
    }
    tear_down_fleet();
}

/* The batch of a command that a full table refuses gets the refusal. */
Test(batch, refusals_find_their_batch)
{
    struct sw_table_stats stats;
    uint64_t refused = 0;
    set_up_fleet(256); /* 217 keys at the standard load */
    for (int i = 0; i < LOOPS; i++) {
        for (uint64_t k = 0; k < 100; k++) {
            sw_resp_batch_add(batch_of(i), SW_SET, (uint64_t)i * 1000 + k, k);
            sw_resp_batch_end_group(batch_of(i));
        }
        submit(i);
    }
    for (int i = 0; i < LOOPS; i++) {
        while (!fleet->expected[i].done) {
            poll_loop(i);
        }
        for (uint32_t k = 0; k < 100; k++) {
            refused += batch_of(i)->group_refused[k];
        }
    }
    sw_table_stats(fleet->table, &stats);
    cr_assert_eq(batch_of(0)->flight->batch.status, SW_OK);
    cr_assert_eq(batch_of(LOOPS - 1)->flight->batch.status, SW_E_FULL);
    cr_assert_eq(batch_of(LOOPS - 1)->group_refused[99], 1);
    cr_assert_eq(refused, stats.counters.refused);
    cr_assert_eq(400 - refused, stats.occupied);
    tear_down_fleet();
}

/* default-ttl: one time for the whole batch, unless some operation says when its key expires. */
Test(batch, keys_of_which_nobody_says_when_have_the_default_time)
{
    set_up_fleet(256);
    struct sw_resp_batch *batch = batch_of(0);
    const struct sw_batch *result = &batch->flight->batch;
    for (int i = 0; i < 3; i++) {
        fleet->loops[0]->first.batches.shape.default_ttl_ms = i < 2 ? 500000 : 0;
        const uint64_t from = sw_flight_wall_ms();
        sw_resp_batch_add(batch, SW_SET, 1, 5);
        sw_resp_batch_add(batch, SW_GET, 1, 0);
        if (i > 0) {
            sw_resp_batch_add(batch, SW_SET, 2, 5);
            sw_resp_batch_set_time(batch, SW_EXPIRE_KEEP);
            sw_resp_batch_add(batch, SW_SET, 3, 5);
            sw_resp_batch_set_time(batch, 0);
        }
        sw_resp_batch_add(batch, SW_SET, 4, 5);
        sw_resp_batch_end_group(batch);
        submit(0);
        while (!fleet->expected[0].done) {
            poll_loop(0);
        }
        const uint64_t at = i == 0 ? result->expire_at : result->expires[0];
        cr_assert_eq(result->expires != NULL, i > 0);
        cr_assert(i == 2 ? at == 0 : at - from >= 500000 && at <= sw_flight_wall_ms() + 500000);
        for (uint32_t k = 0; i > 0 && k < batch->operations; k++) {
            cr_assert_eq(result->expires[k], k == 2 ? SW_EXPIRE_KEEP : k == 3 ? 0 : at);
        }
        fleet->expected[0].waits = false;
        sw_resp_batch_reset(batch);
    }
    sw_resp_batch_add(batch, SW_GET, 1, 0); /* what only reads says nothing of times */
    fleet->loops[0]->first.batches.shape.default_ttl_ms = 500000;
    sw_resp_batch_end_group(batch);
    submit(0);
    while (!fleet->expected[0].done) {
        poll_loop(0);
    }
    cr_assert_eq(result->expire_at, 0);
    cr_assert_null(result->expires);
    sw_resp_batch_reset(batch);
    tear_down_fleet();
}
