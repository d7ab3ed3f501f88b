/* SPDX-License-Identifier: MIT
 *
 * test_flight.c - batches in flight, against a queue that the test controls.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "server/batch/flight.h"
#include "server/limits.h"
#include "server/repl/backlog.h"
#include "table/table.h"

enum { FLIGHTS = 8 };

/* The queue the module believes in. These take the place of the table's functions. */
struct sw_queue {
    unsigned room;       /* batches it takes */
    unsigned submitted;  /* batches it has taken */
    unsigned done;       /* the oldest of these answer their status */
    bool early[FLIGHTS]; /* and so does this one, whatever is older */
    unsigned polled;
    unsigned takes_us; /* a submit takes at least as long */
    bool is_held;      /* by a long read: it takes reads alone */
    unsigned searches; /* batches of SW_BATCH_COUNT_SCORES that it still takes */
    int refuse;        /* what submit says instead, if not SW_OK */
    int lacks;         /* what its creation says instead */
    unsigned created;
    const struct sw_submitter *submitter;
    unsigned seen_submitting;
    int statuses[FLIGHTS];
    const struct sw_batch *batches[FLIGHTS]; /* in the order of their submission */
};

uint64_t sw_table_last_sequence(struct sw_table *table)
{
    (void)table;
    return 0;
}

/* The table is the queue that is created. */
int sw_queue_create_for(struct sw_table *table, uint32_t thread, struct sw_queue **out)
{
    struct sw_queue *queue = (struct sw_queue *)(void *)table;
    cr_assert(sw_submitter_is_submitting(queue->submitter)); /* the watchdog knows */
    queue->created += thread;
    *out = queue->lacks == SW_OK ? queue : NULL;
    return queue->lacks;
}

int sw_batch_submit(struct sw_queue *queue, struct sw_batch *batch)
{
    queue->seen_submitting += sw_submitter_is_submitting(queue->submitter);
    if (queue->submitted - queue->polled == queue->room ||
        (queue->is_held && !sw_flight_reads(batch)) ||
        (batch->kind == SW_BATCH_COUNT_SCORES && queue->searches == 0)) {
        return SW_E_BUSY;
    }
    queue->searches -= batch->kind == SW_BATCH_COUNT_SCORES;
    if (queue->refuse != SW_OK) {
        return queue->refuse;
    }
    if (queue->takes_us > 0) {
        usleep(queue->takes_us);
    }
    batch->_ticket = queue->submitted;
    queue->batches[queue->submitted++] = batch;
    return SW_OK;
}

int sw_batch_poll(struct sw_queue *queue, struct sw_batch *batch)
{
    if (batch->_ticket >= queue->done && !queue->early[batch->_ticket]) {
        return SW_PENDING;
    }
    queue->polled++;
    batch->status = queue->statuses[batch->_ticket];
    return batch->status;
}

bool sw_table_is_held(const struct sw_table *table)
{
    return ((const struct sw_queue *)(const void *)table)->is_held;
}

bool sw_table_holds(const struct sw_table *table, bool reads)
{
    return !reads && sw_table_is_held(table);
}

/* It does not grow. */
uint64_t sw_table_grown(const struct sw_table *table)
{
    (void)table;
    return 0;
}

static struct {
    struct sw_queue queue;
    struct sw_loop_counters counters;
    struct sw_submitter submitter;
    struct sw_flights flights, others; /* of the same queue */
    struct sw_flight list[FLIGHTS];
    unsigned calls[FLIGHTS];
} fixture;

static void on_done(struct sw_flight *flight)
{
    unsigned *calls = flight->batch.user;
    (*calls)++;
}

static void set_up(void)
{
    memset(&fixture, 0, sizeof(fixture));
    fixture.queue.room = FLIGHTS;
    fixture.queue.submitter = &fixture.submitter;
    sw_submitter_init(&fixture.submitter, (struct sw_table *)(void *)&fixture.queue, 1);
    sw_flights_init(&fixture.flights, &fixture.submitter, &fixture.counters);
    sw_flights_init(&fixture.others, &fixture.submitter, &fixture.counters);
    for (unsigned i = 0; i < FLIGHTS; i++) {
        fixture.list[i].done = on_done;
        fixture.list[i].batch.user = &fixture.calls[i];
        fixture.list[i].batch.kind = SW_BATCH_OPERATIONS;
        fixture.list[i].batch.count = 1;
    }
}

TestSuite(flight, .init = set_up);

static void start(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        sw_flight_start(&fixture.flights, &fixture.list[i]);
    }
}

Test(flight, completes_in_order_and_waits_for_room)
{
    fixture.queue.room = 3;
    start(FLIGHTS);
    cr_assert_eq(fixture.queue.submitted, 3);
    cr_assert_eq(sw_flights_poll(&fixture.flights), 0);
    for (unsigned i = 0; i < FLIGHTS; i++) {
        fixture.queue.done = i + 1;
        cr_assert_eq(sw_flights_poll(&fixture.flights), 1);
        for (unsigned k = 0; k < FLIGHTS; k++) {
            cr_assert_eq(fixture.calls[k], k <= i ? 1U : 0U, "flight %u after %u", k, i);
        }
    }
    cr_assert_eq(fixture.flights.count, 0);
    cr_assert_eq(fixture.queue.submitted, FLIGHTS);
    cr_assert_eq(fixture.counters.batches, FLIGHTS);
    cr_assert_not(fixture.flights.device_lost);
}

/* Starts flight `i` in this list, as one of several of the queue. */
static void start_in(struct sw_flights *flights, unsigned i)
{
    sw_flight_start(flights, &fixture.list[i]);
    sw_flights_check(&fixture.flights);
    sw_flights_check(&fixture.others);
}

Test(flight, a_list_does_not_wait_for_another)
{
    start_in(&fixture.flights, 0);
    start_in(&fixture.others, 1);
    start_in(&fixture.flights, 2);
    fixture.queue.early[1] = fixture.queue.early[2] = true;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 0, "the oldest of it is not done");
    cr_assert_eq(sw_flights_poll(&fixture.others), 1);
    cr_assert_eq(fixture.calls[1], 1);
    cr_assert_eq(fixture.calls[2], 0);
    fixture.queue.done = 1;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
}

/* Nothing is submitted before what was started earlier, in whichever list: a read would pass a
 * write of its stream. */
Test(flight, lists_of_a_queue_are_submitted_in_one_order)
{
    fixture.queue.room = 2;
    for (unsigned i = 0; i < 4; i++) {
        start_in(i % 2 == 0 ? &fixture.flights : &fixture.others, i);
    }
    cr_assert_eq(fixture.queue.submitted, 2);
    fixture.queue.early[1] = true;
    cr_assert_eq(sw_flights_poll(&fixture.others), 1);
    cr_assert_eq(fixture.queue.submitted, 3, "there was room for one");
    cr_assert_eq(sw_flights_poll(&fixture.others), 0);
    cr_assert_eq(fixture.queue.submitted, 3);
    sw_flights_check(&fixture.others);
    fixture.queue.done = 4;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert_eq(sw_flights_poll(&fixture.others), 1);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(fixture.queue.batches[i], &fixture.list[i].batch, "submitted as number %u", i);
        cr_assert_eq(fixture.calls[i], 1);
    }
}

/* A queue may have no room though this loop has nothing in it. */
Test(flight, polling_submits_what_nothing_is_ahead_of)
{
    fixture.queue.room = 0;
    start_in(&fixture.others, 0);
    cr_assert_eq(sw_flights_poll(&fixture.others), 0);
    fixture.queue.room = fixture.queue.done = 1;
    cr_assert_eq(sw_flights_poll(&fixture.others), 1);
    cr_assert_eq(fixture.calls[0], 1);
}

/* A write waits for an image of its table. Reads of other connections go on, and no batch overtakes
 * an older one of its connection. */
Test(flight, reads_pass_a_write_that_a_long_read_holds)
{
    static const struct {
        enum sw_op op;
        uint32_t stream;
    } rows[] = {{SW_SET, 1}, {SW_GET, 1}, {SW_GET, 2}, {SW_SET, 3}, {SW_GET, 3}, {SW_GET, 2}};
    static const unsigned order[] = {2, 5, 0, 1, 3, 4};
    enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
    fixture.queue.is_held = true;
    for (unsigned i = 0; i < COUNT; i++) {
        fixture.list[i].batch.op = rows[i].op;
        fixture.list[i].batch.stream = rows[i].stream;
        start_in(rows[i].op == SW_GET ? &fixture.flights : &fixture.others, i);
    }
    cr_assert_eq(fixture.queue.submitted, 2);
    fixture.queue.done = COUNT;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert_eq(fixture.queue.submitted, 2);
    fixture.queue.is_held = false;
    while (fixture.flights.count + fixture.others.count > 0) {
        (void)sw_flights_poll(&fixture.others);
        (void)sw_flights_poll(&fixture.flights);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        cr_assert_eq(fixture.queue.batches[i], &fixture.list[order[i]].batch, "number %u", i);
        cr_assert_eq(fixture.calls[i], 1);
    }
}

/* Connections of one loop may have every 64th number. */
Test(flight, reads_pass_the_writes_of_many_connections)
{
    fixture.queue.is_held = true;
    for (unsigned i = 0; i < FLIGHTS; i++) {
        fixture.list[i].batch.op = i < FLIGHTS - 1 ? SW_SET : SW_GET;
        fixture.list[i].batch.stream = 64 * i;
        start_in(i < FLIGHTS - 1 ? &fixture.others : &fixture.flights, i);
    }
    cr_assert_eq(fixture.queue.submitted, 1);
    cr_assert_eq(fixture.queue.batches[0], &fixture.list[FLIGHTS - 1].batch);
}

/* A search by score takes long, and another one is turned away. Reads of other connections pass
 * both. */
Test(flight, reads_pass_searches)
{
    static const uint32_t streams[] = {1, 2, 3, 2, 4};
    static const unsigned order[] = {0, 2, 4, 1, 3};
    fixture.queue.is_held = true;
    fixture.queue.searches = 1;
    for (unsigned i = 0; i < 5; i++) {
        fixture.list[i].batch.kind = i < 2 ? SW_BATCH_COUNT_SCORES : SW_BATCH_OPERATIONS;
        fixture.list[i].batch.op = SW_GET;
        fixture.list[i].batch.stream = streams[i];
        start_in(&fixture.flights, i);
    }
    cr_assert_eq(fixture.queue.submitted, 3);
    fixture.queue.early[1] = fixture.queue.early[2] = true;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert_eq(fixture.calls[2] + fixture.calls[4], 2);
    fixture.queue.searches = 1;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 0);
    cr_assert_eq(fixture.queue.submitted, 5, "before the first search is done");
    fixture.queue.done = 5;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 3);
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_eq(fixture.queue.batches[i], &fixture.list[order[i]].batch, "number %u", i);
        cr_assert_eq(fixture.calls[i], 1);
    }
}

/* A search was turned away, so that a write comes first, which may be behind it. */
Test(flight, a_write_passes_a_search_that_was_turned_away)
{
    static const uint32_t streams[] = {1, 1, 2};
    for (unsigned i = 0; i < 3; i++) {
        fixture.list[i].batch.kind = i < 1 ? SW_BATCH_COUNT_SCORES : SW_BATCH_OPERATIONS;
        fixture.list[i].batch.op = SW_SET;
        fixture.list[i].batch.stream = streams[i];
        start_in(i < 1 ? &fixture.flights : &fixture.others, i);
    }
    cr_assert_eq(fixture.queue.submitted, 1);
    cr_assert_eq(fixture.queue.batches[0], &fixture.list[2].batch);
    fixture.queue.done = 3;
    cr_assert_eq(sw_flights_poll(&fixture.others), 1);
    fixture.queue.searches = 1;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 1);
    cr_assert_eq(sw_flights_poll(&fixture.others), 1);
    sw_flights_check(&fixture.others);
}

/* A write that had to wait passes the search later, and what was started behind it goes on. */
Test(flight, a_write_that_waited_passes_a_search)
{
    static const enum sw_op ops[] = {SW_GET, SW_SET, SW_GET, SW_SET, SW_GET};
    static const uint32_t streams[] = {1, 2, 2, 3, 1};
    fixture.queue.is_held = true;
    for (unsigned i = 0; i < 5; i++) {
        fixture.list[i].batch.kind = i < 1 ? SW_BATCH_COUNT_SCORES : SW_BATCH_OPERATIONS;
        fixture.list[i].batch.op = ops[i];
        fixture.list[i].batch.stream = streams[i];
        start_in(ops[i] == SW_GET ? &fixture.flights : &fixture.others, i);
    }
    cr_assert_eq(fixture.queue.submitted, 0);
    fixture.queue.is_held = false;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 0);
    cr_assert_eq(fixture.queue.submitted, 3, "only one read is of the stream of the search");
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(fixture.queue.batches[i], &fixture.list[i + 1].batch, "number %u", i);
    }
    fixture.queue.searches = 1;
    fixture.queue.done = 5;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 3);
    cr_assert_eq(sw_flights_poll(&fixture.others), 2);
    sw_flights_check(&fixture.others);
}

/* Each start looks at the new flight, however many wait: to look at all of them took 10 s. */
Test(flight, many_wait_for_a_long_read)
{
    enum { WAIT = 65536 };
    struct sw_flight *waiting = calloc(WAIT, sizeof(*waiting));
    fixture.queue.is_held = true;
    const clock_t begun = clock();
    for (unsigned i = 0; i < WAIT; i++) {
        waiting[i] = fixture.list[0];
        waiting[i].batch.op = SW_SET;
        waiting[i].batch.stream = i / 64;
        sw_flight_start(&fixture.others, &waiting[i]);
    }
    cr_assert_lt(clock() - begun, 3 * CLOCKS_PER_SEC);
    fixture.list[0].batch.op = SW_GET;
    fixture.list[0].batch.stream = WAIT;
    start_in(&fixture.flights, 0);
    cr_assert_eq(fixture.queue.submitted, 1);
    free(waiting);
}

/* Batches that a table carries out in the submit, and that have waited for its growth. */
Test(flight, a_poll_leaves_time_to_other_tables)
{
    fixture.queue.room = 0;
    start(FLIGHTS);
    fixture.queue.room = fixture.queue.done = FLIGHTS;
    fixture.queue.takes_us = SW_ITERATION_NS / 1000 + 1000;
    for (unsigned i = 0; i < FLIGHTS; i++) {
        cr_assert_eq(sw_flights_poll(&fixture.flights), 1);
        cr_assert_eq(fixture.queue.submitted, i + 1);
        sw_flights_check(&fixture.flights);
    }
}

/* What the watchdog asks: a table may take its time inside a submit, but not for ever. */
Test(flight, says_when_it_is_in_the_table)
{
    cr_assert_not(sw_submitter_is_submitting(&fixture.submitter));
    start(3);
    cr_assert_eq(fixture.queue.seen_submitting, 3);
    cr_assert_not(sw_submitter_is_submitting(&fixture.submitter));
    uint64_t now_us = uv_hrtime() / 1000;
    fixture.submitter.submitting_since_us = now_us - SW_SUBMIT_MS_MAX * 1000ULL + 10000000;
    cr_assert(sw_submitter_is_submitting(&fixture.submitter));
    fixture.submitter.submitting_since_us = now_us - SW_SUBMIT_MS_MAX * 1000ULL;
    cr_assert_not(sw_submitter_is_submitting(&fixture.submitter));
}

/* Any error but a lost device is the flight's own affair. */
Test(flight, other_errors_do_not_lose_the_device)
{
    static const int statuses[] = {SW_OK, SW_E_FULL, SW_E_NOMEM, SW_E_INVALID};
    memcpy(fixture.queue.statuses, statuses, sizeof(statuses));
    fixture.queue.done = 4;
    start(4);
    cr_assert_eq(sw_flights_poll(&fixture.flights), 4);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(fixture.list[i].batch.status, statuses[i]);
    }
    cr_assert_not(fixture.flights.device_lost);
}

Test(flight, a_lost_device_is_flagged_and_every_flight_is_called_back)
{
    start(FLIGHTS);
    fixture.queue.statuses[2] = SW_E_DEVICE;
    fixture.queue.done = 2;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert_not(fixture.flights.device_lost);
    fixture.queue.done = FLIGHTS;
    cr_assert_eq(sw_flights_poll(&fixture.flights), FLIGHTS - 2);
    cr_assert(fixture.flights.device_lost);
    for (unsigned i = 0; i < FLIGHTS; i++) {
        cr_assert_eq(fixture.calls[i], 1, "flight %u", i);
    }
}

Test(flight, a_device_lost_at_submit_is_flagged_too)
{
    fixture.queue.refuse = SW_E_DEVICE;
    start(2);
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert(fixture.flights.device_lost);
    cr_assert_eq(fixture.list[1].batch.status, SW_E_DEVICE);
    cr_assert_eq(fixture.calls[0], 1);
    cr_assert_eq(fixture.calls[1], 1);
}

Test(flight, the_first_submit_creates_the_queue)
{
    cr_assert_eq(fixture.queue.created, 0);
    fixture.queue.lacks = SW_E_NOMEM;
    start(2);
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert_eq(fixture.list[1].batch.status, SW_E_NOMEM);
    cr_assert_not(fixture.flights.device_lost);
    fixture.queue.lacks = SW_OK;
    start(2);
    fixture.queue.done = 2;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 2);
    cr_assert_eq(fixture.list[1].batch.status, SW_OK);
    cr_assert_eq(fixture.queue.created, 3, "once, after two attempts");
}

Test(flight, a_backlog_that_comes_on_meanwhile_skips_hidden_results)
{
    uint64_t key = 7;
    struct sw_backlog_record *record;
    struct sw_flight *flight = &fixture.list[0];
    struct sw_backlog *backlog = sw_backlog_create(1 << 20);
    fixture.flights.backlog = backlog;
    fixture.flights.widths = (struct sw_logged_widths){8, 8, 0, 0};
    flight->hides_results = true; /* `previous` and `found` are NULL */
    flight->batch.op = SW_FIND_OR_INSERT;
    flight->batch.keys = &key;
    start(1);
    flight->batch.write_sequence = 1;
    sw_backlog_enable(backlog, NULL);
    fixture.queue.done = 1;
    cr_assert_eq(sw_flights_poll(&fixture.flights), 1);
    cr_assert_eq(fixture.calls[0], 1);
    cr_assert_eq(sw_backlog_take(backlog, 0, &record, 1, 1 << 20), -1,
                 "a replica needs a snapshot");
    sw_backlog_destroy(backlog);
}
