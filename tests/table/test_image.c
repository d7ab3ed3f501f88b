/* SPDX-License-Identifier: MIT
 *
 * test_image.c - images of tables: everything once, as it was at one instant, whatever goes on.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "table/image.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/tested.h"

TestSuite(image, .timeout = 120);

/* Keys of one batch: many on a device, few if the CPU carries out its kernels. */
static uint32_t keys_count(void)
{
    return tested_backend() == SW_BACKEND_CPU ? 5000 : tested_share() > 1 ? 500 : 100000;
}
#define KEYS keys_count()
#define CAPACITY (KEYS * 16ULL / 5)
#define IMAGES (tested_share() > 1 || are_rows() ? 4 : 20)

/* Then the other engines are left out: they are tested where values are no rows. */
static bool are_rows(void)
{
    return tested_engine() == SW_ENGINE_ROBIN_HOOD && tested_value_bytes() > 0;
}

static struct sw_table *create(enum sw_engine engine, uint32_t slot_bits)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.engine = engine;
    config.slot_bits = slot_bits;
    config.capacity_slots = CAPACITY;
    config.batch_ops_max = KEYS;
    config.stash_slots = 64;
    config.threads = 2;
    config.value_bytes = slot_bits == 64 ? 24 : 100;
    if (engine != SW_ENGINE_CACHE) {
        config.value_bytes = engine == tested_engine() ? tested_value_bytes() : 0;
    }
    return must_create(&config);
}

/* Keys of a table of either width: 0 and all ones are among them. */
static uint64_t key_of(uint32_t number)
{
    return number == KEYS - 1 ? UINT64_MAX : number * 7919ULL;
}

struct writer {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct io_memory io;
    uint8_t *keys;
    uint8_t *values;
};

static void open_writer(struct writer *writer, struct sw_table *table)
{
    writer->table = table;
    writer->info = table_info(table);
    writer->io = (struct io_memory){.table = table};
    writer->queue = must_queue(table);
    writer->keys = io_array(&writer->io, (size_t)KEYS * writer->info.key_bytes);
    writer->values = io_array(&writer->io, (size_t)KEYS * writer->info.value_bytes);
    for (uint32_t i = 0; i < KEYS; i++) {
        uint64_t key = key_of(i);
        memcpy(writer->keys + (size_t)i * writer->info.key_bytes, &key, writer->info.key_bytes);
    }
}

static void close_writer(struct writer *writer)
{
    io_free(&writer->io);
    sw_queue_destroy(writer->queue);
}

/* Sets every word of a value, or of a row, to `value`. */
static void fill(uint8_t *row, uint32_t bytes, uint32_t value)
{
    for (uint32_t at = 0; at < bytes; at += sizeof(value)) {
        memcpy(row + at, &value, sizeof(value));
    }
}

/* Sets every key to `value`, in one batch. Returns its write_sequence. */
static uint64_t set_all(struct writer *writer, uint32_t value)
{
    const uint32_t bytes = writer->info.value_bytes, count = KEYS;
    fill(writer->values, bytes, value);
    for (uint32_t i = 1; i < count; i++) {
        memcpy(writer->values + (size_t)i * bytes, writer->values, bytes);
    }
    struct sw_batch batch = {
        .op = SW_SET, .count = count, .keys = writer->keys, .values = writer->values};
    must_run(writer->queue, &batch);
    return batch.write_sequence;
}

/* Reads the image in pieces of `piece` entries: each key must be there once, with `value` (0: that
 * of the first). Returns the value. */
static uint32_t check_image(struct writer *writer, struct sw_image *image, uint32_t piece,
                            uint32_t value)
{
    const struct sw_table_info *info = &writer->info;
    const uint32_t count = KEYS;
    uint8_t *seen = calloc(count, 1);
    uint8_t *row = malloc(info->value_bytes);
    uint8_t *keys = malloc((size_t)piece * info->key_bytes);
    uint8_t *values = malloc((size_t)piece * info->value_bytes);
    uint32_t total = 0, got = piece;
    fill(row, info->value_bytes, value);
    while (got == piece) {
        cr_assert_eq(sw_image_read(image, piece, keys, values, NULL, &got), SW_OK);
        if (value == 0 && got > 0) {
            memcpy(&value, values, sizeof(value));
            fill(row, info->value_bytes, value);
        }
        for (uint32_t i = 0; i < got; i++) {
            uint64_t key = 0;
            memcpy(&key, keys + (size_t)i * info->key_bytes, info->key_bytes);
            cr_assert_eq(memcmp(values + (size_t)i * info->value_bytes, row, info->value_bytes), 0,
                         "one instant");
            bool is_last = key == (info->key_bytes == 4 ? UINT32_MAX : UINT64_MAX);
            uint64_t number = is_last ? count - 1 : key / 7919;
            cr_assert_lt(number, count);
            cr_assert_eq(key % 7919, is_last ? key % 7919 : 0);
            seen[number]++;
        }
        total += got;
        cr_assert_leq(total, count);
    }
    cr_assert_eq(total, count);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(seen[i], 1, "key %u", i);
    }
    free(seen);
    free(row);
    free(keys);
    free(values);
    return value;
}

static void check_engine(enum sw_engine engine, uint32_t slot_bits)
{
    struct sw_image *image = NULL, *own = NULL;
    struct writer writer;
    struct sw_table *table = create(engine, slot_bits);
    open_writer(&writer, table);
    sw_table_set_sequence(table, 41);
    cr_assert_eq(set_all(&writer, 1), 42, "numbers go on from what was restored");
    cr_assert_eq(sw_image_take(writer.queue, false, &image), SW_OK);
    cr_assert_eq(sw_image_sequence(image), 42);
    cr_assert_gt(sw_image_bytes(table), 0);
    cr_assert_eq(set_all(&writer, 2), 43, "an image takes no number");
    check_image(&writer, image, 777, 1);
    sw_image_drop(image);
    cr_assert_eq(sw_image_take(writer.queue, true, &own), SW_OK);
    check_image(&writer, own, 64, 2);
    sw_image_drop(own);
    must_clear(writer.queue);
    cr_assert_eq(sw_image_take(writer.queue, false, &image), SW_OK);
    uint32_t got = 1;
    cr_assert_eq(sw_image_read(image, 8, writer.keys, writer.values, NULL, &got), SW_OK);
    cr_assert_eq(got, 0, "of an empty table");
    sw_image_drop(image);
    close_writer(&writer);
    sw_table_destroy(table);
}

Test(image, holds_what_was_written_before_and_nothing_after)
{
    const int last = are_rows() ? SW_ENGINE_ROBIN_HOOD : SW_ENGINE_CACHE;
    for (int engine = SW_ENGINE_ROBIN_HOOD; engine <= last; engine++) {
        check_engine((enum sw_engine)engine, 64);
        check_engine((enum sw_engine)engine, 128);
    }
}

/* Writes, and moves the table, while images are taken. */
struct busy {
    struct writer writer;
    bool stop; /* atomic */
};

static void *write_on(void *context)
{
    struct busy *busy = context;
    for (uint32_t value = 2; !__atomic_load_n(&busy->stop, __ATOMIC_RELAXED); value++) {
        cr_assert_eq(set_all(&busy->writer, value), value);
        struct sw_batch resize = {.kind = SW_BATCH_RESIZE,
                                  .capacity = value % 4 == 0 ? CAPACITY / 2 : CAPACITY};
        if (value % 2 == 0 && (busy->writer.info.batch_kinds >> SW_BATCH_RESIZE & 1) != 0) {
            must_run(busy->writer.queue, &resize);
            value++;
        }
    }
    return NULL;
}

static void check_beside_writes(enum sw_engine engine, uint32_t slot_bits)
{
    struct busy busy = {.stop = false};
    pthread_t thread;
    struct sw_table *table = create(engine, slot_bits);
    open_writer(&busy.writer, table);
    struct sw_queue *queue = must_queue(table);
    cr_assert_eq(set_all(&busy.writer, 1), 1);
    cr_assert_eq(pthread_create(&thread, NULL, write_on, &busy), 0);
    for (int i = 0; i < IMAGES; i++) {
        struct sw_image *image = NULL;
        cr_assert_eq(sw_image_take(queue, false, &image), SW_OK);
        uint64_t sequence = sw_image_sequence(image);
        uint64_t value = check_image(&busy.writer, image, 1000, 0);
        cr_assert(value == sequence || value + 1 == sequence, "value %llu of sequence %llu",
                  (unsigned long long)value, (unsigned long long)sequence);
        sw_image_drop(image);
    }
    __atomic_store_n(&busy.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    sw_queue_destroy(queue);
    close_writer(&busy.writer);
    sw_table_destroy(table);
}

Test(image, is_of_one_instant_beside_writes_and_resizes)
{
    const uint32_t cases = are_rows() ? 2 : 2 * 3;
    for (uint32_t i = 0; i < cases; i++) {
        if (tested_now(i, cases)) {
            check_beside_writes((enum sw_engine)(i / 2), i % 2 == 0 ? 64 : 128);
        }
    }
}

/* Scores of each policy go to another cache as they are, and later uses are later than these. */
static void check_scores(enum sw_cache_policy policy)
{
    struct sw_table_config config;
    struct sw_table *tables[2] = {NULL, NULL};
    struct sw_queue *queues[2] = {NULL, NULL};
    struct sw_image *image = NULL;
    uint32_t got = 0;
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.engine = SW_ENGINE_CACHE;
    config.capacity_slots = 1024;
    config.batch_ops_max = 64;
    config.value_bytes = 8;
    config.cache_policy = policy;
    for (int i = 0; i < 2; i++) {
        config.seed = (uint64_t)i;
        tables[i] = must_create(&config);
        queues[i] = must_queue(tables[i]);
    }
    uint64_t *keys = sw_io_alloc(tables[0], 32 * sizeof(*keys));
    uint64_t *values = keys + 8, *scores = keys + 16, *again = keys + 24;
    struct sw_batch epoch = {.kind = SW_BATCH_EPOCH, .epoch = 7};
    for (int i = 0; i < 2 && sw_cache_has_epochs(policy); i++) {
        must_run(queues[i], &epoch);
    }
    for (uint64_t i = 0; i < 8; i++) {
        keys[0] = values[0] = i;
        struct sw_batch set = {.op = SW_SET, .count = 1, .keys = keys, .values = values};
        for (uint64_t times = 0; times <= i % 3; times++) {
            must_run(queues[0], &set);
        }
    }
    cr_assert_eq(sw_image_take(queues[0], false, &image), SW_OK);
    cr_assert_eq(sw_image_epoch(image), sw_cache_has_epochs(policy) ? 7 : 0);
    cr_assert_eq(sw_image_read(image, 8, keys, values, scores, &got), SW_OK);
    cr_assert_eq(got, 8);
    sw_image_drop(image);
    struct sw_batch restore = {.op = SW_SET,
                               .count = 8,
                               .keys = keys,
                               .values = values,
                               .scores = scores,
                               .restores = true};
    must_run(queues[1], &restore);
    struct sw_batch peek = {.op = SW_PEEK, .count = 8, .keys = keys, .scores_out = again};
    must_run(queues[1], &peek);
    cr_assert_eq(memcmp(scores, again, 8 * sizeof(*scores)), 0, "policy %d", (int)policy);
    if (policy == SW_CACHE_LRU || policy == SW_CACHE_EPOCH_LRU) {
        struct sw_batch use = {.op = SW_GET, .count = 1, .keys = keys, .scores_out = again};
        must_run(queues[1], &use);
        for (int i = 0; i < 8; i++) {
            cr_assert_gt(again[0], scores[i], "a use is later than what was restored");
        }
    }
    restore.op = SW_GET;
    cr_assert_eq(sw_batch_submit(queues[1], &restore), SW_E_INVALID);
    sw_io_free(tables[0], keys, 32 * sizeof(*keys));
    for (int i = 0; i < 2; i++) {
        sw_queue_destroy(queues[i]);
        sw_table_destroy(tables[i]);
    }
}

Test(image, scores_are_restored_under_every_policy)
{
    for (int policy = SW_CACHE_LRU; policy <= SW_CACHE_CUSTOM; policy++) {
        check_scores((enum sw_cache_policy)policy);
    }
}

/* An image of robin_hood on the CPU reads the table's arrays, which a growth may be about to
 * replace. A table has at most one such image. */
Test(image, keeps_the_arrays_that_its_table_leaves)
{
    struct sw_image *image = NULL, *second = NULL;
    struct writer writer;
    struct sw_table *table = create(SW_ENGINE_ROBIN_HOOD, 64);
    const bool shares = tested_backend() == SW_BACKEND_CPU;
    open_writer(&writer, table);
    for (uint32_t value = 1; value < 7; value += 2) {
        set_all(&writer, value);
        cr_assert_eq(sw_image_take(writer.queue, false, &image), SW_OK);
        cr_assert_eq(sw_image_take(writer.queue, false, &second), shares ? SW_E_BUSY : SW_OK);
        cr_assert_eq(second == NULL, shares);
        sw_image_drop(second);
        if (value == 5) { /* deleted one by one */
            struct sw_batch erase = {.op = SW_DELETE, .count = KEYS, .keys = writer.keys};
            must_run(writer.queue, &erase);
        } else if (value == 1) {
            must_clear(writer.queue);
        } else {
            must_resize(writer.queue, CAPACITY / 2);
        }
        set_all(&writer, value + 1);
        check_image(&writer, image, 500, value);
        sw_image_drop(image);
    }
    cr_assert_eq(sw_image_take(writer.queue, false, &image), SW_OK);
    set_all(&writer, 9);
    sw_image_drop(image); /* unread, with copies */
    must_check(table);
    close_writer(&writer);
    sw_table_destroy(table);
}

/* Sets keys [first, first + count) and lets them expire at `at`; 0: never. */
static void set_until(struct writer *writer, uint32_t first, uint32_t count, uint64_t at)
{
    struct sw_batch batch = {.op = SW_SET,
                             .count = count,
                             .keys = writer->keys + (size_t)first * writer->info.key_bytes,
                             .values = writer->values,
                             .expire_at = at,
                             .clock_ms = 1000};
    must_run(writer->queue, &batch);
}

/* Counts the entries of an image that expire at `at`. */
static uint32_t count_until(struct writer *writer, struct sw_image *image, uint64_t at)
{
    uint64_t expires[64];
    uint32_t got = 64, count = 0;
    while (got == 64) {
        cr_assert_eq(sw_image_read(image, 64, writer->keys, writer->values, expires, &got), SW_OK);
        for (uint32_t i = 0; i < got; i++) {
            count += expires[i] == at;
        }
    }
    return count;
}

/* The table grows between two images, so its arrays are left to the first image. The times did not
 * move: they still belong to the first image, and a second one must not take them over. */
Test(image, keeps_its_times_beside_a_second_image)
{
    enum { TIMED = 64 };
    for (int drops = 0; drops < 2; drops++) {
        struct sw_table_config config;
        struct sw_image *first = NULL, *second = NULL;
        struct writer writer;
        sw_table_config_init(&config);
        config.backend = tested_backend();
        config.slot_bits = 128;
        config.value_bytes = tested_value_bytes();
        config.capacity_slots = 128;
        config.max_capacity_slots = CAPACITY;
        config.batch_ops_max = KEYS;
        struct sw_table *table = must_create(&config);
        open_writer(&writer, table);
        set_until(&writer, 0, TIMED, 5000000);
        cr_assert_eq(sw_image_take(writer.queue, false, &first), SW_OK);
        set_until(&writer, TIMED, KEYS - TIMED, 0); /* grows */
        const int status = sw_image_take(writer.queue, false, &second);
        cr_assert(status == SW_OK || status == SW_E_BUSY, "%s", sw_status_text(status));
        if (drops == 1) {
            sw_image_drop(second);
            second = NULL;
            set_until(&writer, TIMED, KEYS - TIMED, 9000000); /* the times grow */
        }
        set_until(&writer, 0, TIMED / 2, 0);
        set_until(&writer, TIMED / 2, TIMED / 2, 9000000);
        cr_assert_eq(count_until(&writer, first, 5000000), TIMED, "every time as it was");
        if (second != NULL) {
            cr_assert_eq(count_until(&writer, second, 5000000), TIMED, "also of the second image");
        }
        sw_image_drop(first);
        sw_image_drop(second);
        cr_assert_eq(sw_image_take(writer.queue, false, &first), SW_OK, "once both are dropped");
        sw_image_drop(first);
        close_writer(&writer);
        sw_table_destroy(table);
    }
}

Test(image, is_no_batch_of_users)
{
    struct sw_image *image = (struct sw_image *)16;
    struct sw_batch batch = {.kind = SW_BATCH_IMAGE};
    struct writer writer;
    struct sw_table *table = create(SW_ENGINE_ROBIN_HOOD, 64);
    open_writer(&writer, table);
    cr_assert_eq(sw_batch_submit(writer.queue, &batch), SW_E_INVALID, "only sw_image_take may");
    cr_assert_eq(sw_image_take(writer.queue, false, &image), SW_OK);
    sw_image_drop(image);
    sw_image_drop(NULL);
    close_writer(&writer);
    sw_table_destroy(table);
}
