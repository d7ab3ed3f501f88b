/* SPDX-License-Identifier: MIT
 *
 * main.c - what the parts of the durable daemon do by themselves, without sockets and files: the
 * ceilings beside the bars of durability.py. 32-bit keys and values, a table filled to .85.
 *
 *   durability-ceilings table|parse|bytes|image [--backend B] [--slots N] [--frame N] [--seconds S]
 *
 * A line "name value" for each: table: sets of stored keys by frames, two in flight, keys a second;
 * parse: RESP SET commands a second, one thread; bytes: checks and copies of frames, bytes a
 * second, one thread; image: `image_gather` bytes a second of the columns of a snapshot, one
 * thread, `image_seal` the same with the blocks' checks, `restore` entries a second into an empty
 * table, `restore_checked` the same with the blocks' checks before.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/check.h"
#include "proto/resp.h"
#include "proto/snapshot_file.h"
#include "table/image.h"
#include "table/restore.h"
#include "table/table.h"

#define LOAD 0.85
#define IN_FLIGHT 2U
#define FRAMES 8U /* drawn beforehand */
#define MEMORY (256U << 20)
#define COMMANDS 65536U
#define THREADS_MAX 16U

struct run {
    const char *what;
    struct sw_table_config config;
    uint32_t frame;
    double seconds;
    struct sw_table *table;
    struct sw_queue *queue;
    uint64_t entries;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void exit_with_reason(const char *what, const char *why)
{
    fprintf(stderr, "durability-ceilings: %s: %s\n", what, why);
    exit(1);
}

static void must(const char *what, int status)
{
    if (status != SW_OK) {
        exit_with_reason(what, sw_status_text(status));
    }
}

static void *must_have(const char *what, void *memory)
{
    if (memory == NULL) {
        exit_with_reason(what, "no memory");
    }
    return memory;
}

static void tell(const char *name, double value)
{
    printf("%s %.6g\n", name, value);
    fflush(stdout);
}

/* --- a table ---------------------------------------------------------------------------------- */

/* Each number below 2^32 has a key of its own. */
static uint32_t key_of(uint64_t number)
{
    return (uint32_t)number * 0x9e3779b1U;
}

static void create(struct run *run)
{
    char reason[256] = "";
    if (sw_table_create(&run->config, &run->table, reason, sizeof(reason)) != SW_OK) {
        exit_with_reason("the table", reason);
    }
    must("a queue", sw_queue_create(run->table, &run->queue));
    run->entries = (uint64_t)(LOAD * (double)run->config.capacity_slots) / run->frame * run->frame;
    if (run->entries == 0) {
        exit_with_reason("--slots", "too few for a frame");
    }
}

static void destroy(struct run *run)
{
    sw_queue_destroy(run->queue);
    sw_table_destroy(run->table);
}

static uint32_t *io_words(struct run *run)
{
    return must_have("a frame", sw_io_alloc(run->table, run->frame * sizeof(uint32_t)));
}

static void io_free(struct run *run, uint32_t *words)
{
    sw_io_free(run->table, words, run->frame * sizeof(uint32_t));
}

static void fill(struct run *run)
{
    uint32_t *keys = io_words(run);
    for (uint64_t first = 0; first < run->entries; first += run->frame) {
        for (uint32_t i = 0; i < run->frame; i++) {
            keys[i] = key_of(first + i);
        }
        struct sw_batch batch = {.op = SW_SET, .count = run->frame, .keys = keys, .values = keys};
        must("filling", sw_batch_run(run->queue, &batch));
    }
    io_free(run, keys);
}

static void measure_table(struct run *run)
{
    uint32_t *keys[FRAMES];
    uint64_t *found[IN_FLIGHT];
    struct sw_batch batches[IN_FLIGHT] = {0};
    uint64_t drawn = 88172645463325252ULL, done = 0;
    create(run);
    fill(run);
    for (uint32_t f = 0; f < FRAMES; f++) {
        keys[f] = io_words(run);
        for (uint32_t i = 0; i < run->frame; i++) {
            drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
            keys[f][i] = key_of((drawn >> 20) % run->entries);
        }
    }
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        found[i] = must_have("bits", sw_io_alloc(run->table, run->frame / 8UL + 8));
    }
    const double began = now();
    while (done < 2 * IN_FLIGHT || now() - began < run->seconds) {
        struct sw_batch *batch = &batches[done % IN_FLIGHT];
        int status = batch->count == 0 ? SW_OK : SW_PENDING;
        while (status == SW_PENDING) {
            status = sw_batch_poll(run->queue, batch);
        }
        must("a set", status);
        const uint32_t *frame = keys[done % FRAMES];
        *batch = (struct sw_batch){.op = SW_SET,
                                   .count = run->frame,
                                   .keys = frame,
                                   .values = frame,
                                   .found = found[done % IN_FLIGHT]};
        must("a set", sw_batch_submit(run->queue, batch));
        done++;
    }
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        while (sw_batch_poll(run->queue, &batches[(done + i) % IN_FLIGHT]) == SW_PENDING) {
        }
    }
    tell("table", (double)done * run->frame / (now() - began));
    for (uint32_t f = 0; f < FRAMES; f++) {
        io_free(run, keys[f]);
    }
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        sw_io_free(run->table, found[i], run->frame / 8UL + 8);
    }
    destroy(run);
}

/* --- commands, and bytes ---------------------------------------------------------------------- */

static void measure_parse(const struct run *run)
{
    const struct sw_resp_limits limits = {64, 1U << 16, 1U << 16, 1U << 20};
    struct sw_resp_argument arguments[64];
    uint8_t unquoted[64];
    struct sw_resp_command command = {.arguments = arguments, .unquoted = unquoted};
    char *text = must_have("commands", malloc(COMMANDS * 96UL));
    size_t bytes = 0;
    uint64_t done = 0;
    for (uint32_t i = 0; i < COMMANDS; i++) {
        char key[24], value[24];
        int k = snprintf(key, sizeof(key), "%u", key_of(i) % 1000000U);
        int v = snprintf(value, sizeof(value), "%u", key_of(i + 1));
        bytes += (size_t)sprintf(text + bytes, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", k,
                                 key, v, value);
    }
    const double began = now();
    while (now() - began < run->seconds) {
        for (size_t at = 0; at < bytes; done++) {
            int64_t used = sw_resp_parse((const uint8_t *)text + at, bytes - at, &limits, &command);
            if (used <= 0 || command.count != 3) {
                exit_with_reason("parse", "a command is not understood");
            }
            at += (size_t)used;
        }
    }
    tell("parse", (double)done / (now() - began));
    free(text);
}

static void measure_bytes(const struct run *run)
{
    const size_t piece = run->frame * 8UL;
    const size_t pieces = MEMORY / piece > 0 ? MEMORY / piece : 1;
    uint8_t *memory = must_have("memory", aligned_alloc(64, pieces * piece));
    uint8_t *stage = must_have("memory", aligned_alloc(64, piece));
    memset(memory, 1, pieces * piece);
    memset(stage, 1, piece);
    uint64_t done = 0, sum = 0;
    double began = now();
    for (; now() - began < run->seconds; done++) {
        sum ^= sw_check64(memory + done % pieces * piece, piece, sum);
    }
    tell("check", (double)done * (double)piece / (now() - began));
    done = 0;
    began = now();
    for (; now() - began < run->seconds; done++) {
        memcpy(stage, memory + done % pieces * piece, piece);
        sum ^= stage[sum % piece];
    }
    tell("copy", (double)done * (double)piece / (now() - began));
    if (sum == 0) { /* so that it is computed */
        fprintf(stderr, "a check of zero\n");
    }
    free(stage);
    free(memory);
}

/* --- images ----------------------------------------------------------------------------------- */

/* The blocks of a snapshot, in memory. */
struct blocks {
    struct sw_snapshot_header header;
    uint64_t count, block_bytes;
    uint8_t *memory;
    uint32_t *entries;
    struct sw_restore *restore;
    uint64_t next; /* atomic */
    bool is_checked;
};

/* Reads an image as a snapshot does, with or without the blocks' checks; seconds. */
static double gather(struct run *run, struct blocks *blocks, bool seals)
{
    const struct sw_snapshot_header *header = &blocks->header;
    const uint32_t full = header->block_entries;
    struct sw_image *image = NULL;
    uint64_t total = 0;
    const double began = now();
    must("an image", sw_image_take(run->queue, false, &image));
    for (uint64_t number = 0; number < blocks->count; number++) {
        uint8_t *block = blocks->memory + number * blocks->block_bytes;
        uint8_t *columns = block + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
        must("an image",
             sw_image_read(image, full, columns,
                           columns + sw_snapshot_column_at(header, full, SW_SNAPSHOT_VALUES), NULL,
                           &blocks->entries[number]));
        if (seals && blocks->entries[number] == full) {
            (void)sw_snapshot_seal_block(header, number, full, block);
        }
        total += blocks->entries[number];
    }
    const double seconds = now() - began;
    sw_image_drop(image);
    if (total != run->entries) {
        exit_with_reason("an image", "entries are missing");
    }
    return seconds;
}

static void *restore_some(void *context)
{
    struct blocks *blocks = context;
    const struct sw_snapshot_header *header = &blocks->header;
    const uint32_t full = header->block_entries;
    uint64_t number, check;
    while ((number = __atomic_fetch_add(&blocks->next, 1, __ATOMIC_RELAXED)) < blocks->count) {
        const uint8_t *block = blocks->memory + number * blocks->block_bytes;
        const uint8_t *columns = block + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
        if (blocks->is_checked && blocks->entries[number] == full &&
            sw_snapshot_check_block(header, number, block, &check) != NULL) {
            exit_with_reason("a block", "its check does not hold");
        }
        must("restoring",
             sw_restore_add(blocks->restore, columns,
                            columns + sw_snapshot_column_at(header, full, SW_SNAPSHOT_VALUES),
                            blocks->entries[number]));
    }
    return NULL;
}

/* Engines and backends that take batches only: two at a time, from I/O memory. */
static void restore_by_batches(struct run *run, const struct blocks *blocks)
{
    const uint32_t full = blocks->header.block_entries;
    uint32_t *words[IN_FLIGHT][2];
    struct sw_batch batches[IN_FLIGHT] = {0};
    uint64_t n = 0;
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        words[i][0] = io_words(run);
        words[i][1] = io_words(run);
    }
    for (uint64_t number = 0; number < blocks->count; number++) {
        const uint8_t *columns =
            blocks->memory + number * blocks->block_bytes + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
        const uint64_t values = sw_snapshot_column_at(&blocks->header, full, SW_SNAPSHOT_VALUES);
        for (uint32_t at = 0; at < blocks->entries[number]; n++) {
            const uint32_t rest = blocks->entries[number] - at, w = n % IN_FLIGHT;
            const uint32_t some = rest < run->frame ? rest : run->frame;
            while (batches[w].count > 0 && sw_batch_poll(run->queue, &batches[w]) == SW_PENDING) {
            }
            memcpy(words[w][0], columns + at * 4UL, some * 4UL);
            memcpy(words[w][1], columns + values + at * 4UL, some * 4UL);
            batches[w] = (struct sw_batch){
                .op = SW_SET, .count = some, .keys = words[w][0], .values = words[w][1]};
            must("restoring", sw_batch_submit(run->queue, &batches[w]));
            at += some;
        }
    }
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        while (batches[(n + i) % IN_FLIGHT].count > 0 &&
               sw_batch_poll(run->queue, &batches[(n + i) % IN_FLIGHT]) == SW_PENDING) {
        }
    }
    for (uint32_t i = 0; i < IN_FLIGHT; i++) {
        io_free(run, words[i][0]);
        io_free(run, words[i][1]);
    }
}

/* Fills an empty table with the blocks, on all processors; seconds. */
static double restore(struct run *run, struct blocks *blocks, bool is_checked)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t wanted = processors < (long)THREADS_MAX ? (uint32_t)processors : THREADS_MAX;
    pthread_t threads[THREADS_MAX];
    uint32_t started = 0;
    struct sw_table_stats stats;
    create(run);
    blocks->next = 0;
    blocks->is_checked = is_checked;
    const double began = now();
    int status = sw_restore_begin(run->table, run->entries, &blocks->restore);
    if (status == SW_E_UNSUPPORTED) {
        restore_by_batches(run, blocks);
    } else {
        must("restoring", status);
        while (started + 1 < wanted &&
               pthread_create(&threads[started], NULL, restore_some, blocks) == 0) {
            started++;
        }
        (void)restore_some(blocks);
        while (started > 0) {
            pthread_join(threads[--started], NULL);
        }
        must("restoring", sw_restore_end(blocks->restore, true));
    }
    const double seconds = now() - began;
    sw_table_stats(run->table, &stats);
    if (stats.occupied != run->entries) {
        exit_with_reason("restoring", "entries are missing");
    }
    destroy(run);
    return seconds;
}

static void measure_image(struct run *run)
{
    struct blocks blocks = {.header = {.key_bytes = 4,
                                       .value_bytes = 4,
                                       .columns = SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES,
                                       .block_entries = sw_snapshot_block_entries(
                                           4, 4, SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES)}};
    create(run);
    fill(run);
    const uint32_t full = blocks.header.block_entries;
    const double bytes = (double)run->entries * 8;
    blocks.count = (run->entries + full - 1) / full;
    blocks.header.entries = run->entries;
    blocks.block_bytes = sw_snapshot_block_bytes(&blocks.header, full);
    blocks.memory = must_have("blocks", aligned_alloc(4096, blocks.count * blocks.block_bytes));
    blocks.entries = must_have("blocks", calloc(blocks.count, sizeof(*blocks.entries)));
    memset(blocks.memory, 0, blocks.count * blocks.block_bytes);
    tell("image_gather", bytes / gather(run, &blocks, false));
    tell("image_seal", bytes / gather(run, &blocks, true));
    destroy(run);
    tell("restore", (double)run->entries / restore(run, &blocks, false));
    tell("restore_checked", (double)run->entries / restore(run, &blocks, true));
    free(blocks.entries);
    free(blocks.memory);
}

/* --- the command line ------------------------------------------------------------------------- */

static bool parse_options(int argc, char **argv, struct run *run)
{
    static const struct option options[] = {{"backend", required_argument, NULL, 'b'},
                                            {"slots", required_argument, NULL, 's'},
                                            {"frame", required_argument, NULL, 'f'},
                                            {"seconds", required_argument, NULL, 't'},
                                            {0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'b') {
            run->config.backend = strcmp(optarg, "cuda") == 0  ? SW_BACKEND_CUDA
                                  : strcmp(optarg, "cpu") == 0 ? SW_BACKEND_CPU
                                                               : SW_BACKEND_AUTO;
        } else if (option == 's') {
            run->config.capacity_slots = strtoull(optarg, NULL, 10);
        } else if (option == 'f') {
            run->frame = (uint32_t)strtoul(optarg, NULL, 10);
        } else if (option == 't') {
            run->seconds = strtod(optarg, NULL);
        } else {
            return false;
        }
    }
    run->what = optind + 1 == argc ? argv[optind] : "";
    return run->frame >= 64 && run->config.capacity_slots > 0;
}

int main(int argc, char **argv)
{
    struct run run = {.frame = 262144, .seconds = 0.5};
    sw_table_config_init(&run.config);
    run.config.slot_bits = 64;
    run.config.max_load = 0.98;
    bool understood = parse_options(argc, argv, &run);
    run.config.batch_ops_max = run.frame;
    if (understood && strcmp(run.what, "table") == 0) {
        measure_table(&run);
    } else if (understood && strcmp(run.what, "parse") == 0) {
        measure_parse(&run);
    } else if (understood && strcmp(run.what, "bytes") == 0) {
        measure_bytes(&run);
    } else if (understood && strcmp(run.what, "image") == 0) {
        measure_image(&run);
    } else {
        fprintf(stderr, "usage: durability-ceilings table|parse|bytes|image [--backend B] "
                        "[--slots N] [--frame N] [--seconds S]\n");
        return 2;
    }
    return 0;
}
