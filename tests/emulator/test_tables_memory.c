/* SPDX-License-Identifier: MIT
 *
 * test_tables_memory.c - the device memory, the pinned memory, the heap and the streams of many
 * small tables that share a device.
 *
 *   test_tables_memory TABLES
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "table/device.h"
#include "table/table.h"
#include "tests/emulator/expect.h"
#include "tests/emulator/failing.h"
#include "tests/support/io_memory.h"

/* A thousand tables have at most 128 MiB more than one. */
#define BAR_BYTES ((128ULL << 20) / 1000)
/* Most bytes of the heap for a table with these queues. */
#define HEAP_BYTES (44U << 10)
#define LOOPS 4U
/* Each loop has a queue for frames, one for RESP and one for commands that read and write. */
#define QUEUES (3 * LOOPS)
#define KEYS 64U
/* After these both widths have their scratch, also that of the lanes. */
#define FIRST 6U

struct tested {
    struct sw_table *table;
    struct sw_queue *queues[QUEUES];
};

static void open_table(struct tested *tested, uint32_t number, struct sw_device *device)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.shared = device;
    config.slot_bits = number % 2 == 0 ? 64 : 128;
    config.capacity_slots = 1024;
    config.stash_slots = 1U << 16;
    config.batch_ops_max = 4096; /* of larger batches the creation of a table takes seconds here */
    expect(sw_table_create(&config, &tested->table, NULL, 0) == SW_OK, "a table");
    for (uint32_t q = 0; q < QUEUES; q++) {
        expect(sw_queue_create_for(tested->table, 1 + q % LOOPS, &tested->queues[q]) == SW_OK,
               "a queue");
    }
}

static void close_table(const struct tested *tested)
{
    for (uint32_t q = 0; q < QUEUES; q++) {
        sw_queue_destroy(tested->queues[q]);
    }
    sw_table_destroy(tested->table);
}

/* Each loop writes and reads the table by RESP. */
static void use_table(const struct tested *tested, uint64_t *keys)
{
    for (uint32_t q = 0; q < LOOPS; q++) {
        struct sw_batch set = {.op = SW_SET, .count = KEYS, .keys = keys, .values = keys};
        struct sw_batch get = {.op = SW_GET, .count = KEYS, .keys = keys};
        expect(sw_batch_run(tested->queues[q], &set) == SW_OK, "a write succeeds");
        expect(sw_batch_run(tested->queues[q], &get) == SW_OK, "a read succeeds");
        expect(get.counters.by_class[SW_CLASS_GET].hits == KEYS, "and finds all keys");
    }
}

int main(int argc, char **argv)
{
    const uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000;
    struct tested *tables = calloc(count, sizeof(*tables));
    struct sw_device *device;
    size_t bytes = 0, heap = 0, streams = 0;
    expect(tables != NULL && count > FIRST, "tables");
    expect(sw_device_create(1, &device) == SW_OK, "a device");
    struct io_memory io = {0};
    uint64_t *keys = NULL;
    for (uint32_t t = 0; t < count; t++) {
        open_table(&tables[t], t, device);
        if (t == 0) {
            io.table = tables[0].table;
            keys = io_array(&io, KEYS * sizeof(*keys));
            for (uint32_t k = 0; k < KEYS; k++) {
                keys[k] = k + 1;
            }
        }
        use_table(&tables[t], keys);
        bytes = t + 1 == FIRST ? emu_allocated() : bytes;
        heap = t + 1 == FIRST ? mallinfo2().uordblks : heap;
        streams = t == 1 ? emu_streams() : streams;
    }
    const size_t each = (emu_allocated() - bytes) / (count - FIRST);
    const size_t heap_each = (mallinfo2().uordblks - heap) / (count - FIRST);
    printf("%u tables: %zu bytes each, %zu of the heap, %zu streams\n", count, each, heap_each,
           emu_streams());
    expect(each + heap_each <= BAR_BYTES, "a table has at most a thousandth of 128 MiB");
    expect(heap_each <= HEAP_BYTES, "a table that was hardly used has little of the heap");
    expect(emu_streams() == streams, "many tables have the streams of two");
    io_free(&io);
    for (uint32_t t = 0; t < count; t++) {
        close_table(&tables[t]);
    }
    sw_device_destroy(device);
    expect(emu_allocated() == 0, "all memory is freed");
    free(tables);
    printf("ok many small tables are small\n1 passed, 0 failed\n");
    return 0;
}
