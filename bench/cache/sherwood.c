/* SPDX-License-Identifier: MIT
 *
 * sherwood.c - Sherwood's tables as libraries of the studies of the cache and of rows: a table
 * whose engine is the cache, in either mode, and a table of rows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/cache/library.h"
#include "bench/study/pass.h"
#include "table/table.h"

/* Of rows. Writes fail above a load of 1 - 1/64. No load of the study is near it. */
#define ROWS_MAX_LOAD 0.984375

struct sherwood {
    struct sw_table *table;
    struct sw_queue *queue;
    enum sw_op look_up;
    bool on_device; /* the arrays of a batch lie in memory of the device */
};

static void sherwood_close(void *opaque)
{
    struct sherwood *self = opaque;
    sw_queue_destroy(self->queue);
    sw_table_destroy(self->table);
    free(self);
}

/* Opens a table of the configuration, whose engine and limits the caller has set. */
static void *open_table(const struct sw_cachebench_wanted *wanted, struct sw_table_config *config,
                        char *reason, size_t reason_size)
{
    struct sherwood *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        snprintf(reason, reason_size, "no memory");
        return NULL;
    }
    config->backend = wanted->on_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config->device = wanted->device;
    config->capacity_slots = wanted->capacity;
    config->value_bytes = wanted->dim * (uint32_t)sizeof(float);
    config->batch_ops_max = wanted->room;
    config->seed = 0x5348455257ULL;
    if (sw_table_create(config, &self->table, reason, reason_size) != SW_OK) {
        free(self);
        return NULL;
    }
    if (sw_queue_create(self->table, &self->queue) != SW_OK) {
        snprintf(reason, reason_size, "no memory for a queue");
        sherwood_close(self);
        return NULL;
    }
    return self;
}

static void *open_cache(const struct sw_cachebench_wanted *wanted, enum sw_cache_mode mode,
                        enum sw_rows_in values_in, char *reason, size_t reason_size)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.engine = SW_ENGINE_CACHE;
    config.cache_mode = mode;
    config.cache_policy = wanted->custom ? SW_CACHE_CUSTOM : SW_CACHE_LRU;
    config.rows_in = values_in;
    struct sherwood *self = open_table(wanted, &config, reason, reason_size);
    if (self != NULL) {
        self->look_up = SW_PEEK;
    }
    return self;
}

static void *memory_open(const struct sw_cachebench_wanted *wanted, char *reason,
                         size_t reason_size)
{
    return open_cache(wanted, SW_CACHE_MEMORY, SW_ROWS_IN_GPU, reason, reason_size);
}

static void *memory_host_open(const struct sw_cachebench_wanted *wanted, char *reason,
                              size_t reason_size)
{
    return open_cache(wanted, SW_CACHE_MEMORY, SW_ROWS_IN_HOST, reason, reason_size);
}

static void *throughput_open(const struct sw_cachebench_wanted *wanted, char *reason,
                             size_t reason_size)
{
    return open_cache(wanted, SW_CACHE_THROUGHPUT, SW_ROWS_IN_GPU, reason, reason_size);
}

static void *throughput_host_open(const struct sw_cachebench_wanted *wanted, char *reason,
                                  size_t reason_size)
{
    return open_cache(wanted, SW_CACHE_THROUGHPUT, SW_ROWS_IN_HOST, reason, reason_size);
}

static void *rows_open(const struct sw_cachebench_wanted *wanted, char *reason, size_t reason_size)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.max_load = ROWS_MAX_LOAD;
    config.rows_in = (enum sw_rows_in)wanted->rows_in;
    config.rows_gpu_bytes = wanted->rows_gpu_bytes;
    struct sherwood *self = open_table(wanted, &config, reason, reason_size);
    if (self != NULL) {
        self->look_up = SW_GET;
        self->on_device = !wanted->on_host;
    }
    return self;
}

static bool run_sherwood_batch(struct sherwood *self, struct sw_batch *batch, const char *what)
{
    int status = sw_study_batch_run(self->queue, batch);
    if (status != SW_OK) {
        fprintf(stderr, "sherwood: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool sherwood_clear(void *self)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    return run_sherwood_batch(self, &batch, "clear");
}

static bool sherwood_size(void *opaque, uint64_t *entries)
{
    struct sherwood *self = opaque;
    struct sw_table_stats stats;
    sw_table_stats(self->table, &stats);
    *entries = stats.occupied;
    return true;
}

static uint64_t sherwood_capacity(void *opaque)
{
    struct sherwood *self = opaque;
    struct sw_table_info info;
    sw_table_info(self->table, &info);
    return info.capacity_slots;
}

/* Sets the arrays of an operation; the others stay NULL. */
static void choose_arrays(const struct sherwood *self, enum sw_cachebench_operation operation,
                          const struct sw_cachebench_arrays *arrays, struct sw_batch *batch)
{
    static const enum sw_op ops[SW_CACHEBENCH_OPERATIONS] = {
        [SW_CACHEBENCH_INSERT_OR_ASSIGN] = SW_SET,
        [SW_CACHEBENCH_INSERT_AND_EVICT] = SW_SET,
        [SW_CACHEBENCH_FIND_OR_INSERT] = SW_FIND_OR_INSERT,
        [SW_CACHEBENCH_ASSIGN] = SW_SET_PRESENT,
        [SW_CACHEBENCH_ACCUM_OR_ASSIGN] = SW_ADD_F32,
        [SW_CACHEBENCH_ERASE] = SW_DELETE,
    };
    bool is_look_up = operation == SW_CACHEBENCH_FIND || operation == SW_CACHEBENCH_CONTAINS;
    batch->op = is_look_up ? self->look_up : ops[operation];
    batch->keys = arrays->keys;
    if (!is_look_up && operation != SW_CACHEBENCH_ERASE) {
        batch->values = arrays->values;
        batch->scores = arrays->scores;
    }
    if (is_look_up || operation == SW_CACHEBENCH_FIND_OR_INSERT) {
        batch->found = arrays->bits;
    }
    if (operation == SW_CACHEBENCH_FIND || operation == SW_CACHEBENCH_FIND_OR_INSERT) {
        batch->previous = arrays->values_out;
    }
    if (operation == SW_CACHEBENCH_INSERT_AND_EVICT) {
        batch->leftover_keys = arrays->evicted_keys;
        batch->leftover_values = arrays->evicted_values;
        batch->leftover_scores = arrays->evicted_scores;
    }
}

static bool sherwood_call(void *opaque, enum sw_cachebench_operation operation,
                          const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    struct sherwood *self = opaque;
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS, .count = (uint32_t)count, .on_device = self->on_device};
    choose_arrays(self, operation, arrays, &batch);
    bool done = run_sherwood_batch(self, &batch, "a call");
    *arrays->told = batch.leftover_count;
    return done;
}

#define SHERWOOD(its_name, kind, can, on_host)                                                   \
    {                                                                                            \
        .name = (its_name), .is_table = true, .operations = (can), .open = kind##_open,          \
        .close = sherwood_close, .clear = sherwood_clear, .size = sherwood_size,                 \
        .capacity = sherwood_capacity, .call = sherwood_call, .fills_only = (on_host),           \
        .on_device_only = (on_host), .about = (on_host) ? "values in pinned host memory" : NULL, \
    }
/* A table gives no addresses. */
#define CACHE_CAN (((1U << SW_CACHEBENCH_OPERATIONS) - 1) & ~SW_CACHEBENCH_BIT(FIND_PLACES))
#define ROWS_CAN                                                     \
    (SW_CACHEBENCH_BIT(FIND) | SW_CACHEBENCH_BIT(INSERT_OR_ASSIGN) | \
     SW_CACHEBENCH_BIT(ACCUM_OR_ASSIGN) | SW_CACHEBENCH_BIT(ERASE))

const struct sw_cachebench_library sw_cachebench_sherwood_memory =
    SHERWOOD("sherwood_memory", memory, CACHE_CAN, false);
const struct sw_cachebench_library sw_cachebench_sherwood_throughput =
    SHERWOOD("sherwood_throughput", throughput, CACHE_CAN, false);
/* They show the place of the values alone, as hkv_host does. */
const struct sw_cachebench_library sw_cachebench_sherwood_memory_host =
    SHERWOOD("sherwood_memory_host", memory_host, CACHE_CAN, true);
const struct sw_cachebench_library sw_cachebench_sherwood_throughput_host =
    SHERWOOD("sherwood_throughput_host", throughput_host, CACHE_CAN, true);
const struct sw_cachebench_library sw_cachebench_sherwood_rows =
    SHERWOOD("sherwood", rows, ROWS_CAN, false);
