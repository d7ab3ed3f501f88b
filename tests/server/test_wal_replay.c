/* SPDX-License-Identifier: MIT
 *
 * test_wal_replay.c - what batches did to a table is in the log: replaying it makes the same table,
 * bucket by bucket, as often as it is done.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/batch/logging.h"
#include "server/log/recover.h"
#include "tests/proto/wal_image.h"
#include "tests/support/must.h"
#include "tests/support/ops.h"
#include "tests/support/random.h"

enum { OPS_MAX = 300, CAPACITY = 4096 };

struct sample {
    struct random random;
    uint32_t slot_bits;
    uint32_t width;
    char path[64];
    struct sw_directory directory;
    struct sw_wal *wal;
    struct sw_table *table;
    struct sw_queue *queue;
    uint8_t *memory; /* I/O memory: keys, values, operations, group ends, refusals */
    uint64_t refused, cleared;
};

static struct sw_table *make_table(uint32_t slot_bits)
{
    struct sw_table_config config = cpu_config(CAPACITY, OPS_MAX);
    config.slot_bits = slot_bits;
    config.seed = 7;
    return must_create(&config);
}

static void no_wake(void *context)
{
    (void)context;
}

/* Makes a table of what the directory holds. A log begins behind it if `wal` is not NULL. */
static struct sw_table *recovered(struct sample *s, struct sw_wal *wal)
{
    char reason[SW_WAL_REASON_BYTES] = "";
    struct sw_table *table = make_table(s->slot_bits);
    const struct sw_recover how = {.directory = &s->directory,
                                   .table = table,
                                   .shape = {s->width, s->width, SW_ENGINE_ROBIN_HOOD, 0},
                                   .wal = wal};
    cr_assert_eq(sw_recover(&how, reason), 0, "%s", reason);
    return table;
}

static void begin(struct sample *s, uint32_t slot_bits)
{
    char reason[SW_WAL_REASON_BYTES] = "";
    memset(s, 0, sizeof(*s));
    s->random = random_of(slot_bits);
    s->slot_bits = slot_bits;
    s->width = slot_bits / 16;
    strcpy(s->path, "/tmp/sherwood-replay-XXXXXX");
    cr_assert_not_null(mkdtemp(s->path));
    cr_assert_eq(sw_directory_open(&s->directory, sw_io_system(), s->path, reason, sizeof(reason)),
                 0);
}

static void start(struct sample *s)
{
    const struct sw_wal_config config = {
        .level = SW_WAL_ALWAYS,
        .segment_bytes = 1 << 16,
        .backlog_bytes = 1 << 24,
        .columns_bytes_max = OPS_MAX * 17 + 192,
        .shape = {s->width, s->width, SW_ENGINE_ROBIN_HOOD, 0},
        .wake = no_wake,
    };
    s->wal = sw_wal_create(&config);
    cr_assert_not_null(s->wal);
    s->table = recovered(s, s->wal);
    s->queue = must_queue(s->table);
    s->memory = sw_io_alloc(s->table, 5ULL * OPS_MAX * 8 + 320);
}

static void stop(struct sample *s)
{
    sw_io_free(s->table, s->memory, 5ULL * OPS_MAX * 8 + 320);
    sw_queue_destroy(s->queue);
    cr_assert_eq(sw_wal_close(s->wal), 0);
    sw_wal_destroy(s->wal);
}

/* Hands a batch that is done to the log, and waits until its memory may be used again. */
static void log_it(struct sample *s, struct sw_batch *batch, bool copies)
{
    cr_assert(sw_logging_hand_in(s->wal, batch, (struct sw_logged_widths){s->width, s->width, 0, 0},
                                 copies, NULL));
    while (!copies && sw_wal_answerable(s->wal) < batch->write_sequence) {
        usleep(20);
    }
}

/* A batch of random operations: one operation and one group as a frame has, or many of both as a
 * round has. The keys are few, so that all operations find some, and many enough to fill the
 * table. */
static void run_random(struct sample *s, bool round)
{
    uint8_t *keys = s->memory, *values = keys + OPS_MAX * 8 + 64, *ops = values + OPS_MAX * 8 + 64;
    uint32_t *ends = (uint32_t *)(void *)(ops + OPS_MAX * 8 + 64);
    uint8_t *refused = (uint8_t *)ends + OPS_MAX * 8 + 64;
    uint32_t count = 1 + (uint32_t)random_below(&s->random, OPS_MAX - 1), groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = random_below(&s->random, CAPACITY * 3 / 2), value = random_next(&s->random);
        memcpy(keys + (size_t)i * s->width, &key, s->width);
        memcpy(values + (size_t)i * s->width, &value, s->width);
        ops[i] = (uint8_t)ops_draw(&s->random, SW_OPS_INTEGERS);
        if (random_below(&s->random, 4) == 0 || i + 1 == count) {
            ends[groups++] = i + 1;
        }
    }
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = (enum sw_op)ops_draw(&s->random, SW_OPS_INTEGERS & ~SW_OPS_READ),
                             .count = count,
                             .keys = keys,
                             .values = values};
    if (round) {
        batch.ops = ops;
        batch.group_count = groups;
        batch.group_ends = ends;
        batch.group_refused = refused;
    }
    int status = sw_batch_run(s->queue, &batch);
    cr_assert(status == SW_OK || status == SW_E_FULL);
    s->refused += status == SW_E_FULL;
    if (batch.write_sequence != 0) {
        log_it(s, &batch, round);
    }
}

static void run_clear(struct sample *s)
{
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    cr_assert_eq(sw_batch_run(s->queue, &batch), SW_OK);
    log_it(s, &batch, false);
    s->cleared++;
}

static int narrow_order(const void *left, const void *right)
{
    return memcmp(left, right, 8);
}

static int wide_order(const void *left, const void *right)
{
    return memcmp(left, right, 16);
}

/* All slots of a table, of each bucket and of the stash in one order: which entries a bucket holds
 * is what is canonical. */
static uint8_t *slots_of(const struct sample *s, struct sw_table *table, size_t *bytes)
{
    struct sw_table_info info;
    sw_table_info(table, &info);
    int (*order)(const void *, const void *) = s->slot_bits == 64 ? narrow_order : wide_order;
    size_t slot = s->slot_bits / 8, bucket = info.bucket_slots * slot;
    size_t main_bytes = (info.buckets + info.max_probe) * bucket;
    *bytes = sw_table_raw_bytes(table);
    uint8_t *slots = malloc(*bytes);
    cr_assert_eq(sw_table_raw_copy(table, slots), SW_OK);
    cr_assert_leq(main_bytes, *bytes);
    for (size_t at = 0; at < main_bytes; at += bucket) {
        qsort(slots + at, info.bucket_slots, slot, order);
    }
    qsort(slots + main_bytes, (*bytes - main_bytes) / slot, slot, order);
    return slots;
}

static void assert_same(const struct sample *s, struct sw_table *a, struct sw_table *b)
{
    size_t left_bytes, right_bytes;
    uint8_t *left = slots_of(s, a, &left_bytes), *right = slots_of(s, b, &right_bytes);
    cr_assert_eq(left_bytes, right_bytes);
    cr_assert_eq(memcmp(left, right, left_bytes), 0, "a bucket holds other entries");
    free(left);
    free(right);
}

static void check_width(uint32_t slot_bits)
{
    struct sample s;
    begin(&s, slot_bits);
    for (int life = 0; life < 4; life++) {
        start(&s);
        uint64_t batches = 100 + random_below(&s.random, 100);
        for (uint64_t i = 0; i < batches; i++) {
            run_random(&s, random_below(&s.random, 2) == 0);
            if (random_below(&s.random, 300) == 0) {
                run_clear(&s);
            }
        }
        stop(&s);
        struct sw_table *once = recovered(&s, NULL), *twice = recovered(&s, NULL);
        assert_same(&s, s.table, once);
        assert_same(&s, once, twice);
        sw_table_destroy(once);
        sw_table_destroy(twice);
        sw_table_destroy(s.table);
    }
    cr_assert_gt(s.refused, 0, "no group was refused");
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", s.path);
    sw_directory_close(&s.directory);
    cr_assert_eq(system(command), 0);
}

Test(wal_replay, the_same_table_of_u64_bucket_by_bucket)
{
    check_width(128);
}

Test(wal_replay, the_same_table_of_u32_bucket_by_bucket)
{
    check_width(64);
}

/* Sets 100 keys from `first` on and logs the batch. Returns its status. */
static int set_100(struct sample *s, uint64_t first)
{
    uint64_t *keys = (uint64_t *)(void *)s->memory;
    for (uint64_t k = 0; k < 100; k++) {
        keys[k] = keys[128 + k] = first + k;
    }
    struct sw_batch batch = {.op = SW_SET, .count = 100, .keys = keys, .values = keys + 128};
    const int status = sw_batch_run(s->queue, &batch);
    log_it(s, &batch, false);
    return status;
}

static void count_call(void *count)
{
    (*(int *)count)++;
}

/* A long replay reports its progress, so that the service manager keeps waiting. */
Test(wal_replay, who_replays_hears_of_every_segment)
{
    struct sample s;
    char reason[SW_WAL_REASON_BYTES] = "";
    int calls = 0;
    begin(&s, 128);
    start(&s);
    for (uint64_t i = 0; i < 100; i++) {
        cr_assert_eq(set_100(&s, i), SW_OK);
    }
    stop(&s);
    sw_table_destroy(s.table);
    struct sw_table *table = make_table(s.slot_bits);
    const struct sw_recover how = {.directory = &s.directory,
                                   .table = table,
                                   .shape = {8, 8, SW_ENGINE_ROBIN_HOOD, 0},
                                   .owner = {NULL, count_call, &calls}};
    cr_assert_eq(sw_recover(&how, reason), 0, "%s", reason);
    cr_assert_geq(calls, 100 * 1600 / (1 << 16));
    sw_table_destroy(table);
    sw_directory_close(&s.directory);
}

/* A smaller table than the log needs says so, and does not serve half of it. */
Test(wal_replay, a_table_that_is_too_small)
{
    struct sample s;
    char reason[SW_WAL_REASON_BYTES] = "";
    begin(&s, 128);
    start(&s);
    for (uint64_t i = 0; i < 40; i++) {
        cr_assert(set_100(&s, i * 100) == SW_OK || i > 30);
    }
    stop(&s);
    sw_table_destroy(s.table);
    const struct sw_table_config config = cpu_config(1024, OPS_MAX);
    struct sw_table *small = must_create(&config);
    const struct sw_recover how = {
        .directory = &s.directory, .table = small, .shape = {8, 8, SW_ENGINE_ROBIN_HOOD, 0}};
    cr_assert_eq(sw_recover(&how, reason), -1);
    cr_assert_not_null(strstr(reason, "start with a larger --max-capacity"), "%s", reason);
    sw_table_destroy(small);
    sw_directory_close(&s.directory);
}

/* The check of a record says that it is what a writer wrote, not that the writer was right. */
Test(wal_replay, a_record_shorter_than_its_operations)
{
    static struct image image;
    struct sample s;
    char name[SW_WAL_NAME_BYTES], path[sizeof(s.path) + SW_WAL_NAME_BYTES];
    char reason[SW_WAL_REASON_BYTES] = "";
    begin(&s, 128);
    begin_segment(&image, 1, 1, 0);
    put_write(&image, 3, 0);
    put_short(&image, SW_WAL_OPERATIONS, SW_WAL_FIRST_TABLE, 4 * SEGMENT_BYTES);
    sw_wal_name(1, name);
    snprintf(path, sizeof(path), "%s/%s", s.path, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(image.bytes, 1, SEGMENT_BYTES, file), SEGMENT_BYTES);
    fclose(file);
    struct sw_table *table = make_table(s.slot_bits);
    const struct sw_recover how = {
        .directory = &s.directory, .table = table, .shape = {8, 8, SW_ENGINE_ROBIN_HOOD, 0}};
    cr_assert_eq(sw_recover(&how, reason), -1);
    cr_assert_not_null(strstr(reason, "record 2 of the log is shorter than its operations need"),
                       "%s", reason);
    sw_table_destroy(table);
    sw_directory_close(&s.directory);
}
