/* SPDX-License-Identifier: MIT
 *
 * selftest.c - a table of 4096 slots, 1024 keys, three batches.
 */
#include "server/selftest.h"

#include <string.h>

#include "server/batch/round.h"
#include "server/config/config.h"
#include "server/observe/log.h"

#define KEYS 1024

/* In one piece of I/O memory: values and what was there before are value_bytes each. */
struct arrays {
    uint64_t keys[KEYS];
    uint64_t found[KEYS / 64];
    uint8_t values[];
};
struct test {
    struct sw_queue *queue;
    struct arrays *arrays;
    uint8_t *previous;
    size_t bytes; /* of all arrays */
    uint32_t key_bytes, value_bytes;
};

static bool run(const struct test *test, enum sw_op op)
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
    return sw_batch_run(test->queue, &batch) == SW_OK;
}

/* Every key found (or none), with the value that was set. */
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

static bool works(const struct test *test)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        uint8_t *value = test->arrays->values + (size_t)i * test->value_bytes;
        sw_integer_put(test->arrays->keys, test->key_bytes, i, 0x9e3779b97f4a7c15ULL * i);
        for (uint32_t k = 0; k < test->value_bytes; k++) {
            value[k] = (uint8_t)((i + 1) * (k + 1) >> (k % 8));
        }
    }
    return run(test, SW_SET) && is_right(test, false) && run(test, SW_GET) &&
           is_right(test, true) && run(test, SW_DELETE) && is_right(test, true) &&
           run(test, SW_GET) && is_right(test, false);
}

static bool passes(struct sw_table *table)
{
    struct sw_table_info info;
    struct test test = {0};
    bool passed = false;
    sw_table_info(table, &info);
    test.key_bytes = info.key_bytes;
    test.value_bytes = info.value_bytes;
    test.bytes = sizeof(*test.arrays) + 2UL * KEYS * info.value_bytes;
    if (sw_queue_create(table, &test.queue) == SW_OK) {
        test.arrays = sw_io_alloc(table, test.bytes);
    }
    if (test.arrays != NULL) {
        memset(test.arrays, 0, test.bytes);
        test.previous = test.arrays->values + (size_t)KEYS * info.value_bytes;
        passed = works(&test);
        sw_io_free(table, test.arrays, test.bytes);
    }
    sw_queue_destroy(test.queue);
    return passed;
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
    bool passed = false;
    small.capacity_slots = 4096;
    small.max_capacity_slots = 0;
    small.max_probe = 0;
    small.max_load = load_of(config);
    small.batch_ops_max = KEYS;
    small.stash_slots = 0 == config->stash_slots ? 1 : config->stash_slots;
    if (sw_table_create(&small, &table, NULL, 0) == SW_OK) {
        passed = passes(table);
    }
    sw_table_destroy(table);
    if (!passed) {
        sw_log(SW_LOG_ERROR,
               "the table's self-test failed: the backend does not compute correctly");
    }
    return passed ? 0 : -1;
}
