/* SPDX-License-Identifier: MIT
 *
 * test_row_images.c - images and restores of tables with rows: every row once, as it was at one
 * instant, whatever is written, given back, taken again, moved or cleared meanwhile. (Threads
 * beside each other: test_image.c, which is run with rows as well.) And in which memory rows lie.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/image.h"
#include "table/restore.h"
#include "tests/support/io_memory.h"
#include "tests/support/must.h"
#include "tests/support/random.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(row_images, .timeout = 120);

#define KEYS 400U
#define OPS 300U
#define WORDS_MAX 1024U

/* A table, and what it should hold: word w of a row of seed s is s * (2 w + 1), so that sums of
 * rows are rows of sums. */
struct world {
    struct sw_table *table;
    struct sw_queue *queue;
    struct io_memory io;
    struct sw_table_info info;
    uint32_t words;
    struct random random;
    bool present[KEYS];
    uint32_t seeds[KEYS];
    uint8_t *keys, *values;
    uint8_t *ops;
};

/* 0 and all ones are among them. */
static uint64_t key_of(uint32_t number)
{
    return number == KEYS - 1 ? UINT64_MAX : number * 7919ULL;
}

static uint32_t number_of(const struct world *world, const uint8_t *key)
{
    uint64_t whole = 0;
    memcpy(&whole, key, world->info.key_bytes);
    return whole == (world->info.key_bytes == 4 ? UINT32_MAX : UINT64_MAX)
               ? KEYS - 1
               : (uint32_t)(whole / 7919);
}

static void put_row(const struct world *world, uint8_t *row, uint32_t seed)
{
    for (uint32_t w = 0; w < world->words; w++) {
        const uint32_t word = seed * (2 * w + 1);
        memcpy(row + w * sizeof(word), &word, sizeof(word));
    }
}

static void open_world(struct world *world, uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config config;
    memset(world, 0, sizeof(*world));
    sw_table_config_init(&config);
    config.backend = tested_backend();
    config.slot_bits = slot_bits;
    config.capacity_slots = 256;
    config.max_capacity_slots = 1024;
    config.batch_ops_max = KEYS;
    config.stash_slots = 16;
    config.threads = 2;
    config.value_bytes = value_bytes;
    tested_place(&config);
    world->table = must_create(&config);
    world->queue = must_queue(world->table);
    world->io.table = world->table;
    sw_table_info(world->table, &world->info);
    world->words = value_bytes / 4;
    world->random = random_of(slot_bits + value_bytes);
    world->keys = io_array(&world->io, (size_t)KEYS * world->info.key_bytes);
    world->values = io_array(&world->io, (size_t)KEYS * value_bytes);
    world->ops = io_array(&world->io, OPS);
}

static void close_world(struct world *world)
{
    must_check(world->table);
    io_free(&world->io);
    sw_queue_destroy(world->queue);
    sw_table_destroy(world->table);
}

/* What an operation makes of the model. */
static void apply(struct world *world, enum sw_op op, uint32_t key, uint32_t seed)
{
    const bool was = world->present[key];
    if (op == SW_DELETE) {
        world->present[key] = false;
    } else if (op == SW_ADD_U32) {
        world->seeds[key] = (was ? world->seeds[key] : 0) + seed;
        world->present[key] = true;
    } else if (op == SW_SET || (op == SW_SET_PRESENT) == was) {
        world->seeds[key] = seed;
        world->present[key] = true;
    }
}

static void write_some(struct world *world)
{
    static const enum sw_op ops[] = {SW_SET,         SW_SET,    SW_SET_ABSENT,
                                     SW_SET_PRESENT, SW_DELETE, SW_ADD_U32};
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS);
    const bool only_deletes = random_below(&world->random, 6) == 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t key = (uint32_t)random_below(&world->random, KEYS);
        const uint32_t seed = (uint32_t)random_next(&world->random);
        const uint64_t whole = key_of(key);
        const enum sw_op op = only_deletes ? SW_DELETE : ops[random_below(&world->random, 6)];
        world->ops[i] = (uint8_t)op;
        memcpy(world->keys + (size_t)i * world->info.key_bytes, &whole, world->info.key_bytes);
        put_row(world, world->values + (size_t)i * world->info.value_bytes, seed);
        apply(world, op, key, seed);
    }
    struct sw_batch batch = {
        .ops = world->ops, .count = count, .keys = world->keys, .values = world->values};
    must_run(world->queue, &batch);
}

/* One of what may happen to a table beside an image. */
static void disturb(struct world *world)
{
    const uint64_t what = random_below(&world->random, 12);
    if (what == 0) {
        must_clear(world->queue);
        memset(world->present, 0, sizeof(world->present));
    } else if (what < 4) {
        must_resize(world->queue, 64 + random_below(&world->random, 900));
    } else {
        write_some(world);
    }
    must_check(world->table);
}

/* Reads an image, in pieces of any size, of a table that is `model` at its instant; the table goes
 * on meanwhile if `goes_on`. Gives up after some pieces if `drops`. */
static void read_image(struct world *world, struct sw_image *image, const struct world *model,
                       bool goes_on, bool drops)
{
    static uint8_t keys[KEYS * 8], values[(size_t)KEYS * WORDS_MAX * 4], want[WORDS_MAX * 4];
    uint8_t seen[KEYS] = {0};
    uint32_t got, piece, total = 0, present = 0;
    do {
        for (uint64_t n = goes_on ? random_below(&world->random, 3) : 0; n > 0; n--) {
            disturb(world);
        }
        piece = 1 + (uint32_t)random_below(&world->random, KEYS);
        cr_assert_eq(sw_image_read(image, piece, keys, values, NULL, &got), SW_OK);
        for (uint32_t i = 0; i < got; i++) {
            const uint32_t key = number_of(world, keys + (size_t)i * world->info.key_bytes);
            cr_assert_lt(key, KEYS);
            cr_assert(model->present[key], "key %u was absent", key);
            cr_assert_eq(seen[key]++, 0, "key %u twice", key);
            put_row(world, want, model->seeds[key]);
            cr_assert_eq(
                memcmp(values + (size_t)i * world->info.value_bytes, want, world->info.value_bytes),
                0, "the row of key %u is another one", key);
        }
        total += got;
    } while (got == piece && !(drops && random_below(&world->random, 3) == 0));
    for (uint32_t key = 0; key < KEYS; key++) {
        present += model->present[key];
    }
    cr_assert(drops || total == present, "%u entries of %u", total, present);
    cr_assert_leq(total, present);
}

/* Beside an image that is read: of what is copied beforehand there may be several. */
static void take_second(struct world *world)
{
    struct sw_image *second = NULL;
    const int expected = tested_backend() == SW_BACKEND_CPU ? SW_E_BUSY : SW_OK;
    cr_assert_eq(sw_image_take(world->queue, false, &second), expected);
    sw_image_drop(second);
}

static void histories(uint32_t slot_bits, uint32_t value_bytes)
{
    static struct world world, model;
    open_world(&world, slot_bits, value_bytes);
    for (uint32_t round = 0; round < 25; round += tested_share()) {
        struct sw_image *image = NULL;
        for (uint64_t n = random_below(&world.random, 4); n > 0; n--) {
            disturb(&world);
        }
        model = world;
        const bool borrow = random_below(&world.random, 8) == 0;
        cr_assert_eq(sw_image_take(world.queue, borrow, &image), SW_OK);
        if (!borrow && random_below(&world.random, 4) == 0) {
            take_second(&world);
        }
        read_image(&world, image, &model, !borrow, random_below(&world.random, 5) == 0);
        sw_image_drop(image);
    }
    close_world(&world);
}

Test(row_images, hold_every_row_of_one_instant)
{
    tested_with_rows(histories);
}

/* A table that has grown, and then is cleared, has left arrays and rows at different times. */
Test(row_images, outlive_growth_and_clear)
{
    static struct world world, model;
    open_world(&world, 128, 60);
    struct sw_image *image = NULL;
    write_some(&world);
    model = world;
    cr_assert_eq(sw_image_take(world.queue, false, &image), SW_OK);
    must_resize(world.queue, 900);
    take_second(&world);
    must_clear(world.queue);
    memset(world.present, 0, sizeof(world.present));
    for (int i = 0; i < 10; i++) {
        write_some(&world);
    }
    read_image(&world, image, &model, false, false);
    sw_image_drop(image);
    model = world;
    cr_assert_eq(sw_image_take(world.queue, false, &image), SW_OK);
    read_image(&world, image, &model, false, false);
    sw_image_drop(image);
    close_world(&world);
}

/* --- restores --------------------------------------------------------------------------------- */

/* Adds the present entries of the model, in pieces. */
static void restore_model(struct world *to, const struct world *model, bool keep, int status)
{
    struct sw_restore *restore = NULL;
    uint32_t present = 0, at = 0;
    for (uint32_t key = 0; key < KEYS; key++) {
        if (model->present[key]) {
            const uint64_t whole = key_of(key);
            memcpy(to->keys + (size_t)present * to->info.key_bytes, &whole, to->info.key_bytes);
            put_row(to, to->values + (size_t)present++ * to->info.value_bytes, model->seeds[key]);
        }
    }
    cr_assert_eq(sw_restore_begin(to->table, present + 1, &restore), SW_OK);
    while (at < present) {
        uint32_t piece = 1 + (uint32_t)random_below(&to->random, present - at);
        cr_assert_eq(sw_restore_add(restore, to->keys + (size_t)at * to->info.key_bytes,
                                    to->values + (size_t)at * to->info.value_bytes, piece),
                     SW_OK);
        at += piece;
    }
    if (status == SW_E_INVALID) {
        cr_assert_eq(sw_restore_add(restore, to->keys, to->values, 1), SW_OK);
    }
    if (status == SW_E_FULL) { /* more entries than free rows: refused before the arrays are read */
        sw_table_info(to->table, &to->info);
        cr_assert_eq(sw_restore_add(restore, to->keys, to->values, (uint32_t)to->info.rows_mapped),
                     SW_OK);
    }
    cr_assert_eq(sw_restore_end(restore, keep), status);
    if (keep && status == SW_OK) {
        memcpy(to->present, model->present, sizeof(to->present));
        memcpy(to->seeds, model->seeds, sizeof(to->seeds));
    }
}

static void restored(uint32_t slot_bits, uint32_t value_bytes)
{
    static struct world from, to, model;
    open_world(&from, slot_bits, value_bytes);
    open_world(&to, slot_bits, value_bytes);
    struct sw_restore *none = NULL;
    struct sw_image *image = NULL;
    for (int i = 0; i < 4; i++) {
        write_some(&from);
    }
    from.present[KEYS - 1] = true; /* the one without a slot is among them */
    from.seeds[KEYS - 1] = 7;
    write_some(&to); /* rows have been given back */
    must_clear(to.queue);
    memset(to.present, 0, sizeof(to.present));
    restore_model(&to, &from, false, SW_OK);
    restore_model(&to, &from, true, SW_E_INVALID);
    restore_model(&to, &from, true, SW_E_FULL);
    restore_model(&to, &from, true, SW_OK);
    cr_assert_eq(sw_restore_begin(to.table, 1, &none), SW_E_UNSUPPORTED, "it is not empty");
    for (int i = 0; i < 3; i++) {
        must_check(to.table);
        model = to;
        cr_assert_eq(sw_image_take(to.queue, false, &image), SW_OK);
        read_image(&to, image, &model, false, false);
        sw_image_drop(image);
        write_some(&to);
    }
    close_world(&from);
    close_world(&to);
}

Test(row_images, are_restored)
{
    if (tested_backend() == SW_BACKEND_CUDA) {
        cr_skip_test("there entries are restored by batches");
    }
    for (int i = 0; i < TESTED_ROW_SIZES; i++) {
        restored(64, tested_row_sizes[i]);
        restored(128, tested_row_sizes[i]);
    }
}

/* On CUDA rows fill what the GPU is to have, and then memory of the host. Where it has room for all
 * of them, all are there. */
Test(row_images, fill_the_gpu_first)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, 128);
    struct fixture fixture;
    config.value_bytes = 60;
    if (config.backend != SW_BACKEND_CUDA) {
        cr_skip_test("the CPU backend has all rows in one memory");
    }
    config.capacity_slots = 64;
    config.max_capacity_slots = 1 << 13;
    config.batch_ops_max = 512;
    config.rows_in = SW_ROWS_IN_GPU_HOST;
    config.rows_gpu_bytes = 64 * 1500;
    fixture_open(&fixture, &config);
    cr_assert_eq(fixture.info.row_bytes_host, 0);
    fixture_insert_range(&fixture, 0, 6000);
    sw_table_info(fixture.table, &fixture.info);
    cr_assert_eq(fixture.info.row_bytes_gpu, 64 * 1500);
    cr_assert_geq(fixture.info.row_bytes_host, 64 * (6000 - 1500));
    fixture_end(&fixture);
    config.rows_gpu_bytes = 0;
    fixture_open(&fixture, &config);
    fixture_insert_range(&fixture, 0, 6000);
    sw_table_info(fixture.table, &fixture.info);
    cr_assert_geq(fixture.info.row_bytes_gpu, 64 * 6000);
    cr_assert_eq(fixture.info.row_bytes_host, 0);
    fixture_close(&fixture);
}
