/* SPDX-License-Identifier: MIT
 *
 * robin_hood.c - Sherwood's ordered Robin Hood table, u32 to u32, as a table under test. A key is
 * its own value.
 *
 * table.h asks for I/O memory; the study passes device memory. That works on the CUDA backend
 * because only kernels access keys, values and found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuckoo/library.h"
#include "bench/study/pass.h"
#include "table/table.h"

/* Never reached: without a bound every key finds a slot. */
#define MAX_PROBE (1U << 20)

struct under_test {
    struct sw_table *table;
    struct sw_queue *queue;
    const struct sw_cbench_place *place;
    void *leftovers; /* keys, then values; with a bound only */
    uint64_t keys_max;
};

static void robin_hood_close(void *table)
{
    struct under_test *self = table;
    sw_queue_destroy(self->queue);
    sw_table_destroy(self->table);
    self->place->memory->free(self->leftovers);
    free(self);
}

static void *robin_hood_open(const struct sw_cbench_options *options,
                             const struct sw_cbench_place *place,
                             const struct sw_cbench_wanted *wanted, char *reason,
                             size_t reason_size)
{
    struct sw_table_config config;
    struct under_test *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        snprintf(reason, reason_size, "not enough memory");
        return NULL;
    }
    self->place = place;
    self->keys_max = wanted->keys_max;
    sw_table_config_init(&config);
    config.backend = place == &sw_cbench_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config.device = options->device;
    config.slot_bits = 64;
    config.capacity_slots = wanted->size;
    config.max_load = 1.0;
    config.max_probe = wanted->bound > 0 ? wanted->bound : MAX_PROBE;
    config.batch_ops_max = (uint32_t)((wanted->keys_max + 63) / 64 * 64);
    if (wanted->bound > 0) {
        config.stash_slots = 0;
        self->leftovers = place->memory->alloc(2 * wanted->keys_max * sizeof(uint32_t));
    }
    reason[0] = '\0';
    bool opened = (wanted->bound == 0 || self->leftovers != NULL) &&
                  sw_table_create(&config, &self->table, reason, reason_size) == SW_OK &&
                  sw_queue_create(self->table, &self->queue) == SW_OK;
    if (!opened) {
        if (reason[0] == '\0') {
            snprintf(reason, reason_size, "not enough memory");
        }
        robin_hood_close(self);
        return NULL;
    }
    return self;
}

static bool succeeded(int status, const char *what)
{
    if (status != SW_OK) {
        fprintf(stderr, "cuckoo: robin hood: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool robin_hood_clear(void *table)
{
    struct under_test *self = table;
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_CLEAR;
    return succeeded(sw_study_batch_run(self->queue, &batch), "clear");
}

static struct sw_batch set_of(const struct under_test *self, const uint32_t *keys, uint64_t count)
{
    return (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = SW_SET,
        .count = (uint32_t)count,
        .keys = keys,
        .values = keys,
        .leftover_keys = self->leftovers,
        .leftover_values =
            self->leftovers == NULL ? NULL : (uint32_t *)self->leftovers + self->keys_max,
    };
}

static struct sw_batch get_of(const uint32_t *keys, uint32_t *found, uint64_t count)
{
    return (struct sw_batch){
        .kind = SW_BATCH_OPERATIONS,
        .op = SW_GET,
        .count = (uint32_t)count,
        .keys = keys,
        .found = (uint64_t *)(void *)found,
    };
}

static bool robin_hood_insert(void *table, const uint32_t *keys, uint64_t count,
                              struct sw_cbench_inserted *inserted)
{
    struct under_test *self = table;
    struct sw_batch batch = set_of(self, keys, count);
    int status = sw_study_batch_run(self->queue, &batch);
    inserted->rehashes = 0;
    inserted->left = batch.leftover_count;
    return succeeded(status, "insert");
}

static bool robin_hood_find(void *table, const uint32_t *keys, uint32_t *found, uint64_t count)
{
    struct under_test *self = table;
    struct sw_batch batch = get_of(keys, found, count);
    return succeeded(sw_study_batch_run(self->queue, &batch), "look-up");
}

/* The look-up is submitted behind the insert, and waits for it on the device. */
static bool robin_hood_insert_and_find(void *table, const uint32_t *keys, uint64_t count,
                                       struct sw_cbench_inserted *inserted, const uint32_t *queries,
                                       uint32_t *found, uint64_t query_count)
{
    struct under_test *self = table;
    struct sw_batch set = set_of(self, keys, count);
    struct sw_batch get = get_of(queries, found, query_count);
    int status = sw_study_batches_run(self->queue, &set, &get);
    inserted->rehashes = 0;
    inserted->left = set.leftover_count;
    return succeeded(status, "insert and look-up");
}

static void robin_hood_facts(void *table, struct sw_cbench_facts *facts)
{
    struct under_test *self = table;
    struct sw_table_info info;
    sw_table_info(self->table, &info);
    facts->cells = info.capacity_slots;
    facts->slot_bits = info.slot_bits;
    facts->bytes = info.bytes_reserved;
}

const struct sw_cbench_library sw_cbench_robin_hood = {
    .name = "robin_hood",
    .has_bound = true,
    .open = robin_hood_open,
    .close = robin_hood_close,
    .clear = robin_hood_clear,
    .insert = robin_hood_insert,
    .find = robin_hood_find,
    .insert_and_find = robin_hood_insert_and_find,
    .facts = robin_hood_facts,
};
