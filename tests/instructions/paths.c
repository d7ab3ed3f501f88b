/* SPDX-License-Identifier: MIT
 *
 * paths.c - a dozen paths of the table on the CPU, of the RESP parser, and of a loop that serves
 * commands and frames, for tests/instructions/count.
 *
 * Prints the name of each path, then calls `counted` for it. callgrind counts the instructions of
 * that call. All keys and seeds are fixed, and the caller's thread carries out every batch, so
 * every run takes the same path through the code.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"
#include "table/table.h"
#include "tests/server/bulk_fixture.h"

#define CAPACITY (1U << 14)
#define ENTRIES (CAPACITY / 4 * 3)
#define FRAME 4096U
#define ROW_BYTES 64U
#define COMMANDS 512U
#define CLOCK_MS 1000U
#define LATER_MS 1000000U

enum kind { INTEGERS_32, INTEGERS_64, THREADS_64, EXPIRING, FULL, ROWS, CUCKOO, CACHE, KINDS };

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
    {"u64_threads_set_1024", THREADS_64, SW_SET, FRAME / 4, 1, 0},
    {"u64_threads_insert_1024", THREADS_64, SW_SET, FRAME / 4, 1, ENTRIES},
    {"u64_delete_1024", INTEGERS_64, SW_DELETE, FRAME / 4, 1, ENTRIES},
    {"u32_get_4096", INTEGERS_32, SW_GET, FRAME, 1, 0},
    {"u32_set_4096", INTEGERS_32, SW_SET, FRAME, 1, 0},
    {"expiring_get_4096", EXPIRING, SW_GET, FRAME, 1, 0},
    {"expiring_set_4096", EXPIRING, SW_SET, FRAME, 1, 0},
    {"expiring_full_insert_1", FULL, SW_SET, 1, FRAME / 4, ENTRIES}, /* each removes a key */
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

/* A batch of the keys from `first` on. Keys of a full table expire one after the other. */
static struct sw_batch batch_of(enum kind kind, enum sw_op op, uint32_t first, uint32_t count)
{
    static uint64_t expires[FRAME];
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS, .op = op, .count = count, .keys = keys};
    batch.found = found;
    batch.previous = op == SW_GET ? previous : NULL;
    batch.values = op == SW_GET || op == SW_DELETE ? NULL : values;
    if (kind == EXPIRING) {
        batch.clock_ms = CLOCK_MS;
        batch.expire_at = op == SW_GET ? 0 : LATER_MS;
    } else if (kind == FULL) {
        batch.clock_ms = CLOCK_MS + (first < ENTRIES ? 0 : first - ENTRIES + 1);
        batch.expires = expires;
        for (uint32_t i = 0; i < count; i++) {
            expires[i] = CLOCK_MS + 1 + first + i;
        }
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
    config.max_load = kind == FULL ? (double)ENTRIES / CAPACITY : config.max_load;
    config.batch_ops_max = FRAME;
    config.stash_slots = 256;
    config.threads = kind == THREADS_64 ? 2 : 1; /* the batches are too small for a worker */
    config.value_bytes = kind == ROWS || kind == CACHE ? ROW_BYTES : 0;
    require(sw_table_create(&config, &table, reason, sizeof(reason)) == SW_OK, reason);
    require(sw_queue_create(table, &queue) == SW_OK, "sw_queue_create");
    for (uint32_t first = 0; first < ENTRIES; first += FRAME) {
        struct sw_batch batch = batch_of(kind, SW_SET, first, FRAME);
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
        struct sw_batch batch =
            batch_of(path->kind, path->op, path->first + b * path->count, path->count);
        batch.keys = keys + (size_t)b * path->count;
        require(sw_batch_run(run->queue, &batch) == SW_OK, path->name);
    }
}

struct commands {
    uint8_t text[COMMANDS * 96];
    size_t size;
};

/* Adds a command on key `i`: a SET of its number, or a GET. */
static void add_command(struct commands *commands, uint32_t i, bool sets)
{
    char *out = (char *)commands->text + commands->size;
    const size_t room = sizeof(commands->text) - commands->size;
    const unsigned long long key = key_at(i);
    char digits[24];
    const int size = snprintf(digits, sizeof(digits), "%llu", key);
    commands->size +=
        (size_t)(sets ? snprintf(out, room, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", size,
                                 digits, size, digits)
                      : snprintf(out, room, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", size, digits));
}

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
        add_command(&commands, i, false);
    }
    puts("resp_get_512");
    counted(run_commands, &commands);
}

/* --- a loop that serves commands -------------------------------------------------------------- */

/* The end of a failed assertion of the fixture. */
void cr_end_failed(const char *file, int line, const char *expression, const char *format, ...)
{
    (void)format;
    fprintf(stderr, "%s:%d: %s\n", file, line, expression);
    exit(1);
}

/* `count` operations a pipeline or frame, `repeats` times. */
static const struct served_path {
    const char *name;
    enum sw_operation operation;
    bool frame; /* a bulk frame; else RESP commands */
    uint32_t count;
    uint32_t repeats;
} served_paths[] = {
    {"served_set_512", SW_OPERATION_SET, false, COMMANDS, 1},
    {"served_get_512", SW_OPERATION_GET, false, COMMANDS, 1},
    {"served_set_16", SW_OPERATION_SET, false, 16, 32},
    {"served_set_1", SW_OPERATION_SET, false, 1, 64},
    {"served_get_1", SW_OPERATION_GET, false, 1, 64},
    {"served_frame_set_1024", SW_OPERATION_SET, true, 1024, 4},
    {"served_frame_get_1024", SW_OPERATION_GET, true, 1024, 4},
    {"served_frame_set_1", SW_OPERATION_SET, true, 1, 64},
};

struct served {
    struct serve serve;
    struct fake *peer;
    const struct served_path *path;
    struct commands commands;
    struct stream requests;
};

static void set_requests(struct served *served)
{
    const struct served_path *path = served->path;
    struct commands *commands = &served->commands;
    served->requests.size = commands->size = 0;
    if (path->frame) {
        add_frame(&served->requests, path->operation, 1, 1, path->count);
        return;
    }
    for (uint32_t i = 0; i < path->count; i++) {
        add_command(commands, i, path->operation == SW_OPERATION_SET);
    }
    memcpy(served->requests.bytes, commands->text, commands->size);
    served->requests.size = commands->size;
}

/* Sends the requests, carries them out, and sends the replies, again and again. */
static void run_served(void *context)
{
    struct served *served = context;
    const struct stream *requests = &served->requests;
    for (uint32_t i = 0; i < served->path->repeats; i++) {
        require(fake_send(served->peer, requests->bytes, requests->size) == requests->size,
                "the requests");
        while (serve_iteration_unchecked(&served->serve)) {
        }
    }
}

static void count_served(void)
{
    static struct served served;
    serve_init(&served.serve);
    served.serve.config.key_bits = 64;
    served.serve.config.seed = 1;
    served.serve.config.threads = 1;
    served.serve.config.slowlog_log_slower_than = UINT64_MAX; /* valgrind is slow */
    served.serve.config.capacity = CAPACITY;
    sw_config_fit(&served.serve.config);
    serve_start(&served.serve);
    for (size_t p = 0; p < sizeof(served_paths) / sizeof(served_paths[0]); p++) {
        served.path = &served_paths[p];
        served.peer = serve_open(&served.serve);
        set_requests(&served);
        run_served(&served); /* the first requests allocate memory */
        const size_t replies = served.peer->out_bytes;
        served.peer->out_bytes = 0;
        puts(served.path->name);
        counted(run_served, &served);
        require(served.peer->out_bytes == replies && replies > 0, "the replies");
        serve_close(&served.serve, served.peer);
    }
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
    count_served();
    return 0; /* the process ends: the tables need not be destroyed */
}
