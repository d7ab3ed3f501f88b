/* SPDX-License-Identifier: MIT
 *
 * test_restore.c - a table that is filled as a whole is the one that batches give.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/restore.h"
#include "tests/support/must.h"
#include "tests/support/tested.h"
#include "tests/support/threads.h"

#define THREADS 4U
#define PIECE 1000U

struct shape {
    uint32_t slot_bits;
    uint64_t capacity, max_capacity, stash;
    double load;
    uint32_t max_probe;
};

static struct sw_table *create(const struct shape *shape)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.slot_bits = shape->slot_bits;
    config.capacity_slots = shape->capacity;
    config.max_capacity_slots = shape->max_capacity;
    config.max_load = shape->load;
    config.max_probe = shape->max_probe;
    config.stash_slots = shape->stash;
    config.batch_ops_max = 1U << 16;
    config.threads = 2;
    struct sw_table *table = must_create(&config);
    return table;
}

/* Keys and values of entries [0, count), all ones among the keys, in arrays of the table's width.
 */
static void *numbers(uint32_t key_bytes, uint64_t count, bool values)
{
    uint8_t *out = malloc(count * key_bytes);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = values ? 3 * i + 1 : i == count / 2 ? UINT64_MAX : i * 2654435761U;
        memcpy(out + i * key_bytes, &number, key_bytes);
    }
    return out;
}

struct adding {
    struct sw_restore *restore;
    const uint8_t *keys, *values;
    uint32_t key_bytes;
    uint64_t count;
    uint64_t next; /* atomic */
};

static void *add_pieces(void *context)
{
    struct adding *adding = context;
    for (;;) {
        uint64_t at = __atomic_fetch_add(&adding->next, PIECE, __ATOMIC_RELAXED);
        if (at >= adding->count) {
            return NULL;
        }
        uint64_t left = adding->count - at;
        cr_assert_eq(sw_restore_add(adding->restore, adding->keys + at * adding->key_bytes,
                                    adding->values + at * adding->key_bytes,
                                    (uint32_t)(left < PIECE ? left : PIECE)),
                     SW_OK);
    }
}

static void set_all(struct sw_table *table, void *keys, void *values, uint32_t key_bytes,
                    uint64_t count)
{
    uint64_t left_keys[100], left_values[100];
    const struct sw_table_info info = table_info(table);
    struct sw_queue *queue = must_queue(table);
    for (uint64_t at = 0; at < count; at += 1U << 16) {
        struct sw_batch batch = {.op = SW_SET,
                                 .count = (uint32_t)(count - at < 1U << 16 ? count - at : 1U << 16),
                                 .keys = (uint8_t *)keys + at * key_bytes,
                                 .values = (uint8_t *)values + at * key_bytes};
        if (info.stash_slots == 0) { /* few enough that each has room */
            cr_assert_leq(batch.count, 100);
            batch.leftover_keys = left_keys;
            batch.leftover_values = left_values;
        }
        must_run(queue, &batch);
    }
    sw_queue_destroy(queue);
}

/* Sorts the slots of each bucket: their order has no meaning. */
static int compare_words(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}
static int compare_half_words(const void *a, const void *b)
{
    return memcmp(a, b, 8);
}
static uint8_t *buckets_of(struct sw_table *table, uint32_t slot_bytes)
{
    const struct sw_table_info info = table_info(table);
    size_t bytes = sw_table_raw_bytes(table);
    uint8_t *slots = malloc(bytes);
    cr_assert_eq(sw_table_raw_copy(table, slots), SW_OK);
    for (size_t at = 0; at < bytes; at += (size_t)slot_bytes * info.bucket_slots) {
        qsort(slots + at, info.bucket_slots, slot_bytes,
              slot_bytes == 16 ? compare_words : compare_half_words);
    }
    return slots;
}

static void check_shape(const struct shape *shape, uint64_t count)
{
    const uint32_t key_bytes = shape->slot_bits / 16;
    struct sw_table *restored = create(shape), *batched = create(shape);
    void *keys = numbers(key_bytes, count, false), *values = numbers(key_bytes, count, true);
    struct adding adding = {.keys = keys, .values = values, .key_bytes = key_bytes, .count = count};
    struct sw_table_stats stats;
    cr_assert_eq(sw_restore_begin(restored, count, &adding.restore), SW_OK);
    threads_run(THREADS, add_pieces, &adding, 0);
    cr_assert_eq(sw_restore_end(adding.restore, true), SW_OK);
    must_check(restored);
    sw_table_stats(restored, &stats);
    cr_assert_eq(stats.occupied, count);
    cr_assert_eq(stats.counters.inserted, count);
    set_all(batched, keys, values, key_bytes, count);
    cr_assert_eq(sw_table_raw_bytes(restored), sw_table_raw_bytes(batched), "as large");
    uint8_t *a = buckets_of(restored, shape->slot_bits / 8);
    uint8_t *b = buckets_of(batched, shape->slot_bits / 8);
    cr_assert_eq(memcmp(a, b, sw_table_raw_bytes(restored)), 0, "bucket by bucket");
    set_all(restored, keys, values, key_bytes, count);
    sw_table_stats(restored, &stats);
    cr_assert_eq(stats.occupied, count, "each key is found");
    free(a);
    free(b);
    free(keys);
    free(values);
    sw_table_destroy(restored);
    sw_table_destroy(batched);
}

Test(restore, gives_the_table_that_batches_give)
{
    for (uint32_t bits = 64; bits <= 128; bits *= 2) {
        uint64_t slots = (1ULL << 24) / bits; /* two parts */
        if (tested_now(bits / 128 * 2, 4)) {
            check_shape(&(struct shape){bits, slots, 0, 4096, 0.85, 0}, slots * 80 / 100);
        }
        if (tested_now(bits / 128 * 2 + 1, 4)) {
            check_shape(&(struct shape){bits, slots, 0, 4096, 0.98, 0}, slots * 97 / 100);
        }
        check_shape(&(struct shape){bits, 4096, 0, 64, 0.5, 0}, 2000); /* one part */
        check_shape(&(struct shape){bits, 64, 0, 4, 0.9, 0}, 2);
    }
    /* some meet the cap */
    check_shape(&(struct shape){64, 1 << 18, 0, 1 << 14, 0.95, 8}, 249000);
}

/* The table is empty, and works, afterwards. */
static void check_refused(struct sw_table *table, uint64_t count, int status)
{
    struct sw_table_stats stats;
    struct sw_restore *restore = NULL;
    const struct sw_table_info info = table_info(table);
    void *keys = numbers(info.key_bytes, count, false);
    cr_assert_eq(sw_restore_begin(table, count, &restore), SW_OK);
    cr_assert_eq(sw_restore_add(restore, keys, keys, (uint32_t)count), SW_OK);
    if (status == SW_E_INVALID) {
        cr_assert_eq(sw_restore_add(restore, keys, keys, 1), SW_OK);
    }
    cr_assert_eq(sw_restore_end(restore, status != SW_OK), status);
    sw_table_stats(table, &stats);
    cr_assert_eq(stats.occupied, 0);
    set_all(table, keys, keys, info.key_bytes, 100);
    sw_table_stats(table, &stats);
    cr_assert_eq(stats.occupied, 100);
    free(keys);
}

Test(restore, leaves_nothing_of_what_is_not_kept_or_wrong)
{
    struct sw_table *table = create(&(struct shape){64, 1 << 16, 0, 64, 0.9, 0});
    check_refused(table, 1000, SW_OK);
    struct sw_restore *restore = (struct sw_restore *)16;
    cr_assert_eq(sw_restore_begin(table, 1, &restore), SW_E_UNSUPPORTED, "it is not empty");
    cr_assert_null(restore);
    sw_table_destroy(table);
    table = create(&(struct shape){128, 1 << 16, 0, 64, 0.9, 0});
    check_refused(table, 30000, SW_E_INVALID);
    sw_table_destroy(table);
    table = create(&(struct shape){64, 1 << 12, 0, 0, 0.9, 2}); /* no stash, a low cap */
    check_refused(table, 3500, SW_E_FULL);
    cr_assert_eq(sw_restore_begin(table, 1 << 12, &restore), SW_E_UNSUPPORTED);
    sw_table_destroy(table);
    table = create(&(struct shape){64, 1 << 12, 0, 64, 0.9, 0});
    cr_assert_eq(sw_restore_begin(table, 1 << 12, &restore), SW_E_FULL, "more than it may hold");
    sw_table_destroy(table);
}

Test(restore, grows_a_table_that_may)
{
    struct shape shape = {64, 1 << 12, 1 << 18, 64, 0.9, 0};
    struct sw_table *table = create(&shape);
    struct adding adding = {.keys = numbers(4, 100000, false), .key_bytes = 4, .count = 100000};
    adding.values = adding.keys;
    cr_assert_eq(sw_restore_begin(table, adding.count, &adding.restore), SW_OK);
    threads_run(THREADS, add_pieces, &adding, 0);
    cr_assert_eq(sw_restore_end(adding.restore, true), SW_OK);
    const struct sw_table_info info = table_info(table);
    cr_assert_geq(info.capacity_slots, 100000);
    cr_assert_eq(sw_table_check(table, NULL, 0), SW_OK);
    free((void *)(uintptr_t)adding.keys);
    sw_table_destroy(table);
}
