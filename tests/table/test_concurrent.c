/* SPDX-License-Identifier: MIT
 *
 * test_concurrent.c - several threads, each with a queue of its own, on one table. Meant to be run
 * under ThreadSanitizer too.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "table/robin_hood/cpu/parallel.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"
#include "tests/support/threads.h"

TestSuite(concurrent, .timeout = 120);

#define THREADS 4
#define BATCHES 30
#define OPS 500U
#define SHARED_KEYS 200U

struct submitter {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    uint32_t number;
    uint32_t ops;
    uint32_t batches;
    uint64_t errors; /* wrong answers: asserted by the main thread */
    uint64_t sum;    /* of what was added to the shared keys */
    void (*submit)(struct submitter *me);
};

static struct sw_table *create_growing(uint32_t slot_bits, uint32_t threads, uint32_t ops,
                                       uint64_t capacity, uint64_t max_capacity)
{
    struct sw_table_config config = fixture_config(slot_bits);
    config.capacity_slots = capacity;
    config.max_capacity_slots = max_capacity;
    config.threads = threads;
    config.batch_ops_max = ops;
    config.tuning.long_bytes = threads % 2; /* 1: every pass is long */
    return must_create(&config);
}

static struct sw_table *create(uint32_t slot_bits, uint32_t threads, uint32_t ops,
                               uint64_t capacity)
{
    return create_growing(slot_bits, threads, ops, capacity, 0);
}

/* Not every engine has every operation and kind of batch. */
static bool can(struct sw_table *table, enum sw_op op, enum sw_batch_kind kind)
{
    const struct sw_table_info info = table_info(table);
    return (info.operations >> op & 1) != 0 && (info.batch_kinds >> kind & 1) != 0;
}

/* Runs a batch; every other submitter does not wait for a batch that holds the table. */
static int run(struct submitter *me, struct sw_batch *batch)
{
    batch->no_wait = me->number % 2 == 0;
    return run_when_free(me->queue, batch);
}

static void *submitter_main(void *argument)
{
    struct submitter *me = argument;
    me->queue = must_queue(me->table);
    me->io.table = me->table;
    me->submit(me);
    io_free(&me->io);
    sw_queue_destroy(me->queue);
    return NULL;
}

/* Runs `submit` in a thread for each submitter, with a queue of its own, and waits for all. */
static void run_threads(struct submitter *submitters, struct sw_table *table, uint32_t ops,
                        uint32_t batches, void (*submit)(struct submitter *))
{
    for (uint32_t t = 0; t < THREADS; t++) {
        submitters[t] = (struct submitter){
            .table = table, .number = t, .ops = ops, .batches = batches, .submit = submit};
    }
    threads_run(THREADS, submitter_main, submitters, sizeof(*submitters));
    for (uint32_t t = 0; t < THREADS; t++) {
        cr_assert_eq(submitters[t].errors, 0, "thread %u saw %llu wrong answers", t,
                     (unsigned long long)submitters[t].errors);
    }
}

/* Own keys: sets, reads back, deletes every third, reads back. */
static void submit_disjoint(struct submitter *me)
{
    uint64_t *keys = io_array(&me->io, me->ops * sizeof(*keys));
    uint64_t *values = io_array(&me->io, me->ops * sizeof(*values));
    uint64_t *previous = io_array(&me->io, me->ops * sizeof(*previous));
    uint64_t *found = io_array(&me->io, (me->ops + 63) / 64 * sizeof(*found));
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .count = me->ops,
                             .keys = keys,
                             .values = values,
                             .previous = previous,
                             .found = found};
    for (uint32_t b = 0; b < me->batches; b++) {
        for (uint32_t i = 0; i < me->ops; i++) {
            keys[i] = (uint64_t)(b * me->ops + i) * THREADS + me->number;
            values[i] = keys[i] * 3;
        }
        batch.op = SW_SET;
        me->errors += run(me, &batch) != SW_OK;
        me->errors += batch.counters.inserted != me->ops;
        batch.op = SW_GET;
        me->errors += run(me, &batch) != SW_OK;
        for (uint32_t i = 0; i < me->ops; i++) {
            me->errors += previous[i] != keys[i] * 3 || (found[i / 64] >> (i % 64) & 1) == 0;
        }
        for (uint32_t i = 0; i < me->ops; i++) {
            keys[i] += i % 3 == 0 ? 0 : 1000000000; /* absent */
        }
        batch.op = SW_DELETE;
        me->errors += run(me, &batch) != SW_OK;
        me->errors += batch.counters.deleted != (me->ops + 2) / 3;
        batch.op = SW_GET;
        me->errors += run(me, &batch) != SW_OK;
        me->errors += batch.counters.by_class[SW_CLASS_GET].hits != 0;
    }
}

static void disjoint(uint32_t threads, uint32_t ops, uint32_t batches)
{
    struct sw_table *table = create(128, threads, ops, 1 << 19);
    struct submitter submitters[THREADS];
    run_threads(submitters, table, ops, batches, submit_disjoint);
    const struct sw_table_stats stats = table_stats(table);
    uint64_t each = (uint64_t)THREADS * batches;
    cr_assert_eq(stats.batches, each * 4);
    cr_assert_eq(stats.counters.inserted, each * ops);
    cr_assert_eq(stats.counters.deleted, each * ((ops + 2) / 3));
    cr_assert_eq(stats.occupied, stats.counters.inserted - stats.counters.deleted);
    must_check(table);
    sw_table_destroy(table);
}

Test(concurrent, disjoint_keys)
{
    disjoint(1, OPS, BATCHES);
    disjoint(2, OPS, BATCHES);
}

/* Batches large enough for the pool's threads, which all submitters need at the same time. */
Test(concurrent, disjoint_keys_in_parallel)
{
    disjoint(3, SW_PARALLEL_WRITES_MIN, 2);
}

/* --- the order of writes ---------------------------------------------------------------------- */

#define SEQUENCES 200U

/* Writes and reads; `sum` gets the sum of the writes' places, which must ascend. */
static void submit_sequence(struct submitter *me)
{
    uint64_t *words = io_array(&me->io, 64);
    uint64_t last = 0;
    words[0] = me->number;
    words[1] = 7;
    for (uint32_t b = 0; b < SEQUENCES; b += tested_share()) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = b % 3 == 0 ? SW_GET : SW_SET,
                                 .count = 1,
                                 .keys = words,
                                 .values = words + 1};
        if (b % 50 == 49) {
            batch = (struct sw_batch){.kind = SW_BATCH_CLEAR};
        }
        bool writes = batch.kind == SW_BATCH_CLEAR || batch.op != SW_GET;
        me->errors += run(me, &batch) != SW_OK;
        me->errors += writes ? batch.write_sequence <= last : batch.write_sequence != 0;
        last = writes ? batch.write_sequence : last;
        me->sum += batch.write_sequence;
        me->batches += writes;
    }
}

/* The sequences have no gap and no repetition: their sum is that of 1, 2, .. n, and the largest is
 * n. */
Test(concurrent, each_write_has_its_place)
{
    struct sw_table *table = create(128, 1, 4096, 1 << 12);
    struct submitter submitters[THREADS];
    uint64_t writes = 0;
    uint64_t sum = 0;
    run_threads(submitters, table, 1, 0, submit_sequence);
    for (uint32_t t = 0; t < THREADS; t++) {
        writes += submitters[t].batches;
        sum += submitters[t].sum;
    }
    const struct sw_table_stats stats = table_stats(table);
    cr_assert_eq(stats.writes, writes);
    cr_assert_gt(stats.write_launches, 0);
    cr_assert(tested_backend() == SW_BACKEND_CPU ? stats.write_launches == writes
                                                 : stats.write_launches <= writes,
              "on the CPU each is carried out by itself: %llu of %llu",
              (unsigned long long)stats.write_launches, (unsigned long long)writes);
    cr_assert_eq(sum, writes * (writes + 1) / 2);
    sw_table_destroy(table);
}

/* The same keys for all: what was added must be there, and what each read can only grow. */
static void submit_sums(struct submitter *me)
{
    struct random random = random_of(me->number);
    uint64_t lowest[SHARED_KEYS] = {0};
    const enum sw_op add = can(me->table, SW_SUM, SW_BATCH_OPERATIONS) ? SW_SUM : SW_ADD_U32;
    uint32_t *keys = io_array(&me->io, me->ops * sizeof(*keys));
    uint32_t *values = io_array(&me->io, me->ops * sizeof(*values));
    uint32_t *previous = io_array(&me->io, me->ops * sizeof(*previous));
    for (uint32_t b = 0; b < me->batches; b++) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = b % 3 == 2 ? SW_GET : add,
                                 .count = me->ops,
                                 .keys = keys,
                                 .values = values,
                                 .previous = previous};
        for (uint32_t i = 0; i < me->ops; i++) {
            keys[i] = (uint32_t)random_below(&random, SHARED_KEYS);
            values[i] = (uint32_t)random_below(&random, 10);
            me->sum += batch.op == add ? values[i] : 0;
        }
        me->errors += run(me, &batch) != SW_OK;
        for (uint32_t i = 0; i < me->ops; i++) {
            me->errors += previous[i] < lowest[keys[i]];
            lowest[keys[i]] = previous[i];
        }
    }
}

static void sums(uint32_t threads, uint32_t ops, uint32_t batches)
{
    struct sw_table *table = create(64, threads, ops, 1 << 17);
    struct submitter submitters[THREADS];
    uint64_t offered = 0;
    uint64_t stored = 0;
    run_threads(submitters, table, ops, batches, submit_sums);
    for (uint32_t t = 0; t < THREADS; t++) {
        offered += submitters[t].sum;
    }
    struct io_memory io = {.table = table};
    uint32_t *keys = io_array(&io, SHARED_KEYS * sizeof(*keys));
    uint32_t *values = io_array(&io, SHARED_KEYS * sizeof(*values));
    struct sw_queue *queue = must_queue(table);
    struct sw_batch batch = {.op = SW_GET, .count = SHARED_KEYS, .keys = keys, .previous = values};
    for (uint32_t k = 0; k < SHARED_KEYS; k++) {
        keys[k] = k;
    }
    must_run(queue, &batch);
    for (uint32_t k = 0; k < SHARED_KEYS; k++) {
        stored += values[k];
    }
    cr_assert_eq(stored, offered);
    io_free(&io);
    sw_queue_destroy(queue);
    must_check(table);
    sw_table_destroy(table);
}

Test(concurrent, sums_over_the_same_keys)
{
    sums(1, OPS, BATCHES);
    sums(2, OPS, BATCHES);
}

Test(concurrent, sums_over_the_same_keys_in_parallel)
{
    sums(3, SW_PARALLEL_WRITES_MIN, 6);
}

/* One thread clears while the others insert, scan and read the statistics. */
static void submit_chaos(struct submitter *me)
{
    const bool scans = me->number == 1 && can(me->table, SW_GET, SW_BATCH_SCAN);
    struct random random = random_of(me->number);
    uint64_t *keys = io_array(&me->io, me->ops * sizeof(*keys));
    uint64_t *values = io_array(&me->io, me->ops * sizeof(*values));
    for (uint32_t b = 0; b < me->batches; b++) {
        const enum sw_op op = (enum sw_op)ops_at(SW_OPS_INTEGERS, b % OPS_COUNT(SW_OPS_INTEGERS));
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                                 .op = can(me->table, op, SW_BATCH_OPERATIONS) ? op : SW_SET,
                                 .count = me->ops,
                                 .keys = keys,
                                 .values = values};
        if (me->number == 0 && b % 4 == 0) {
            batch.kind = SW_BATCH_CLEAR;
        } else if (scans) {
            batch = (struct sw_batch){
                .kind = SW_BATCH_SCAN, .count = me->ops, .scan.keys = keys, .scan.values = values};
        }
        for (uint32_t i = 0; i < me->ops; i++) {
            keys[i] = random_below(&random, 5000);
            values[i] = i;
        }
        me->errors += run(me, &batch) != SW_OK;
        (void)table_stats(me->table);
    }
}

Test(concurrent, clear_and_scan_among_writes)
{
    struct sw_table *table = create(128, 2, OPS, 1 << 15);
    struct submitter submitters[THREADS];
    run_threads(submitters, table, OPS, 3 * BATCHES, submit_chaos);
    must_check(table);
    sw_table_destroy(table);
}

#define GROWN_MAX (1U << 18)
#define RESIZED_MAX (1U << 13)

/* Resizes, scans and asks for facts while the others read and write. */
static void submit_resize(struct submitter *me)
{
    struct random random = random_of(me->number);
    uint64_t *keys = io_array(&me->io, me->ops * sizeof(*keys));
    uint64_t *values = io_array(&me->io, me->ops * sizeof(*values));
    for (uint32_t b = 0; b < me->batches; b++) {
        struct sw_batch batch = {
            .kind = SW_BATCH_SCAN, .count = me->ops, .scan.keys = keys, .scan.values = values};
        do {
            me->errors += run(me, &batch) != SW_OK;
            for (uint32_t i = 0; i < batch.scan.got; i++) {
                me->errors += values[i] != keys[i] * 3;
            }
        } while (batch.scan.cursor != 0);
        batch.kind = SW_BATCH_RESIZE;
        /* less than what is inserted in the end, so the rest is growth */
        batch.capacity = random_below(&random, RESIZED_MAX);
        me->errors += run(me, &batch) != SW_OK;
        const struct sw_table_info info = table_info(me->table);
        me->errors += info.capacity_slots > GROWN_MAX;
        me->errors += info.capacity_slots != info.buckets * info.bucket_slots;
    }
}

static void submit_disjoint_or_resize(struct submitter *me)
{
    if (me->number == 0) {
        submit_resize(me);
    } else {
        submit_disjoint(me);
    }
}

static void among_resizes(uint32_t threads, uint32_t ops, uint32_t batches)
{
    struct sw_table *table = create_growing(128, threads, ops, 64, GROWN_MAX);
    struct submitter submitters[THREADS];
    run_threads(submitters, table, ops, batches, submit_disjoint_or_resize);
    const struct sw_table_stats stats = table_stats(table);
    cr_assert_eq(stats.counters.inserted, (uint64_t)(THREADS - 1) * batches * ops);
    cr_assert_eq(stats.occupied, stats.counters.inserted - stats.counters.deleted);
    cr_assert_eq(stats.counters.refused, 0);
    cr_assert_gt(stats.grown, 0);
    cr_assert_eq(stats.resized, batches);
    cr_assert_eq(stats.resize_failed, 0);
    must_check(table);
    sw_table_destroy(table);
}

Test(concurrent, growth_and_resizes_among_reads_and_writes)
{
    if (tested_engine() != SW_ENGINE_ROBIN_HOOD) {
        cr_skip_test("cuckoo does not grow, and a cache that does keeps what it can");
    }
    among_resizes(1, OPS, BATCHES);
    among_resizes(2, OPS, BATCHES);
    among_resizes(3, SW_PARALLEL_WRITES_MIN, 3);
}

/* --- statistics ------------------------------------------------------------------------------- */

/* Thread 0 reads the statistics. Each other thread uses a queue for one batch. */
static void submit_by_new_queues(struct submitter *me)
{
    uint64_t *keys = io_array(&me->io, sizeof(*keys));
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .op = SW_GET, .count = 1, .keys = keys, .stream = me->number};
    *keys = me->number;
    uint64_t before = 0;
    for (uint32_t b = 0; b < me->batches; b++) {
        if (me->number == 0) {
            const struct sw_table_stats stats = table_stats(me->table);
            me->errors += stats.batches < before;
            me->errors += stats.counters.by_class[SW_CLASS_GET].misses > stats.batches + THREADS;
            before = stats.batches;
        } else {
            struct sw_queue *queue = must_queue(me->table);
            me->errors += sw_batch_run(queue, &batch) != SW_OK;
            sw_queue_destroy(queue);
        }
    }
}

Test(concurrent, statistics_have_the_batches_of_all_queues)
{
    const uint32_t batches = 10 * BATCHES;
    struct sw_table *table = create(128, 1, 1, 1024);
    struct submitter submitters[THREADS];
    run_threads(submitters, table, 1, batches, submit_by_new_queues);
    const struct sw_table_stats stats = table_stats(table);
    cr_assert_eq(stats.batches, (uint64_t)(THREADS - 1) * batches);
    cr_assert_eq(stats.counters.by_class[SW_CLASS_GET].misses, stats.batches);
    cr_assert_eq(stats.writes, 0);
    sw_table_destroy(table);
}
