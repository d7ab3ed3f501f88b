/* SPDX-License-Identifier: MIT
 *
 * many_tables.h - tables that share a device, with a queue of each, for tests that count calls.
 */
#ifndef SHERWOOD_EMULATOR_MANY_TABLES_H
#define SHERWOOD_EMULATOR_MANY_TABLES_H

#include "table/device.h"
#include "table/table.h"
#include "tests/emulator/expect.h"
#include "tests/emulator/failing.h"
#include "tests/support/io_memory.h"

#define TABLES 65U /* most tables: 64 of one thread, and one of another */
#define SEGMENT 4096U
#define CAPACITY 4000 /* slots of a table */

/* `device`: that tables share; NULL: the table has its own. */
static inline struct sw_table *create(uint32_t slot_bits, uint32_t ops_max,
                                      struct sw_device *device)
{
    struct sw_table_config config;
    struct sw_table *table = NULL;
    char reason[256] = "";
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.shared = device;
    config.slot_bits = slot_bits;
    config.capacity_slots = CAPACITY;
    config.batch_ops_max = ops_max;
    expect(sw_table_create(&config, &table, reason, sizeof(reason)) == SW_OK, reason);
    return table;
}

struct many {
    uint32_t count; /* of tables */
    struct sw_device *device;
    struct sw_table *tables[TABLES];
    struct sw_queue *queues[TABLES];
    struct io_memory io;
    uint32_t *keys;  /* [SEGMENT] */
    uint64_t *found; /* [TABLES][SEGMENT / 64] */
    struct sw_batch reads[TABLES];
    size_t streams; /* made until the channels share streams */
};

/* The queue of the last table has another thread number. */
static inline void create_many(struct many *m, uint32_t count)
{
    m->count = count;
    expect(sw_device_create(1, &m->device) == SW_OK, "a device");
    for (uint32_t t = 0; t < count; t++) {
        m->tables[t] = create(64, SEGMENT, m->device);
        m->streams = t == TABLES / 2 ? emu_streams() : m->streams;
        expect(sw_queue_create_for(m->tables[t], t < TABLES - 1 ? 1 : 2, &m->queues[t]) == SW_OK,
               "a queue");
    }
    m->io = (struct io_memory){.table = m->tables[0]};
    m->keys = io_array(&m->io, SEGMENT * sizeof(*m->keys));
    m->found = io_array(&m->io, count * SEGMENT / 8);
    for (uint32_t i = 0; i < SEGMENT; i++) {
        m->keys[i] = i + 1;
    }
}

/* Table t has the keys 1 to t + 1. */
static inline void open_many(struct many *m, uint32_t count)
{
    create_many(m, count);
    for (uint32_t t = 0; t < count; t++) {
        struct sw_batch set = {.op = SW_SET, .count = t + 1, .keys = m->keys, .values = m->keys};
        expect(sw_batch_run(m->queues[t], &set) == SW_OK, "the keys are stored");
    }
}

static inline void close_many(struct many *m)
{
    io_free(&m->io);
    for (uint32_t t = 0; t < m->count; t++) {
        sw_queue_destroy(m->queues[t]);
        sw_table_destroy(m->tables[t]);
    }
    sw_device_destroy(m->device);
}

#endif
