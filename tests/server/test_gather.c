/* SPDX-License-Identifier: MIT
 *
 * test_gather.c - write frames that share a batch: each gets what it would have got alone, in
 * order.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/bits.h"
#include "server/bulk/bulk.h"
#include "server/bulk/frame_pool.h"
#include "server/bulk/gather.h"
#include "server/limits.h"
#include "server/loop.h"
#include "server/net/conn.h"
#include "tests/server/loop_fixture.h"
#include "tests/support/random.h"

enum { KEYS = 512, FRAME_MAX = 200, FRAMES = 64 };

struct fixture {
    struct sw_config config;
    struct sw_table *table;
    struct sw_loop *loop;
    struct sw_input_budget budget;
    struct sw_conn *conn;
    unsigned answered;
    /* The model: what each key holds, if it is there. */
    bool present[KEYS];
    uint64_t value[KEYS];
};

/* A frame, and what it must be told. */
struct probe {
    struct sw_bulk_frame frame;
    struct fixture *fixture;
    unsigned number; /* in the order of submission */
    bool wants_values;
    uint64_t *keys;
    uint64_t *values;
    uint64_t *previous;
    uint64_t *found;
    bool expected_found[FRAME_MAX];
    uint64_t expected_previous[FRAME_MAX];
};

static void set_up(struct fixture *fixture, uint64_t capacity)
{
    memset(fixture, 0, sizeof(*fixture));
    small_config(&fixture->config, capacity);
    fixture->table = open_table(&fixture->config);
    const struct sw_loop_owner owner = {fixture, no_snapshot,      no_call,
                                        no_call, &fixture->budget, NULL};
    fixture->loop = open_loop(&fixture->config, fixture->table, &owner, 0, 1);
    fixture->conn = calloc(1, sizeof(*fixture->conn) + sizeof(struct sw_bulk_conn));
    cr_assert_not_null(fixture->conn);
}

static void tear_down(struct fixture *fixture)
{
    free(fixture->conn);
    close_loop(fixture->loop);
    sw_table_destroy(fixture->table);
}

static void take_and_put(struct fixture *fixture, uint32_t count)
{
    struct sw_list frames;
    sw_list_init(&frames);
    for (uint32_t i = 0; i < count; i++) {
        struct sw_bulk_frame *frame = sw_bulk_frame_take(&fixture->loop->bulk, fixture->conn);
        cr_assert_not_null(frame);
        sw_list_push(&frames, &frame->link);
    }
    while (!sw_list_is_empty(&frames)) {
        sw_bulk_frame_put(sw_bulk_frame_at(sw_list_pop(&frames)));
    }
    sw_bulk_check(&fixture->loop->bulk);
}

/* As many stay as were needed since the last sweep. */
Test(gather, spare_frames_are_given_back)
{
    struct fixture fixture;
    set_up(&fixture, 1024);
    take_and_put(&fixture, 1000);
    cr_assert_eq(fixture.loop->bulk.pool.spare_count, 1000);
    sw_bulk_pool_sweep(&fixture.loop->bulk.pool);
    cr_assert_eq(fixture.loop->bulk.pool.spare_count, 1000, "all were needed just now");
    take_and_put(&fixture, 10);
    take_and_put(&fixture, 3);
    sw_bulk_pool_sweep(&fixture.loop->bulk.pool);
    cr_assert_eq(fixture.loop->bulk.pool.spare_count, 10);
    sw_bulk_pool_sweep(&fixture.loop->bulk.pool);
    cr_assert_eq(fixture.loop->bulk.pool.spare_count, 0);
    sw_bulk_pool_sweep(&fixture.loop->bulk.pool);
    cr_assert(sw_list_is_empty(&fixture.loop->bulk.pool.spare));
    take_and_put(&fixture, SW_SPARE_FRAMES_FREED_MAX + 5);
    sw_bulk_pool_sweep(&fixture.loop->bulk.pool);
    sw_bulk_pool_sweep(&fixture.loop->bulk.pool);
    cr_assert_eq(fixture.loop->bulk.pool.spare_count, 5, "no more at a time");
    tear_down(&fixture);
}

static void on_done(struct sw_flight *flight);

/* Makes frame number `number` of `count` operations; its arrays are from the table's I/O memory. */
static void open_probe(struct probe *probe, struct fixture *fixture, unsigned number, enum sw_op op,
                       uint32_t count)
{
    memset(probe, 0, sizeof(*probe));
    probe->fixture = fixture;
    probe->number = number;
    uint64_t *memory = sw_io_alloc(fixture->table, 4096 * sizeof(*memory));
    cr_assert_not_null(memory);
    memset(memory, 0xa5, 4096 * sizeof(*memory));
    probe->keys = memory;
    probe->values = memory + 1024;
    probe->previous = memory + 2048;
    probe->found = memory + 3072;
    probe->wants_values = number % 3 != 0;
    probe->frame.bulk = &fixture->loop->bulk;
    sw_list_init(&probe->frame.link);
    probe->frame.conn = fixture->conn;
    probe->frame.flight.done = on_done;
    probe->frame.flight.batch = (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = op,
        .count = count,
        .keys = probe->keys,
        .values = op == SW_DELETE ? NULL : probe->values,
        .previous = probe->wants_values ? probe->previous : NULL,
        .found = number % 5 == 0 ? NULL : probe->found,
    };
}

static void close_probe(struct probe *probe)
{
    sw_io_free(probe->fixture->table, probe->keys, 4096 * sizeof(uint64_t));
}

/* Carries operation i out in the model, and notes what the table must answer. */
static void expect(struct probe *probe, uint32_t i)
{
    struct fixture *fixture = probe->fixture;
    uint64_t key = probe->keys[i];
    uint64_t operand = probe->values[i];
    uint64_t old = fixture->present[key] ? fixture->value[key] : 0;
    probe->expected_found[i] = fixture->present[key];
    probe->expected_previous[i] = old;
    switch (probe->frame.flight.batch.op) {
    case SW_SUM:
        fixture->value[key] = old + operand;
        break;
    case SW_SET_ABSENT:
        fixture->value[key] = fixture->present[key] ? old : operand;
        break;
    case SW_DELETE:
        fixture->present[key] = false;
        return;
    default: /* SW_SET */
        fixture->value[key] = operand;
        break;
    }
    fixture->present[key] = true;
}

static void on_done(struct sw_flight *flight)
{
    struct probe *probe = (struct probe *)((char *)flight - offsetof(struct probe, frame.flight));
    const struct sw_batch *batch = &flight->batch;
    uint64_t hits = 0;
    cr_assert_eq(probe->number, probe->fixture->answered, "frame %u was answered as number %u",
                 probe->number, probe->fixture->answered);
    probe->fixture->answered++;
    cr_assert_eq(batch->status, SW_OK);
    for (uint32_t i = 0; i < batch->count; i++) {
        hits += probe->expected_found[i];
        if (batch->found != NULL) {
            bool found = probe->found[i / 64] >> (i % 64) & 1;
            cr_assert_eq(found, probe->expected_found[i], "frame %u, operation %u", probe->number,
                         i);
        }
        if (probe->wants_values) {
            cr_assert_eq(probe->previous[i], probe->expected_previous[i], "frame %u, operation %u",
                         probe->number, i);
        }
    }
    if (batch->found == NULL) {
        cr_assert_eq(probe->found[0], 0xa5a5a5a5a5a5a5a5, "nobody asked for the bits");
    } else if (batch->count % 64 != 0) {
        cr_assert_eq(probe->found[batch->count / 64] >> batch->count % 64, 0, "unused bits");
    }
    uint64_t told = 0;
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        told += batch->counters.by_class[c].hits;
    }
    cr_assert_eq(told, hits);
}

static void run_until_idle(struct sw_loop *loop)
{
    while (loop->batches.flights.count > 0 || !sw_list_is_empty(&loop->bulk.gather.waiting)) {
        sw_gather_submit(&loop->bulk);
        sw_flights_poll(&loop->batches.flights);
    }
}

Test(gather, copies_bits_from_anywhere)
{
    uint64_t from[8], to[8];
    struct random random = random_of(1);
    for (int trial = 0; trial < 20000; trial++) {
        uint32_t first = (uint32_t)(random_next(&random) % 200);
        uint32_t count = 1 + (uint32_t)(random_next(&random) % (512 - 200));
        uint32_t set = 0;
        for (int i = 0; i < 8; i++) {
            from[i] = random_next(&random);
            to[i] = UINT64_MAX;
        }
        uint32_t counted = sw_copy_bits(to, from, first, count);
        for (uint32_t i = 0; i < (count + 63) / 64 * 64; i++) {
            bool bit = i < count && (from[(first + i) / 64] >> ((first + i) % 64) & 1);
            cr_assert_eq(to[i / 64] >> (i % 64) & 1, bit, "first %u, count %u, bit %u", first,
                         count, i);
            set += bit;
        }
        cr_assert_eq(counted, set);
        cr_assert_eq(sw_copy_bits(NULL, from, first, count), set);
        for (uint32_t i = (count + 63) / 64; i < 8; i++) {
            cr_assert_eq(to[i], UINT64_MAX, "a word past the end was written");
        }
    }
}

Test(gather, every_frame_gets_its_own_answer)
{
    static const enum sw_op ops[] = {SW_SET, SW_SET, SW_SUM, SW_SUM, SW_SET_ABSENT, SW_DELETE};
    struct fixture fixture;
    struct probe *probes = calloc(FRAMES, sizeof(*probes));
    struct random random = random_of(2);
    cr_assert_not_null(probes);
    set_up(&fixture, 4096);
    for (unsigned trial = 0; trial < 40; trial++) {
        enum sw_op op = SW_SET;
        fixture.answered = 0;
        for (unsigned n = 0; n < FRAMES; n++) {
            if (random_next(&random) % 4 == 0) {
                op = ops[random_next(&random) % 6];
            }
            uint32_t count = 1 + (uint32_t)(random_next(&random) % FRAME_MAX);
            open_probe(&probes[n], &fixture, n, op, count);
            for (uint32_t i = 0; i < count; i++) {
                probes[n].keys[i] = random_next(&random) % KEYS;
                probes[n].values[i] = random_next(&random);
                expect(&probes[n], i);
            }
            cr_assert(sw_gather_takes(&probes[n].frame));
            sw_gather_add(&probes[n].frame);
            if (random_next(&random) % 32 == 0) {
                sw_gather_flush(&fixture.loop->bulk);
                cr_assert(sw_list_is_empty(&fixture.loop->bulk.gather.waiting));
            }
        }
        run_until_idle(fixture.loop);
        cr_assert_eq(fixture.answered, FRAMES);
        cr_assert_eq(sw_bulk_of(fixture.conn)->gathered, 0);
        for (unsigned n = 0; n < FRAMES; n++) {
            close_probe(&probes[n]);
        }
    }
    cr_assert_gt(fixture.loop->counters.frames_gathered, 0);
    tear_down(&fixture);
    free(probes);
}

/* --- refusals --------------------------------------------------------------------------------- */

struct refusals {
    struct sw_bulk_frame frames[8];
    int statuses[8];
    unsigned answered;
};

static void note_status(struct sw_flight *flight)
{
    struct refusals *refusals = flight->batch.user;
    refusals->statuses[refusals->answered++] = flight->batch.status;
}

/* A frame too many for the table is refused; those beside it in the batch are not. */
Test(gather, a_refused_frame_is_refused_alone)
{
    struct fixture fixture;
    static struct refusals refusals;
    set_up(&fixture, 1024);
    uint32_t most = (uint32_t)(1024 * fixture.config.max_load);
    uint64_t *memory = sw_io_alloc(fixture.table, 3 * 4096 * sizeof(*memory));
    cr_assert_not_null(memory);
    for (uint32_t i = 0; i < 4096; i++) {
        memory[i] = i;
    }
    /* 100 new keys, the same again, more than there is room for, 20 more new keys */
    const struct {
        uint32_t first, count;
        int status;
    } wanted[] = {{0, 100, SW_OK}, {0, 100, SW_OK}, {200, 800, SW_E_FULL}, {2000, 20, SW_OK}};
    cr_assert_lt(most, 900);
    for (unsigned n = 0; n < 4; n++) {
        struct sw_bulk_frame *frame = &refusals.frames[n];
        frame->bulk = &fixture.loop->bulk;
        sw_list_init(&frame->link);
        frame->conn = fixture.conn;
        frame->flight.done = note_status;
        frame->flight.batch = (struct sw_batch){
            .kind = SW_BATCH_OPERATIONS,
            .op = SW_SET,
            .count = wanted[n].count,
            .keys = memory + wanted[n].first,
            .values = memory + wanted[n].first,
            .found = memory + 4096 + 64 * n,
            .user = &refusals,
        };
        sw_gather_add(frame);
    }
    run_until_idle(fixture.loop);
    cr_assert_eq(refusals.answered, 4);
    cr_assert_eq(fixture.loop->counters.batches, 1);
    for (unsigned n = 0; n < 4; n++) {
        cr_assert_eq(refusals.statuses[n], wanted[n].status, "frame %u: %d", n,
                     refusals.statuses[n]);
    }
    sw_io_free(fixture.table, memory, 3 * 4096 * sizeof(*memory));
    tear_down(&fixture);
}

/* While as many batches as may be are in flight the rest waits, and then shares one. */
Test(gather, the_rest_waits)
{
    struct fixture fixture;
    struct probe *probes = calloc(FRAMES, sizeof(*probes));
    cr_assert_not_null(probes);
    set_up(&fixture, 4096);
    for (unsigned n = 0; n < FRAMES; n++) {
        open_probe(&probes[n], &fixture, n, SW_SUM, 3);
        for (uint32_t i = 0; i < 3; i++) {
            probes[n].keys[i] = i;
            probes[n].values[i] = n;
            expect(&probes[n], i);
        }
        sw_gather_add(&probes[n].frame);
        if (n < SW_GATHERS) {
            cr_assert(sw_gather_submit(&fixture.loop->bulk)); /* nobody polls: it stays in flight */
        } else {
            cr_assert_not(sw_gather_submit(&fixture.loop->bulk));
        }
    }
    cr_assert_eq(sw_bulk_of(fixture.conn)->gathered, FRAMES - SW_GATHERS);
    run_until_idle(fixture.loop);
    cr_assert_eq(fixture.answered, FRAMES);
    cr_assert_eq(fixture.loop->counters.batches, SW_GATHERS + 1);
    cr_assert_eq(fixture.loop->counters.frames_gathered, FRAMES - SW_GATHERS);
    for (unsigned n = 0; n < FRAMES; n++) {
        close_probe(&probes[n]);
    }
    tear_down(&fixture);
    free(probes);
}
