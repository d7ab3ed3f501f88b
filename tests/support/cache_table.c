/* SPDX-License-Identifier: MIT
 *
 * cache_table.c - a table whose engine is the cache, against the model.
 *
 * The model's clock runs differently, but orders the uses of LRU in the same way.
 */
#include "tests/support/cache_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/mix.h"
#include "tests/support/cache_model.h"
#include "tests/support/random.h"

struct run {
    const struct cache_table_trial *trial;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct cache_model *model;
    struct random random;
    uint64_t alike; /* a key: see key_alike */
    struct sw_counters total;
    struct sw_batch batch;
    uint8_t *expected;    /* [ops_max] values: what previous must be */
    uint64_t *left;       /* [ops_max] keys that must leave */
    uint8_t *left_values; /* [ops_max] */
    uint64_t left_count;
    struct sw_counters counters; /* of this batch */
    char *fault;
    size_t fault_size;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void fail(struct run *run, const char *format, ...)
{
    va_list arguments;
    if (!run->failed) {
        va_start(arguments, format);
        vsnprintf(run->fault, run->fault_size, format, arguments);
        va_end(arguments);
    }
    run->failed = true;
}

static uint64_t key_at(const struct run *run, const void *keys, uint64_t index)
{
    uint64_t key = 0;
    memcpy(&key, (const uint8_t *)keys + index * run->info.key_bytes, run->info.key_bytes);
    return key;
}

/* --- set up ----------------------------------------------------------------------------------- */

static void *io(struct run *run, size_t bytes)
{
    void *memory = sw_io_alloc(run->table, bytes);
    if (memory == NULL) {
        fail(run, "no I/O memory");
        abort();
    }
    return memory;
}

/* A key whose hash has the low 21 bits of that of key 1, but not all 32: more bits than a batch of
 * these tests is sorted by, on CUDA. */
static uint64_t key_alike(uint64_t seed)
{
    uint32_t hash = (uint32_t)sw_mix_64(1, seed);
    uint64_t key = 1;
    uint32_t differ;
    do {
        key++;
        differ = (uint32_t)sw_mix_64(key, seed) ^ hash;
    } while (differ << 11 != 0 || differ == 0);
    return key;
}

static int open_run(struct run *run, const struct cache_table_trial *trial, char *fault,
                    size_t fault_size)
{
    memset(run, 0, sizeof(*run));
    run->trial = trial;
    run->fault = fault;
    run->fault_size = fault_size;
    run->random.state = trial->seed;
    run->alike = key_alike(trial->config.seed);
    int status = sw_table_create(&trial->config, &run->table, fault, fault_size);
    if (status != SW_OK) {
        return status;
    }
    if (sw_queue_create(run->table, &run->queue) != SW_OK) {
        abort();
    }
    sw_table_info(run->table, &run->info);
    run->model = cache_model_of_table(&trial->config, &run->info);
    size_t n = trial->ops_max;
    run->expected = calloc(n, run->info.value_bytes);
    run->left = calloc(n, sizeof(*run->left));
    run->left_values = calloc(n, run->info.value_bytes);
    run->batch.ops = io(run, n);
    run->batch.keys = io(run, n * run->info.key_bytes);
    run->batch.values = io(run, n * run->info.value_bytes);
    run->batch.previous = io(run, n * run->info.value_bytes);
    run->batch.found = io(run, (n + 63) / 64 * sizeof(uint64_t));
    run->batch.not_admitted = io(run, (n + 63) / 64 * sizeof(uint64_t));
    run->batch.leftover_keys = io(run, n * run->info.key_bytes);
    run->batch.leftover_values = io(run, n * run->info.value_bytes);
    return SW_OK;
}

static void close_run(struct run *run)
{
    size_t n = run->trial->ops_max;
    sw_io_free(run->table, (void *)(uintptr_t)run->batch.ops, n);
    sw_io_free(run->table, (void *)(uintptr_t)run->batch.keys, n * run->info.key_bytes);
    sw_io_free(run->table, (void *)(uintptr_t)run->batch.values, n * run->info.value_bytes);
    sw_io_free(run->table, run->batch.previous, n * run->info.value_bytes);
    sw_io_free(run->table, run->batch.found, (n + 63) / 64 * sizeof(uint64_t));
    sw_io_free(run->table, run->batch.not_admitted, (n + 63) / 64 * sizeof(uint64_t));
    sw_io_free(run->table, run->batch.leftover_keys, n * run->info.key_bytes);
    sw_io_free(run->table, run->batch.leftover_values, n * run->info.value_bytes);
    sw_queue_destroy(run->queue);
    sw_table_destroy(run->table);
    cache_model_destroy(run->model);
    free(run->expected);
    free(run->left);
    free(run->left_values);
}

/* --- what must be ----------------------------------------------------------------------------- */

/* One operation on the model; what leaves is listed. */
static enum sw_cache_result apply(struct run *run, enum sw_op op, uint64_t key,
                                  const uint8_t *value)
{
    struct cache_model_step step = {
        .key = key,
        .value = value,
        .given = 1,
        .writes = op == SW_SET || op == SW_SET_PRESENT,
        .uses = op == SW_SET || op == SW_SET_PRESENT || op == SW_GET,
        .erases = op == SW_DELETE,
        .inserts = op == SW_SET || op == SW_SET_ABSENT,
        .evicted_key = run->left + run->left_count,
        .evicted_value = run->left_values + run->left_count * run->info.value_bytes,
    };
    if (op == SW_SET_ABSENT) { /* a newcomer also has a tick of its own */
        uint64_t score;
        step.uses = cache_model_find(run->model, key, &score) == NULL;
    }
    enum sw_cache_result result = cache_model_apply(run->model, &step);
    run->left_count += result == SW_CACHE_REPLACED;
    return result;
}

/* What operation `i` must answer; its counters. Returns whether the key must be found. */
static bool expect(struct run *run, uint32_t i, bool *not_admitted)
{
    uint32_t bytes = run->info.value_bytes;
    uint64_t key = key_at(run, run->batch.keys, i);
    const uint8_t *value = (const uint8_t *)run->batch.values + (size_t)i * bytes;
    uint8_t *previous = run->expected + (size_t)i * bytes;
    enum sw_op op = (enum sw_op)run->batch.ops[i];
    memset(previous, 0, bytes);
    uint64_t score;
    const void *held = cache_model_find(run->model, key, &score);
    bool found = held != NULL;
    if (found) {
        memcpy(previous, held, bytes);
    }
    enum sw_cache_result result = apply(run, op, key, value);
    bool writes = op == SW_SET || op == SW_SET_PRESENT;
    struct sw_counters *counters = &run->counters;
    struct sw_op_counters *its_class = &counters->by_class[op == SW_GET      ? SW_CLASS_GET
                                                           : op == SW_DELETE ? SW_CLASS_DELETE
                                                                             : SW_CLASS_UPSERT];
    its_class->operations++;
    its_class->hits += found;
    its_class->misses += !found;
    counters->inserted += result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED;
    counters->updated += writes && found;
    counters->deleted += op == SW_DELETE && found;
    counters->evicted += result == SW_CACHE_REPLACED;
    *not_admitted = result == SW_CACHE_REFUSED;
    counters->not_admitted += *not_admitted;
    return found;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void draw(struct run *run, bool reads)
{
    static const uint8_t ops[] = {SW_GET, SW_SET, SW_SET, SW_SET_ABSENT, SW_SET_PRESENT, SW_DELETE};
    uint8_t *batch_ops = (uint8_t *)(uintptr_t)run->batch.ops;
    uint8_t *keys = (uint8_t *)(uintptr_t)run->batch.keys;
    uint8_t *values = (uint8_t *)(uintptr_t)run->batch.values;
    run->batch.count = (uint32_t)random_below(&run->random, run->trial->ops_max + 1);
    for (uint32_t i = 0; i < run->batch.count; i++) {
        uint64_t key = random_below(&run->random, run->trial->key_count);
        if (random_below(&run->random, 4) == 0) {
            key = random_below(&run->random, 4); /* a few keys again and again */
            key = key == 3 ? run->alike : key;
        }
        key = key == 0 ? UINT64_MAX : key;
        batch_ops[i] = reads ? SW_GET : ops[random_below(&run->random, sizeof(ops))];
        memcpy(keys + (size_t)i * run->info.key_bytes, &key, run->info.key_bytes);
    }
    for (size_t i = 0; i < (size_t)run->batch.count * run->info.value_bytes; i += 4) {
        uint32_t word = (uint32_t)random_next(&run->random);
        memcpy(values + i, &word, 4);
    }
}

static bool bit_at(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void compare_answers(struct run *run)
{
    uint32_t bytes = run->info.value_bytes;
    for (uint32_t i = 0; i < run->batch.count; i++) {
        bool not_admitted;
        bool found = expect(run, i, &not_admitted);
        if (bit_at(run->batch.found, i) != found) {
            fail(run, "operation %u (%u): found must be %d", i, run->batch.ops[i], found);
        }
        if (bit_at(run->batch.not_admitted, i) != not_admitted) {
            fail(run, "operation %u (%u): not_admitted must be %d", i, run->batch.ops[i],
                 not_admitted);
        }
        if (memcmp((uint8_t *)run->batch.previous + (size_t)i * bytes,
                   run->expected + (size_t)i * bytes, bytes) != 0) {
            fail(run, "operation %u (%u): previous", i, run->batch.ops[i]);
        }
    }
    uint32_t last = run->batch.count / 64, used = run->batch.count % 64;
    if (used != 0 && (run->batch.found[last] | run->batch.not_admitted[last]) >> used != 0) {
        fail(run, "unused bits of found or not_admitted");
    }
}

static void compare_left(struct run *run)
{
    if (run->batch.leftover_count != run->left_count) {
        fail(run, "%u left, not %llu", run->batch.leftover_count,
             (unsigned long long)run->left_count);
        return;
    }
    for (uint32_t i = 0; i < run->left_count; i++) {
        if (key_at(run, run->batch.leftover_keys, i) != run->left[i]) {
            fail(run, "key %u of those that left", i);
        }
    }
    if (memcmp(run->batch.leftover_values, run->left_values,
               run->left_count * run->info.value_bytes) != 0) {
        fail(run, "values of those that left");
    }
}

static void step(struct run *run, bool reads)
{
    draw(run, reads);
    memset(&run->counters, 0, sizeof(run->counters));
    run->left_count = 0;
    run->batch.kind = SW_BATCH_OPERATIONS;
    int status = sw_batch_run(run->queue, &run->batch);
    if (status != SW_OK) {
        fail(run, "sw_batch_run: %s", sw_status_text(status));
        return;
    }
    compare_answers(run);
    compare_left(run);
    for (int k = 0; k < SW_CLASS_COUNT; k++) {
        struct sw_op_counters *got = &run->batch.counters.by_class[k];
        if (got->probes < got->operations || got->probes > 2 * got->operations) {
            fail(run, "%llu operations, %llu probes", (unsigned long long)got->operations,
                 (unsigned long long)got->probes);
        }
        got->probes = 0;
    }
    if (memcmp(&run->counters, &run->batch.counters, sizeof(run->counters)) != 0) {
        fail(run, "counters");
    }
}

/* Every entry, by a scan of windows of `ops_max`. */
static void compare_entries(struct run *run)
{
    size_t n = run->trial->ops_max;
    struct sw_batch scan = {.kind = SW_BATCH_SCAN, .count = run->trial->ops_max};
    scan.scan.keys = io(run, n * run->info.key_bytes);
    scan.scan.values = io(run, n * run->info.value_bytes);
    uint64_t seen = 0;
    do {
        int status = sw_batch_run(run->queue, &scan);
        if (status != SW_OK) {
            fail(run, "scan: %s", sw_status_text(status));
            break;
        }
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            uint64_t score;
            uint64_t key = key_at(run, scan.scan.keys, i);
            const void *value = cache_model_find(run->model, key, &score);
            if (value == NULL ||
                memcmp(value, (uint8_t *)scan.scan.values + (size_t)i * run->info.value_bytes,
                       run->info.value_bytes) != 0) {
                fail(run, "a scanned entry, key %llu", (unsigned long long)key);
            }
        }
        seen += scan.scan.got;
    } while (scan.scan.cursor != 0);
    if (seen != cache_model_size(run->model)) {
        fail(run, "%llu entries scanned, not %llu", (unsigned long long)seen,
             (unsigned long long)cache_model_size(run->model));
    }
    sw_io_free(run->table, scan.scan.keys, n * run->info.key_bytes);
    sw_io_free(run->table, scan.scan.values, n * run->info.value_bytes);
}

static void audit(struct run *run)
{
    char violation[256] = "";
    struct sw_table_stats stats;
    if (sw_table_check(run->table, violation, sizeof(violation)) != SW_OK) {
        fail(run, "%s", violation);
    }
    sw_table_stats(run->table, &stats);
    if (stats.occupied != cache_model_size(run->model)) {
        fail(run, "occupied is %llu, not %llu", (unsigned long long)stats.occupied,
             (unsigned long long)cache_model_size(run->model));
    }
    compare_entries(run);
}

static void clear(struct run *run)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    uint64_t held = cache_model_size(run->model);
    if (sw_batch_run(run->queue, &batch) != SW_OK || batch.counters.deleted != held) {
        fail(run, "clear");
    }
    cache_model_clear(run->model);
}

/* --- newcomers that are turned away ----------------------------------------------------------- */

/* A batch of `op` for the keys [first, first + count), with values of zeros. */
static void run_keys(struct run *run, enum sw_op op, uint64_t first, uint32_t count)
{
    uint8_t *keys = (uint8_t *)(uintptr_t)run->batch.keys;
    memset((void *)(uintptr_t)run->batch.ops, op, count);
    memset((void *)(uintptr_t)run->batch.values, 0, (size_t)count * run->info.value_bytes);
    run->batch.count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = first + i;
        memcpy(keys + (size_t)i * run->info.key_bytes, &key, run->info.key_bytes);
    }
    int status = sw_batch_run(run->queue, &run->batch);
    if (status != SW_OK) {
        fail(run, "sw_batch_run: %s", sw_status_text(status));
    }
}

/* Every key of the last batch must have been found, or not; turned away, or not. */
static void expect_all(struct run *run, const char *what, bool found, bool not_admitted)
{
    for (uint32_t i = 0; i < run->batch.count; i++) {
        if (bit_at(run->batch.found, i) != found ||
            bit_at(run->batch.not_admitted, i) != not_admitted) {
            fail(run, "%s: operation %u: found %d, not_admitted %d", what, i,
                 bit_at(run->batch.found, i), bit_at(run->batch.not_admitted, i));
        }
    }
    uint64_t counted = not_admitted ? run->batch.count : 0;
    if (run->batch.counters.not_admitted != counted) {
        fail(run, "%s: %llu of %u counted as not admitted", what,
             (unsigned long long)run->batch.counters.not_admitted, run->batch.count);
    }
}

/* Fills the cache, uses what it holds twice more, and offers newcomers. */
static void offer(struct run *run)
{
    uint32_t n = run->trial->ops_max;
    uint64_t capacity = run->info.capacity_slots;
    struct sw_table_stats stats;
    uint64_t next = 1, held = 0;
    for (; held < capacity && next < 64 * capacity && !run->failed; next += n) {
        run_keys(run, SW_SET_ABSENT, next, n);
        sw_table_stats(run->table, &stats);
        held = stats.occupied;
    }
    if (held != capacity) {
        fail(run, "%llu entries in %llu slots", (unsigned long long)held,
             (unsigned long long)capacity);
    }
    for (int times = 0; times < 2; times++) {
        for (uint64_t key = 1; key < next; key += n) {
            run_keys(run, SW_GET, key, n);
        }
    }
    run_keys(run, SW_SET_ABSENT, next, n);
    expect_all(run, "insert", false, true);
    run_keys(run, SW_SET, next, n);
    expect_all(run, "set", false, true);
    run_keys(run, SW_GET, next, n);
    expect_all(run, "get", false, false);
    run_keys(run, SW_SET_PRESENT, next, n);
    expect_all(run, "replace", false, false);
    run->batch.not_admitted[0] = UINT64_MAX;
    run_keys(run, SW_GET, 1, 1);
    if (bit_at(run->batch.not_admitted, 0)) {
        fail(run, "a key that was read was turned away");
    }
}

int cache_table_turn_away(const struct cache_table_trial *trial, char *fault, size_t fault_size)
{
    struct run run;
    if (open_run(&run, trial, fault, fault_size) != SW_OK) {
        return 1;
    }
    offer(&run);
    bool failed = run.failed;
    close_run(&run);
    return failed;
}

int cache_table_run(const struct cache_table_trial *trial, uint64_t *evicted, char *fault,
                    size_t fault_size)
{
    struct run run;
    struct sw_table_stats stats;
    if (open_run(&run, trial, fault, fault_size) != SW_OK) {
        return 1;
    }
    for (uint32_t i = 0; i < trial->batches && !run.failed; i++) {
        step(&run, i % 4 == 3);
        if (i % 10 == 9 && !run.failed) {
            audit(&run);
        }
        if (i == trial->batches / 2 && !run.failed) {
            clear(&run);
        }
    }
    sw_table_stats(run.table, &stats);
    *evicted = stats.counters.evicted;
    bool failed = run.failed;
    close_run(&run);
    return failed;
}
