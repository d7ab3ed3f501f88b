/* SPDX-License-Identifier: MIT
 *
 * test_image_reads.c - images that copy rows, or times, to the host, and reads beside them.
 *
 * The copy begins with sw_memory_map_touched. In its place another thread runs a read to its end,
 * and submits a write and polls it. So an implementation in which reads wait for the copy waits for
 * ever.
 *
 *   test_image_reads
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/image.h"
#include "table/table.h"
#include "tests/emulator/expect.h"
#include "tests/support/io_memory.h"

#define KEYS 256U
#define ROW 128U
#define CLOCK 1000000000000ULL
#define WAIT_S 60

void *__wrap_sw_memory_map_touched(uint64_t bytes);
void *__real_sw_memory_map_touched(uint64_t bytes);

/* State of the other thread, which has a queue of its own. */
static struct beside {
    bool armed;
    uint32_t copies; /* that it ran beside */
    struct sw_table *table;
    struct sw_queue *queue;
    uint64_t *key, *found;
    uint8_t *value;
    struct sw_batch write;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done;
} beside = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *read_one(void *context)
{
    struct sw_batch read = {.kind = SW_BATCH_OPERATIONS,
                            .op = SW_GET,
                            .count = 1,
                            .keys = beside.key,
                            .found = beside.found,
                            .clock_ms = CLOCK,
                            .stream = 1};
    expect(sw_batch_run(beside.queue, &read) == SW_OK && (*beside.found & 1) == 1, "a read");
    beside.write = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                                     .op = SW_SET,
                                     .count = 1,
                                     .keys = beside.key,
                                     .values = beside.value,
                                     .clock_ms = CLOCK};
    expect(sw_batch_submit(beside.queue, &beside.write) == SW_OK, "a write is submitted");
    expect(sw_batch_poll(beside.queue, &beside.write) == SW_PENDING, "the write waits");
    pthread_mutex_lock(&beside.mutex);
    beside.done = true;
    pthread_cond_signal(&beside.changed);
    pthread_mutex_unlock(&beside.mutex);
    return context;
}

void *__wrap_sw_memory_map_touched(uint64_t bytes)
{
    if (beside.armed) {
        struct timespec until;
        pthread_t thread;
        beside.armed = beside.done = false;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += WAIT_S;
        expect(pthread_create(&thread, NULL, read_one, NULL) == 0, "a thread");
        pthread_mutex_lock(&beside.mutex);
        int status = 0;
        while (!beside.done && status == 0) {
            status = pthread_cond_timedwait(&beside.changed, &beside.mutex, &until);
        }
        pthread_mutex_unlock(&beside.mutex);
        expect(beside.done, "reads do not wait for the copy of an image");
        pthread_join(thread, NULL);
        beside.copies++;
    }
    return __real_sw_memory_map_touched(bytes);
}

static void fill(struct sw_table *table, struct sw_queue *queue, uint64_t expire_at)
{
    struct io_memory io = {.table = table};
    uint64_t *keys = io_array(&io, KEYS * sizeof(*keys));
    uint8_t *values = io_array(&io, (size_t)KEYS * ROW);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SET,
                             .count = KEYS,
                             .keys = keys,
                             .values = values,
                             .clock_ms = CLOCK,
                             .expire_at = expire_at};
    memset(values, 7, (size_t)KEYS * ROW);
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = i;
    }
    expect(sw_batch_run(queue, &batch) == SW_OK, "keys are set");
    io_free(&io);
}

/* The image has every key as it was, and key 0 is not what the write makes of it. */
static void read_image(struct sw_image *image, uint32_t value_bytes)
{
    static uint64_t keys[KEYS + 1], times[KEYS + 1];
    static uint8_t values[(KEYS + 1) * ROW];
    uint32_t got = 0;
    expect(sw_image_read(image, KEYS + 1, keys, values, times, &got) == SW_OK && got == KEYS,
           "the image is whole");
    const uint32_t bytes = value_bytes == 0 ? sizeof(uint64_t) : value_bytes;
    for (size_t i = 0; i < (size_t)KEYS * bytes; i++) {
        expect(values[i] == 7, "the image is that of before the write");
    }
}

static void run_image_reads(enum sw_rows_in rows_in, uint32_t value_bytes, uint64_t expire_at)
{
    struct sw_table_config config;
    struct sw_queue *queue = NULL;
    struct sw_image *image = NULL;
    char reason[256] = "";
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.capacity_slots = 4 * KEYS;
    config.batch_ops_max = KEYS;
    config.value_bytes = value_bytes;
    config.rows_in = rows_in;
    config.rows_gpu_bytes = rows_in == SW_ROWS_IN_GPU_HOST ? 16 * ROW : 0;
    expect(sw_table_create(&config, &beside.table, reason, sizeof(reason)) == SW_OK, reason);
    expect(sw_queue_create(beside.table, &queue) == SW_OK, "a queue");
    expect(sw_queue_create(beside.table, &beside.queue) == SW_OK, "another queue");
    struct io_memory io = {.table = beside.table};
    beside.key = io_array(&io, sizeof(*beside.key));
    beside.found = io_array(&io, sizeof(*beside.found));
    beside.value = memset(io_array(&io, ROW), 8, ROW);
    fill(beside.table, queue, expire_at);
    beside.armed = true;
    expect(sw_image_take(queue, false, &image) == SW_OK, "an image");
    while (sw_batch_poll(beside.queue, &beside.write) == SW_PENDING) {
    }
    expect(beside.write.status == SW_OK, "the write behind the image");
    read_image(image, value_bytes);
    sw_image_drop(image);
    io_free(&io);
    sw_queue_destroy(beside.queue);
    sw_queue_destroy(queue);
    sw_table_destroy(beside.table);
}

/* Rows in host memory lie in pieces of 64 MiB, each pinned by itself: an image of more than one. */
static void run_several_pieces(void)
{
    enum { BATCHES = 36, COUNT = 512, BYTES = 4096 };
    struct sw_table_config config;
    struct sw_table *table = NULL;
    struct sw_queue *queue = NULL;
    struct sw_image *image = NULL;
    char reason[256] = "";
    static uint64_t read_keys[COUNT], times[COUNT];
    static uint8_t read_values[COUNT * BYTES];
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CUDA;
    config.capacity_slots = 4ULL * BATCHES * COUNT;
    config.batch_ops_max = COUNT;
    config.value_bytes = BYTES;
    config.rows_in = SW_ROWS_IN_HOST;
    expect(sw_table_create(&config, &table, reason, sizeof(reason)) == SW_OK, reason);
    expect(sw_queue_create(table, &queue) == SW_OK, "a queue");
    struct io_memory io = {.table = table};
    uint64_t *keys = io_array(&io, COUNT * sizeof(*keys));
    uint8_t *values = io_array(&io, (size_t)COUNT * BYTES);
    memset(values, 7, (size_t)COUNT * BYTES);
    for (uint32_t n = 0; n < BATCHES; n++) {
        struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS, .op = SW_SET, .count = COUNT};
        batch.keys = keys;
        batch.values = values;
        for (uint32_t i = 0; i < COUNT; i++) {
            keys[i] = (uint64_t)n * COUNT + i;
        }
        expect(sw_batch_run(queue, &batch) == SW_OK, "keys are set");
    }
    expect(sw_image_take(queue, false, &image) == SW_OK, "an image of several pieces");
    uint32_t got = 1;
    uint64_t all = 0;
    while (got > 0) {
        expect(sw_image_read(image, COUNT, read_keys, read_values, times, &got) == SW_OK, "a read");
        for (size_t i = 0; i < (size_t)got * BYTES; i++) {
            expect(read_values[i] == 7, "a row of the image");
        }
        all += got;
    }
    expect(all == (uint64_t)BATCHES * COUNT, "every row is in the image");
    sw_image_drop(image);
    io_free(&io);
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

int main(void)
{
    run_several_pieces();
    printf("ok an image of rows in several pinned pieces has every row\n");
    run_image_reads(SW_ROWS_IN_HOST, ROW, 0);
    run_image_reads(SW_ROWS_IN_GPU_HOST, ROW, 0);
    run_image_reads(SW_ROWS_IN_GPU, ROW, CLOCK + 1000000);
    run_image_reads(SW_ROWS_IN_GPU, 0, CLOCK + 1000000);
    expect(beside.copies == 4, "each image copied something to the host");
    printf("ok reads go on while an image copies rows and times to the host\n2 passed, 0 failed\n");
    return 0;
}
