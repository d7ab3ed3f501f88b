/* SPDX-License-Identifier: MIT
 *
 * sherwood.c - tables of table.h, u32 to u32, under test: the cuckoo engine with 2 or 3 functions,
 * and the ordered Robin Hood table. A key is its own value.
 *
 * table.h asks for I/O memory; the study passes device memory. That works on the CUDA backend
 * because only kernels access keys, values and found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cuckoo/library.h"
#include "bench/study/pass.h"
#include "table/cuckoo/engine.h"
#include "table/table.h"

/* For Robin Hood. No probe reaches it: without a bound every key finds a slot. */
#define MAX_PROBE (1U << 20)

struct under_test {
    struct sw_table *table;
    struct sw_queue *queue;
    const struct sw_cbench_place *place;
    const char *name;
    void *leftovers; /* keys, then values; only for Robin Hood with a bound */
    uint64_t keys_max;
};

static void table_close(void *table)
{
    struct under_test *self = table;
    sw_queue_destroy(self->queue);
    sw_table_destroy(self->table);
    self->place->memory->free(self->leftovers);
    free(self);
}

/* Chooses the engine, its size and its bound. */
static void choose(struct sw_table_config *config, const struct sw_cbench_options *options,
                   const struct sw_cbench_wanted *wanted)
{
    uint32_t functions = sw_cbench_library_of(wanted->table)->functions;
    if (functions == 0) {
        config->capacity_slots = wanted->size;
        config->max_load = 1.0;
        config->max_probe = wanted->bound > 0 ? wanted->bound : MAX_PROBE;
        config->stash_slots = wanted->bound > 0 ? 0 : config->stash_slots;
        return;
    }
    config->engine = SW_ENGINE_CUCKOO;
    config->hash_functions = functions;
    config->capacity_slots = options->size_is_total ? wanted->size : functions * wanted->size;
    config->max_load = functions == 2 ? SW_CUCKOO_LOAD_MAX_2 : SW_CUCKOO_LOAD_MAX_3;
    config->max_probe = wanted->bound;
}

/* Returns whether the table can hold the keys of one call below its highest load. Above it, the
 * cuckoo engine would run the operations of a batch one at a time. */
static bool table_takes(const struct sw_cbench_options *options,
                        const struct sw_cbench_wanted *wanted, char *reason, size_t reason_size)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    choose(&config, options, wanted);
    double load = (double)wanted->keys_max / (double)config.capacity_slots;
    snprintf(reason, reason_size, "the load would be %.3f, and is at most %g", load,
             config.max_load);
    return load <= config.max_load;
}

static void *table_open(const struct sw_cbench_options *options,
                        const struct sw_cbench_place *place, const struct sw_cbench_wanted *wanted,
                        char *reason, size_t reason_size)
{
    struct sw_table_config config;
    struct under_test *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        snprintf(reason, reason_size, "not enough memory");
        return NULL;
    }
    self->place = place;
    self->keys_max = wanted->keys_max;
    self->name = sw_cbench_library_of(wanted->table)->name;
    sw_table_config_init(&config);
    config.backend = place == &sw_cbench_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config.device = options->device;
    config.slot_bits = 64;
    config.batch_ops_max = (uint32_t)((wanted->keys_max + 63) / 64 * 64);
    choose(&config, options, wanted);
    if (config.stash_slots == 0) {
        self->leftovers = place->memory->alloc(2 * wanted->keys_max * sizeof(uint32_t));
    }
    reason[0] = '\0';
    bool opened = (config.stash_slots > 0 || self->leftovers != NULL) &&
                  sw_table_create(&config, &self->table, reason, reason_size) == SW_OK &&
                  sw_queue_create(self->table, &self->queue) == SW_OK;
    if (!opened) {
        if (reason[0] == '\0') {
            snprintf(reason, reason_size, "not enough memory");
        }
        table_close(self);
        return NULL;
    }
    return self;
}

static bool succeeded(const struct under_test *self, int status, const char *what)
{
    if (status != SW_OK) {
        fprintf(stderr, "cuckoo: %s: %s: %s\n", self->name, what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool table_clear(void *table)
{
    struct under_test *self = table;
    struct sw_batch batch;
    memset(&batch, 0, sizeof(batch));
    batch.kind = SW_BATCH_CLEAR;
    return succeeded(self, sw_study_batch_run(self->queue, &batch), "clear");
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

/* Fills in the outcome of an insert. If entries reached the bound of the cuckoo engine, they are in
 * the stash, and the engine tries other seeds before the next write. So this writes the first key
 * once more, with the same value. */
static bool note(struct under_test *self, int status, const struct sw_batch *set,
                 struct sw_cbench_inserted *inserted)
{
    struct sw_table_stats stats;
    sw_table_stats(self->table, &stats);
    if (status == SW_OK && set->leftover_keys == NULL && stats.stash_occupied > 0) {
        struct sw_batch again = set_of(self, set->keys, 1);
        status = sw_study_batch_run(self->queue, &again);
        sw_table_stats(self->table, &stats);
    }
    inserted->left = set->leftover_count;
    inserted->aside = stats.stash_occupied;
    return succeeded(self, status, "insert");
}

static bool table_insert(void *table, const uint32_t *keys, uint64_t count,
                         struct sw_cbench_inserted *inserted)
{
    struct under_test *self = table;
    struct sw_batch set = set_of(self, keys, count);
    int status = sw_study_batch_run(self->queue, &set);
    return note(self, status, &set, inserted);
}

static bool table_find(void *table, const uint32_t *keys, uint32_t *found, uint64_t count)
{
    struct under_test *self = table;
    struct sw_batch batch = get_of(keys, found, count);
    return succeeded(self, sw_study_batch_run(self->queue, &batch), "look-up");
}

/* The look-up is submitted behind the insert, and waits for it on the device. */
static bool table_insert_and_find(void *table, const uint32_t *keys, uint64_t count,
                                  struct sw_cbench_inserted *inserted, const uint32_t *queries,
                                  uint32_t *found, uint64_t query_count)
{
    struct under_test *self = table;
    struct sw_batch set = set_of(self, keys, count);
    struct sw_batch get = get_of(queries, found, query_count);
    int status = sw_study_batches_run(self->queue, &set, &get);
    return note(self, status, &set, inserted);
}

static void table_facts(void *table, struct sw_cbench_facts *facts)
{
    struct under_test *self = table;
    struct sw_table_info info;
    sw_table_info(self->table, &info);
    facts->cells = info.capacity_slots;
    facts->slot_bits = info.slot_bits;
    facts->bytes = info.bytes_reserved;
}

#define TABLE(table_name, t)                                                                    \
    {                                                                                           \
        .name = (table_name), .takes = table_takes, .functions = (t), .open = table_open,       \
        .close = table_close, .clear = table_clear, .insert = table_insert, .find = table_find, \
        .insert_and_find = table_insert_and_find, .facts = table_facts,                         \
    }

const struct sw_cbench_library sw_cbench_cuckoo2 = TABLE("cuckoo2", 2);
const struct sw_cbench_library sw_cbench_cuckoo3 = TABLE("cuckoo3", 3);
const struct sw_cbench_library sw_cbench_robin_hood = TABLE("robin_hood", 0);
