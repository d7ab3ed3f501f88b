/* SPDX-License-Identifier: MIT
 *
 * selftest.c - a table of 4096 slots, 1024 keys, three batches.
 */
#include "server/selftest.h"

#include <string.h>

#include "server/log.h"
#include "server/round.h"

#define KEYS 1024

struct arrays {
    uint64_t keys[KEYS];
    uint64_t values[KEYS];
    uint64_t previous[KEYS];
    uint64_t found[KEYS / 64];
};

static bool run(struct sw_queue *queue, struct arrays *arrays, enum sw_op op)
{
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS,
        .op = op,
        .count = KEYS,
        .keys = arrays->keys,
        .values = arrays->values,
        .previous = arrays->previous,
        .found = arrays->found,
    };
    return sw_batch_run(queue, &batch) == SW_OK;
}

/* Every key found (or none), with the value that was set. */
static bool is_right(const struct arrays *arrays, uint32_t bytes, bool found)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        bool bit = arrays->found[i / 64] >> (i % 64) & 1;
        uint64_t want = found ? sw_integer_at(arrays->values, bytes, i) : 0;
        if (bit != found || sw_integer_at(arrays->previous, bytes, i) != want) {
            return false;
        }
    }
    return true;
}

static bool works(struct sw_queue *queue, struct arrays *arrays, uint32_t bytes)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        sw_integer_put(arrays->keys, bytes, i, 0x9e3779b97f4a7c15ULL * i);
        sw_integer_put(arrays->values, bytes, i, i + 1);
    }
    return run(queue, arrays, SW_SET) && is_right(arrays, bytes, false) &&
           run(queue, arrays, SW_GET) && is_right(arrays, bytes, true) &&
           run(queue, arrays, SW_DELETE) && is_right(arrays, bytes, true) &&
           run(queue, arrays, SW_GET) && is_right(arrays, bytes, false);
}

int sw_selftest(const struct sw_table_config *config)
{
    struct sw_table_config small = *config;
    struct sw_table *table = NULL;
    struct sw_queue *queue = NULL;
    struct arrays *arrays = NULL;
    bool passed = false;
    small.capacity_slots = 4096;
    small.max_capacity_slots = 0;
    small.max_probe = 0;
    small.max_load = 0.85;
    small.batch_ops_max = KEYS;
    small.stash_slots = 0 == config->stash_slots ? 1 : config->stash_slots;
    if (sw_table_create(&small, &table, NULL, 0) == SW_OK &&
        sw_queue_create(table, &queue) == SW_OK) {
        arrays = sw_io_alloc(table, sizeof(*arrays));
    }
    if (arrays != NULL) {
        memset(arrays, 0, sizeof(*arrays));
        passed = works(queue, arrays, small.slot_bits / 16);
        sw_io_free(table, arrays, sizeof(*arrays));
    }
    sw_queue_destroy(queue);
    sw_table_destroy(table);
    if (!passed) {
        sw_log(SW_LOG_ERROR,
               "the table's self-test failed: the backend does not compute correctly");
    }
    return passed ? 0 : -1;
}
