/* SPDX-License-Identifier: MIT
 *
 * test_cache_concurrent.c - threads that write and threads that read one cache. Meant to be run
 * under ThreadSanitizer too.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cache_config.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

TestSuite(cache_concurrent, .timeout = 120);

#define THREADS 4
#define BATCHES 60
#define OPS 200U
#define WORDS 8
#define KEYS 1500

struct worker {
    struct sw_table *table;
    uint32_t number;
    uint64_t errors;
};

/* Every word of a value is the key's and the version's. */
static void fill(uint32_t *value, uint64_t key, uint32_t version)
{
    value[0] = version;
    for (uint32_t w = 1; w < WORDS; w++) {
        value[w] = (uint32_t)key * 2654435761U + version * w;
    }
}

static bool whole(const uint32_t *value, uint64_t key)
{
    uint32_t expected[WORDS];
    fill(expected, key, value[0]);
    return memcmp(expected, value, sizeof(expected)) == 0;
}

/* A queue each; sets, gets, deletes and scans. */
static void *table_main(void *argument)
{
    struct worker *me = argument;
    struct random random = random_of(me->number);
    struct sw_queue *queue = must_queue(me->table);
    struct io_memory io = {.table = me->table};
    uint64_t *keys = io_array(&io, OPS * sizeof(*keys));
    uint32_t(*values)[WORDS] = io_array(&io, OPS * sizeof(*values));
    uint32_t(*previous)[WORDS] = io_array(&io, OPS * sizeof(*previous));
    uint64_t *found = io_array(&io, (OPS + 63) / 64 * sizeof(*found));
    static const enum sw_op ops[] = {SW_SET, SW_GET, SW_SET_ABSENT, SW_GET, SW_DELETE};
    for (uint32_t b = 0; b < BATCHES; b++) {
        for (uint32_t i = 0; i < OPS; i++) {
            keys[i] = random_below(&random, KEYS);
            fill(values[i], keys[i], b * OPS + i);
        }
        struct sw_batch batch = {.op = ops[b % 5],
                                 .count = OPS,
                                 .keys = keys,
                                 .values = values,
                                 .previous = previous,
                                 .found = found};
        me->errors += sw_batch_run(queue, &batch) != SW_OK;
        for (uint32_t i = 0; i < OPS; i++) {
            bool hit = (found[i / 64] >> (i % 64) & 1) != 0;
            me->errors += hit && !whole(previous[i], keys[i]);
        }
        struct sw_batch scan = {
            .kind = SW_BATCH_SCAN, .count = OPS, .scan.keys = keys, .scan.values = previous};
        me->errors += sw_batch_run(queue, &scan) != SW_OK;
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            me->errors += !whole(previous[i], keys[i]);
        }
    }
    io_free(&io);
    sw_queue_destroy(queue);
    return NULL;
}

static void join_all(struct worker *workers)
{
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t].number = t;
    }
    threads_run(THREADS, table_main, workers, sizeof(*workers));
    for (uint32_t t = 0; t < THREADS; t++) {
        cr_assert_eq(workers[t].errors, 0, "thread %u saw %llu wrong answers", t,
                     (unsigned long long)workers[t].errors);
    }
}

static void run_policy(enum sw_cache_policy policy)
{
    struct worker workers[THREADS] = {0};
    struct sw_table_config config = cache_config(128, 4 * WORDS, SW_CACHE_MEMORY, policy);
    struct sw_table *table = must_create(&config);
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t].table = table;
    }
    join_all(workers);
    must_check(table);
    const struct sw_table_stats stats = table_stats(table);
    cr_assert_gt(stats.counters.evicted + stats.counters.not_admitted, 0);
    sw_table_destroy(table);
}

Test(cache_concurrent, lru)
{
    run_policy(SW_CACHE_LRU);
}

Test(cache_concurrent, lfu)
{
    run_policy(SW_CACHE_LFU);
}
