/* SPDX-License-Identifier: MIT
 *
 * paths.c - a dozen paths of the table on the CPU, and of the RESP parser, for
 * tests/instructions/count.
 *
 * Prints the name of each path, then calls `counted` for it. callgrind counts the instructions of
 * that call. All keys and seeds are fixed, and each table has one thread, so every run takes the
 * same path through the code.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"
#include "table/table.h"

#define CAPACITY (1U << 14)
#define ENTRIES (CAPACITY / 4 * 3)
#define FRAME 4096U
#define ROW_BYTES 64U
#define COMMANDS 512U
#define CLOCK_MS 1000U
#define LATER_MS 1000000U

enum kind { INTEGERS_32, INTEGERS_64, EXPIRING, ROWS, CUCKOO, CACHE, KINDS };

/* One path: `batches` batches of `count` operations. */
struct path {
    const char *name;
    enum kind kind;
    enum sw_op op;
    uint32_t count;
    uint32_t batches;
    uint32_t first; /* number of the first key; from ENTRIES on the keys are absent */
};

static const struct path paths[] = {
    {"u64_get_1", INTEGERS_64, SW_GET, 1, FRAME, 0},
    {"u64_get_4096", INTEGERS_64, SW_GET, FRAME, 1, 0},
    {"u64_get_absent_4096", INTEGERS_64, SW_GET, FRAME, 1, ENTRIES},
    {"u64_set_1", INTEGERS_64, SW_SET, 1, FRAME, 0},
    {"u64_set_4096", INTEGERS_64, SW_SET, FRAME, 1, 0},
    {"u64_add_4096", INTEGERS_64, SW_SUM, FRAME, 1, 0},
    {"u64_insert_1024", INTEGERS_64, SW_SET, FRAME / 4, 1, ENTRIES},
    {"u64_delete_1024", INTEGERS_64, SW_DELETE, FRAME / 4, 1, ENTRIES},
    {"u32_get_4096", INTEGERS_32, SW_GET, FRAME, 1, 0},
    {"u32_set_4096", INTEGERS_32, SW_SET, FRAME, 1, 0},
    {"expiring_get_4096", EXPIRING, SW_GET, FRAME, 1, 0},
    {"expiring_set_4096", EXPIRING, SW_SET, FRAME, 1, 0},
    {"rows_get_4096", ROWS, SW_GET, FRAME, 1, 0},
    {"rows_set_4096", ROWS, SW_SET, FRAME, 1, 0},
    {"cuckoo_get_4096", CUCKOO, SW_GET, FRAME, 1, 0},
    {"cuckoo_set_4096", CUCKOO, SW_SET, FRAME, 1, 0},
    {"cache_get_4096", CACHE, SW_GET, FRAME, 1, 0},
    {"cache_set_4096", CACHE, SW_SET, FRAME, 1, 0},
};

static uint64_t keys[FRAME];
static uint8_t values[FRAME * ROW_BYTES];
static uint8_t previous[FRAME * ROW_BYTES];
static uint64_t found[FRAME / 64];

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "paths: %s failed\n", what);
        exit(1);
    }
}

/* Spreads the numbers of the keys, so that neighbours in a frame are no neighbours in the table. */
static uint64_t key_at(uint32_t i)
{
    return (i + 1) * 0x9e3779b97f4a7c15ULL;
}

static void set_keys(enum kind kind, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = key_at(first + i);
        if (kind == INTEGERS_32) {
            ((uint32_t *)(void *)keys)[i] = (uint32_t)(key >> 32);
        } else {
            keys[i] = key;
        }
    }
}

static struct sw_batch batch_of(enum kind kind, enum sw_op op, uint32_t count)
{
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS, .op = op, .count = count, .keys = keys};
    batch.found = found;
    batch.previous = op == SW_GET ? previous : NULL;
    batch.values = op == SW_GET || op == SW_DELETE ? NULL : values;
    if (kind == EXPIRING) {
        batch.clock_ms = CLOCK_MS;
        batch.expire_at = op == SW_GET ? 0 : LATER_MS;
    }
    return batch;
}

static struct sw_queue *open_filled(enum kind kind)
{
    struct sw_table_config config;
    struct sw_table *table = NULL;
    struct sw_queue *queue = NULL;
    char reason[256] = "";
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.engine = kind == CUCKOO  ? SW_ENGINE_CUCKOO
                    : kind == CACHE ? SW_ENGINE_CACHE
                                    : SW_ENGINE_ROBIN_HOOD;
    config.slot_bits = kind == INTEGERS_32 ? 64 : 128;
    config.capacity_slots = CAPACITY;
    config.seed = 1;
    config.batch_ops_max = FRAME;
    config.stash_slots = 256;
    config.threads = 1;
    config.value_bytes = kind == ROWS || kind == CACHE ? ROW_BYTES : 0;
    require(sw_table_create(&config, &table, reason, sizeof(reason)) == SW_OK, reason);
    require(sw_queue_create(table, &queue) == SW_OK, "sw_queue_create");
    for (uint32_t first = 0; first < ENTRIES; first += FRAME) {
        struct sw_batch batch = batch_of(kind, SW_SET, FRAME);
        set_keys(kind, first, FRAME);
        require(sw_batch_run(queue, &batch) == SW_OK, "the first writes");
    }
    return queue;
}

/* callgrind counts in this function, and writes its counts when the function returns. */
__attribute__((noinline)) void counted(void (*run)(void *context), void *context);
__attribute__((noinline)) void counted(void (*run)(void *context), void *context)
{
    run(context);
    __asm__ volatile("" ::: "memory"); /* no tail call: the function returns after run */
}

struct run {
    const struct path *path;
    struct sw_queue *queue;
};

static void run_batches(void *context)
{
    const struct run *run = context;
    const struct path *path = run->path;
    for (uint32_t b = 0; b < path->batches; b++) {
        struct sw_batch batch = batch_of(path->kind, path->op, path->count);
        batch.keys = keys + (size_t)b * path->count;
        require(sw_batch_run(run->queue, &batch) == SW_OK, path->name);
    }
}

struct commands {
    uint8_t text[COMMANDS * 64];
    size_t size;
};

/* Parses GETs, and writes an answer for each. */
static void run_commands(void *context)
{
    const struct commands *commands = context;
    const struct sw_resp_limits limits = {16, 1024, 1024, 4096};
    struct sw_resp_argument arguments[16];
    uint8_t unquoted[1024];
    char reply[SW_RESP_INTEGER_BYTES_MAX];
    struct sw_resp_command command = {.arguments = arguments, .unquoted = unquoted};
    uint32_t parsed = 0;
    for (size_t at = 0; at < commands->size; parsed++) {
        const int64_t used =
            sw_resp_parse(commands->text + at, commands->size - at, &limits, &command);
        require(used > 0 && command.count == 2, "sw_resp_parse");
        (void)sw_resp_put_bulk_integer(reply, key_at(parsed));
        at += (size_t)used;
    }
    require(parsed == COMMANDS, "the commands");
}

static void count_commands(void)
{
    static struct commands commands;
    for (uint32_t i = 0; i < COMMANDS; i++) {
        char key[24];
        const int digits = snprintf(key, sizeof(key), "%llu", (unsigned long long)key_at(i));
        commands.size += (size_t)snprintf((char *)commands.text + commands.size,
                                          sizeof(commands.text) - commands.size,
                                          "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", digits, key);
    }
    puts("resp_get_512");
    counted(run_commands, &commands);
}

int main(void)
{
    struct sw_queue *queues[KINDS] = {NULL};
    for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
        const struct path *path = &paths[p];
        if (queues[path->kind] == NULL) {
            queues[path->kind] = open_filled(path->kind);
        }
        struct run run = {path, queues[path->kind]};
        set_keys(path->kind, path->first, path->count * path->batches);
        puts(path->name);
        counted(run_batches, &run);
    }
    count_commands();
    return 0; /* the process ends: the tables need not be destroyed */
}
