/* SPDX-License-Identifier: MIT
 *
 * selftest.c - a table of 4096 slots, 1024 keys, four batches.
 */
#include "server/selftest.h"

#include <stdio.h>
#include <string.h>

#include "server/batch/resp_batch.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "table/info.h"
#include "table/table.h"

#define KEYS 1024

/* The arrays of the batches, in one piece of I/O memory. Behind the struct are the operands, and
 * then the earlier values, value_bytes bytes for each key. */
struct arrays {
    uint64_t keys[KEYS];
    uint64_t found[KEYS / 64];
    uint8_t values[];
};
struct test {
    struct sw_queue *queue;
    struct arrays *arrays;
    uint8_t *previous;
    size_t bytes; /* size of all arrays */
    uint32_t key_bytes, value_bytes;
};

/* Returned by a step whose result is wrong. Other steps return SW_OK or an error of the table. */
#define WRONG 1

static int run_operation(const struct test *test, enum sw_op op)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS,
        .op = op,
        .count = KEYS,
        .keys = test->arrays->keys,
        .values = test->arrays->values,
        .previous = test->previous,
        .found = test->arrays->found,
    };
    return sw_batch_run(test->queue, &batch);
}

/* Was every key found, with the value that was set, or none if `found` is false? */
static bool is_right(const struct test *test, bool found)
{
    static const uint8_t zeros[SW_VALUE_BYTES_MAX];
    size_t bytes = test->value_bytes;
    for (uint32_t i = 0; i < KEYS; i++) {
        bool bit = test->arrays->found[i / 64] >> (i % 64) & 1;
        const uint8_t *want = found ? test->arrays->values + i * bytes : zeros;
        if (bit != found || memcmp(test->previous + i * bytes, want, bytes) != 0) {
            return false;
        }
    }
    return true;
}

/* Runs one batch of all keys, which must all be present before it, or all absent if `found` is
 * false. */
static int step(const struct test *test, enum sw_op op, bool found)
{
    int status = run_operation(test, op);
    return status == SW_OK && !is_right(test, found) ? WRONG : status;
}

static int run_all(const struct test *test)
{
    static const struct {
        enum sw_op op;
        bool found;
    } steps[] = {{SW_SET, false}, {SW_GET, true}, {SW_DELETE, true}, {SW_GET, false}};
    int status = SW_OK;
    for (uint32_t i = 0; i < KEYS; i++) {
        uint8_t *value = test->arrays->values + (size_t)i * test->value_bytes;
        sw_integer_put(test->arrays->keys, test->key_bytes, i, 0x9e3779b97f4a7c15ULL * i);
        for (uint32_t k = 0; k < test->value_bytes; k++) {
            value[k] = (uint8_t)((i + 1) * (k + 1) >> (k % 8));
        }
    }
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == SW_OK; i++) {
        status = step(test, steps[i].op, steps[i].found);
    }
    return status;
}

static int test_table(struct sw_table *table)
{
    struct sw_table_info info;
    struct test test = {0};
    sw_table_info(table, &info);
    test.key_bytes = info.key_bytes;
    test.value_bytes = info.value_bytes;
    test.bytes = sizeof(*test.arrays) + 2UL * KEYS * info.value_bytes;
    int status = sw_queue_create(table, &test.queue);
    if (status != SW_OK) {
        return status;
    }
    test.arrays = sw_io_alloc(table, test.bytes);
    if (test.arrays == NULL) {
        status = SW_E_NOMEM;
    } else {
        memset(test.arrays, 0, test.bytes);
        test.previous = test.arrays->values + (size_t)KEYS * info.value_bytes;
        status = run_all(&test);
        sw_io_free(table, test.arrays, test.bytes);
    }
    sw_queue_destroy(test.queue);
    return status;
}

/* A load that every engine can hold. */
static double load_of(const struct sw_table_config *config)
{
    return config->engine == SW_ENGINE_CUCKOO ? 0.4 : 0.85;
}

int sw_selftest(const struct sw_table_config *config)
{
    struct sw_table_config small = *config;
    struct sw_table *table = NULL;
    char reason[256] = "";
    small.sequencer = NULL;
    small.capacity_slots = 4096;
    small.max_capacity_slots = 0;
    small.rows_max = 0;
    small.max_probe = 0;
    small.max_load = load_of(config);
    small.batch_ops_max = KEYS;
    small.stash_slots = 0 == config->stash_slots ? 1 : config->stash_slots;
    int status = sw_table_create(&small, &table, reason, sizeof(reason));
    if (status == SW_OK) {
        status = test_table(table);
        snprintf(reason, sizeof(reason), "%s", status == WRONG ? "" : sw_status_text(status));
    }
    sw_table_destroy(table);
    if (status == WRONG) {
        sw_log(SW_LOG_ERROR,
               "the table's self-test failed: the backend does not compute correctly");
    } else if (status != SW_OK) {
        sw_log(SW_LOG_ERROR,
               "the table's self-test, on a small table of its own, could not run: %s", reason);
    }
    return status == SW_OK ? 0 : -1;
}
