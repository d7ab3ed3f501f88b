/* SPDX-License-Identifier: MIT
 *
 * test_cache_concurrent.c - threads that write and threads that read one cache, directly and behind
 * table.h. Meant to be run under ThreadSanitizer too.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/cache/cache.h"
#include "tests/support/random.h"

TestSuite(cache_concurrent, .timeout = 120);

#define THREADS 4
#define BATCHES 60
#define OPS 200U
#define WORDS 8
#define KEYS 1500

struct worker {
    struct sw_cache *cache;
    struct sw_table *table;
    uint32_t number;
    uint64_t errors;
    struct sw_cache_counters counters;
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

static void *cache_main(void *argument)
{
    struct worker *me = argument;
    struct random random = random_of(me->number);
    uint64_t keys[OPS];
    uint32_t(*values)[WORDS] = calloc(OPS, sizeof(*values));
    uint8_t results[OPS];
    for (uint32_t b = 0; b < BATCHES; b++) {
        bool writes = me->number % 2 == 0;
        bool erases = writes && b % 5 == 4;
        for (uint32_t i = 0; i < OPS; i++) {
            keys[i] = random_below(&random, KEYS);
            fill(values[i], keys[i], b * OPS + i);
        }
        struct sw_cache_batch batch = {
            .op = erases   ? SW_CACHE_ERASE
                  : writes ? SW_CACHE_INSERT_OR_ASSIGN
                           : SW_CACHE_FIND,
            .count = OPS,
            .keys = keys,
            .values = writes && !erases ? values : NULL,
            .values_out = writes ? NULL : values,
            .touch = !writes && b % 2 == 0,
            .results = results,
            .counters = &me->counters,
        };
        me->errors += sw_cache_submit(me->cache, &batch, NULL) != SW_OK;
        for (uint32_t i = 0; i < OPS && !writes; i++) {
            me->errors += results[i] == SW_CACHE_HIT && !whole(values[i], keys[i]);
        }
    }
    free(values);
    return NULL;
}

static void join_all(struct worker *workers, void *(*main)(void *))
{
    pthread_t threads[THREADS];
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t].number = t;
        cr_assert_eq(pthread_create(&threads[t], NULL, main, &workers[t]), 0);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        cr_assert_eq(workers[t].errors, 0, "thread %u saw %llu wrong answers", t,
                     (unsigned long long)workers[t].errors);
    }
}

static void direct(enum sw_cache_policy policy)
{
    struct worker workers[THREADS] = {0};
    struct sw_cache_config config = {
        .backend = SW_BACKEND_CPU, .capacity = 1024, .value_bytes = 4 * WORDS, .policy = policy};
    struct sw_cache *cache;
    struct sw_cache_counters total;
    struct sw_cache_counters sum = {0};
    char violation[256] = "";
    cr_assert_eq(sw_cache_create(&config, &cache, NULL, 0), SW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t].cache = cache;
    }
    join_all(workers, cache_main);
    cr_assert_eq(sw_cache_check(cache, violation, sizeof(violation)), SW_OK, "%s", violation);
    cr_assert_eq(sw_cache_stats(cache, &total), SW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        sum.hits += workers[t].counters.hits;
        sum.misses += workers[t].counters.misses;
        sum.inserted += workers[t].counters.inserted;
        sum.erased += workers[t].counters.erased;
        sum.evicted += workers[t].counters.evicted;
        sum.not_admitted += workers[t].counters.not_admitted;
    }
    cr_assert_arr_eq(&sum, &total, sizeof(sum));
    cr_assert_gt(total.evicted + total.not_admitted, 0);
    sw_cache_destroy(cache);
}

Test(cache_concurrent, lru)
{
    direct(SW_CACHE_LRU);
}

Test(cache_concurrent, lfu)
{
    direct(SW_CACHE_LFU);
}

/* A queue each; sets, gets, deletes and scans. */
static void *table_main(void *argument)
{
    struct worker *me = argument;
    struct random random = random_of(me->number);
    struct sw_queue *queue;
    if (sw_queue_create(me->table, &queue) != SW_OK) {
        me->errors++;
        return NULL;
    }
    uint64_t keys[OPS];
    uint32_t(*values)[WORDS] = calloc(OPS, sizeof(*values));
    uint32_t(*previous)[WORDS] = calloc(OPS, sizeof(*previous));
    uint64_t found[(OPS + 63) / 64];
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
            .kind = SW_BATCH_SCAN, .count = OPS, .scan_keys = keys, .scan_values = previous};
        me->errors += sw_batch_run(queue, &scan) != SW_OK;
        for (uint32_t i = 0; i < scan.scan_count; i++) {
            me->errors += !whole(previous[i], keys[i]);
        }
    }
    free(values);
    free(previous);
    sw_queue_destroy(queue);
    return NULL;
}

Test(cache_concurrent, behind_a_table)
{
    struct worker workers[THREADS] = {0};
    struct sw_table_config config;
    struct sw_table *table;
    char violation[256] = "";
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.engine = SW_ENGINE_CACHE;
    config.capacity_slots = 1024;
    config.value_bytes = 4 * WORDS;
    cr_assert_eq(sw_table_create(&config, &table, NULL, 0), SW_OK);
    for (uint32_t t = 0; t < THREADS; t++) {
        workers[t].table = table;
    }
    join_all(workers, table_main);
    cr_assert_eq(sw_table_check(table, violation, sizeof(violation)), SW_OK, "%s", violation);
    sw_table_destroy(table);
}
