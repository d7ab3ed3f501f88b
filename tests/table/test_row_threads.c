/* SPDX-License-Identifier: MIT
 *
 * test_row_threads.c - batches of rows that are carried out by several threads, or on CUDA, give
 * what one thread gives: answers, refusals, contents and every bit of a sum, also where rows are
 * given back and taken again within a batch.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

TestSuite(row_threads, .timeout = 120);

/* Bytes of a batch's rows. Several threads take part if at least 1 MiB is not written to fresh
 * rows. */
#define BYTES (tested_share() == 1 || tested_backend() == SW_BACKEND_CPU ? 4U << 20 : 64U << 10)

struct side {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    uint8_t *previous;
    uint64_t *found;
    uint8_t *refused;
};

struct both {
    struct side sides[2]; /* of one thread; of several, or on CUDA */
    uint32_t key_bytes, value_bytes, ops_max;
    uint8_t *keys, *values, *ops;
    uint32_t *group_ends;
    struct random random;
};

static size_t found_bytes(const struct both *both)
{
    return ((size_t)both->ops_max / 64 + 1) * sizeof(uint64_t);
}

static void open_both(struct both *both, uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config;
    sw_table_config_init(&config);
    config.slot_bits = slot_bits;
    config.value_bytes = value_bytes;
    both->ops_max = BYTES / value_bytes;
    config.capacity_slots = 256;
    config.max_capacity_slots = 1 << 16;
    config.rows_max = both->ops_max / 2 > 60 ? both->ops_max / 2 : 60;
    config.batch_ops_max = both->ops_max;
    config.stash_slots = 64;
    both->key_bytes = slot_bits / 16;
    both->value_bytes = value_bytes;
    both->random = random_of(slot_bits + value_bytes);
    for (int i = 0; i < 2; i++) {
        struct side *side = &both->sides[i];
        config.threads = i == 0 ? 1 : 3;
        config.backend = i == 0 ? SW_BACKEND_CPU : tested_backend();
        side->table = must_create(&config);
        side->queue = must_queue(side->table);
        side->io = (struct io_memory){.table = side->table};
        side->previous = io_array(&side->io, (size_t)both->ops_max * value_bytes);
        side->found = io_array(&side->io, found_bytes(both));
        side->refused = io_array(&side->io, both->ops_max);
    }
    struct io_memory *io = &both->sides[1].io; /* memory of its table serves both */
    both->keys = io_array(io, (size_t)both->ops_max * both->key_bytes);
    both->values = io_array(io, (size_t)both->ops_max * value_bytes);
    both->ops = io_array(io, both->ops_max);
    both->group_ends = io_array(io, both->ops_max * sizeof(uint32_t));
}

static void close_both(struct both *both)
{
    for (int i = 0; i < 2; i++) {
        io_free(&both->sides[i].io);
        sw_queue_destroy(both->sides[i].queue);
        sw_table_destroy(both->sides[i].table);
    }
}

/* Draws a batch, of few keys or many; returns how many operations it has. */
static uint32_t draw(struct both *both, uint32_t *groups)
{
    static const enum sw_op ops[] = {
        SW_SET, SW_SET,        SW_ADD_F32,     SW_ADD_F32,         SW_DELETE,
        SW_GET, SW_SET_ABSENT, SW_SET_PRESENT, SW_ADD_PRESENT_F32, SW_ADD_PRESENT_U32};
    const uint32_t count =
        both->ops_max / 2 + (uint32_t)random_below(&both->random, both->ops_max / 2);
    const uint64_t keys = random_below(&both->random, 2) == 0 ? 8 : both->ops_max;
    const uint64_t kinds = 1 + random_below(&both->random, sizeof(ops) / sizeof(ops[0]));
    *groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = random_below(&both->random, keys);
        memcpy(both->keys + (size_t)i * both->key_bytes, &key, both->key_bytes);
        both->ops[i] = (uint8_t)ops[random_below(&both->random, kinds)];
        for (uint32_t w = 0; w < both->value_bytes / 4; w++) {
            const float number = (float)random_next(&both->random) / 1e12F;
            memcpy(both->values + (size_t)i * both->value_bytes + 4 * (size_t)w, &number,
                   sizeof(number));
        }
        if (i + 1 == count || random_below(&both->random, 3) == 0) {
            both->group_ends[(*groups)++] = i + 1;
        }
    }
    return count;
}

/* The contents in order of the scan, which is that of m: both have one seed. */
static uint8_t *contents_of(const struct both *both, const struct side *side, uint32_t *got)
{
    const size_t value_bytes = both->value_bytes, key_bytes = both->key_bytes;
    struct io_memory io = {.table = side->table};
    uint8_t *all = malloc((size_t)both->ops_max * value_bytes);
    uint8_t *values = io_array(&io, both->ops_max * value_bytes);
    uint8_t *keys = io_array(&io, both->ops_max * key_bytes);
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = both->ops_max, /* no fewer than there are keys */
                            .scan.keys = keys,
                            .scan.values = values};
    *got = 0;
    do {
        must_run(side->queue, &scan);
        memcpy(all + *got * value_bytes, values, scan.scan.got * value_bytes);
        *got += scan.scan.got;
    } while (scan.scan.cursor != 0);
    io_free(&io);
    return all;
}

static void compare(struct both *both, uint32_t count, uint32_t groups, bool answers)
{
    const struct side *one = &both->sides[0], *several = &both->sides[1];
    uint32_t group = 0, entries[2];
    cr_assert_eq(memcmp(one->refused, several->refused, groups), 0, "refusals");
    for (uint32_t i = 0; i < count; i++) {
        group += i == both->group_ends[group];
        const size_t at = (size_t)i * both->value_bytes;
        cr_assert(one->refused[group] ||
                  (one->found[i / 64] >> i % 64 & 1) == (several->found[i / 64] >> i % 64 & 1));
        cr_assert(!answers || one->refused[group] ||
                      memcmp(one->previous + at, several->previous + at, both->value_bytes) == 0,
                  "operation %u answered another row", i);
    }
    uint8_t *a = contents_of(both, one, &entries[0]);
    uint8_t *b = contents_of(both, several, &entries[1]);
    cr_assert_eq(entries[0], entries[1]);
    cr_assert_eq(memcmp(a, b, (size_t)entries[0] * both->value_bytes), 0, "contents");
    free(a);
    free(b);
    must_check(several->table);
}

static void histories(uint32_t slot_bits, uint32_t value_bytes)
{
    struct both both;
    open_both(&both, slot_bits, value_bytes);
    for (int step = 0; step < 8; step++) {
        uint32_t groups = 0;
        const uint32_t count = draw(&both, &groups);
        const bool answers = random_below(&both.random, 2) == 0;
        int status[2];
        for (int i = 0; i < 2; i++) {
            struct side *side = &both.sides[i];
            struct sw_batch batch = {.ops = both.ops,
                                     .count = count,
                                     .keys = both.keys,
                                     .values = both.values,
                                     .previous = answers ? side->previous : NULL,
                                     .found = side->found,
                                     .group_count = groups,
                                     .group_ends = both.group_ends,
                                     .group_refused = side->refused};
            status[i] = sw_batch_run(side->queue, &batch);
        }
        cr_assert_eq(status[0], status[1]);
        compare(&both, count, groups, answers);
    }
    close_both(&both);
}

Test(row_threads, give_what_one_thread_gives)
{
    for (int i = 0; i < TESTED_ROW_SIZES; i++) {
        if (tested_row_sizes[i] >= 60 && tested_now((uint32_t)i, TESTED_ROW_SIZES)) {
            histories(64, tested_row_sizes[i]);
            histories(128, tested_row_sizes[i]);
        }
    }
}
