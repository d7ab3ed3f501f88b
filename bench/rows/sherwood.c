/* SPDX-License-Identifier: MIT
 *
 * sherwood.c - a table of rows as a library of the study.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/rows/libraries.h"
#include "bench/study/pass.h"
#include "table/table.h"

struct rows {
    struct sw_table *table;
    struct sw_queue *queue;
    bool on_device; /* the table's memory is the arrays' */
};

static void rows_close(void *opaque)
{
    struct rows *rows = opaque;
    sw_queue_destroy(rows->queue);
    sw_table_destroy(rows->table);
    free(rows);
}

static void *rows_open(const struct sw_cachebench_wanted *wanted, char *reason, size_t reason_size)
{
    struct sw_table_config config;
    struct rows *rows = calloc(1, sizeof(*rows));
    if (rows == NULL) {
        snprintf(reason, reason_size, "no memory");
        return NULL;
    }
    rows->on_device = !wanted->on_host;
    sw_table_config_init(&config);
    config.backend = wanted->on_host ? SW_BACKEND_CPU : SW_BACKEND_CUDA;
    config.device = wanted->device;
    config.capacity_slots = wanted->capacity;
    config.max_load = SW_ROWBENCH_MAX_LOAD;
    config.value_bytes = wanted->dim * (uint32_t)sizeof(float);
    config.batch_ops_max = wanted->room;
    config.rows_in = (enum sw_rows_in)wanted->rows_in;
    config.rows_gpu_bytes = wanted->rows_gpu_bytes;
    config.seed = 0x5348455257ULL;
    if (sw_table_create(&config, &rows->table, reason, reason_size) != SW_OK) {
        free(rows);
        return NULL;
    }
    if (sw_queue_create(rows->table, &rows->queue) != SW_OK) {
        snprintf(reason, reason_size, "no memory for a queue");
        rows_close(rows);
        return NULL;
    }
    return rows;
}

static bool run_rows_batch(struct rows *rows, struct sw_batch *batch, const char *what)
{
    int status = sw_study_batch_run(rows->queue, batch);
    if (status != SW_OK) {
        fprintf(stderr, "rows: %s: %s\n", what, sw_status_text(status));
    }
    return status == SW_OK;
}

static bool rows_clear(void *rows)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    return run_rows_batch(rows, &batch, "clear");
}

static bool rows_size(void *opaque, uint64_t *entries)
{
    struct rows *rows = opaque;
    struct sw_table_stats stats;
    sw_table_stats(rows->table, &stats);
    *entries = stats.occupied;
    return true;
}

static uint64_t rows_capacity(void *opaque)
{
    struct rows *rows = opaque;
    struct sw_table_info info;
    sw_table_info(rows->table, &info);
    return info.capacity_slots;
}

static bool rows_call(void *opaque, enum sw_cachebench_operation operation,
                      const struct sw_cachebench_arrays *arrays, uint64_t count)
{
    static const enum sw_op ops[SW_CACHEBENCH_OPERATIONS] = {
        [SW_CACHEBENCH_FIND] = SW_GET,
        [SW_CACHEBENCH_INSERT_OR_ASSIGN] = SW_SET,
        [SW_CACHEBENCH_ACCUM_OR_ASSIGN] = SW_ADD_F32,
        [SW_CACHEBENCH_ERASE] = SW_DELETE,
    };
    struct rows *rows = opaque;
    bool is_find = operation == SW_CACHEBENCH_FIND;
    bool has_operand = !is_find && operation != SW_CACHEBENCH_ERASE;
    struct sw_batch batch = {
        .kind = SW_BATCH_OPERATIONS,
        .op = ops[operation],
        .count = (uint32_t)count,
        .keys = arrays->keys,
        .values = has_operand ? arrays->values : NULL,
        .previous = is_find ? arrays->values_out : NULL,
        .found = is_find ? arrays->bits : NULL,
        .on_device = rows->on_device,
    };
    return run_rows_batch(rows, &batch, "a call");
}

const struct sw_cachebench_library sw_rowbench_sherwood = {
    .name = "sherwood",
    .is_table = true,
    .operations = SW_CACHEBENCH_BIT(FIND) | SW_CACHEBENCH_BIT(INSERT_OR_ASSIGN) |
                  SW_CACHEBENCH_BIT(ACCUM_OR_ASSIGN) | SW_CACHEBENCH_BIT(ERASE),
    .open = rows_open,
    .close = rows_close,
    .clear = rows_clear,
    .size = rows_size,
    .capacity = rows_capacity,
    .call = rows_call,
};
