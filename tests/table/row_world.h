/* SPDX-License-Identifier: MIT
 *
 * row_world.h - a table of a few rows and its model, byte by byte, for random batches that repeat
 * keys: test_rows.c, test_row_numbers.c, test_row_parts.c, test_row_strings.c, test_row_sums.c.
 *
 * A test draws a batch, runs it, and compares each answer with the model before it applies the
 * operation to the model. Threads: one.
 */
#ifndef SHERWOOD_TESTS_TABLE_ROW_WORLD_H
#define SHERWOOD_TESTS_TABLE_ROW_WORLD_H

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

enum { KEYS = 7, OPS = 300, ROW_MAX = 4096, STEPS = 40 };

static inline float float_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static inline uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

struct row_world {
    struct fixture fixture;
    struct random random;
    uint32_t value_bytes, text_bytes; /* of a row, and of the key string at its end */
    uint32_t rows_max;                /* 0: no limit */
    bool strings;                     /* a value is a string: for the test's own use */
    bool present[KEYS];
    uint8_t rows[KEYS][ROW_MAX]; /* of absent keys: zeros */
};

static inline void row_world_open(struct row_world *world, uint32_t slot_bits, uint32_t value_bytes,
                                  uint32_t text_bytes, uint32_t rows_max)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    memset(world, 0, sizeof(*world));
    config.value_bytes = world->value_bytes = value_bytes;
    config.key_text_bytes = world->text_bytes = text_bytes;
    config.rows_max = world->rows_max = rows_max;
    config.batch_ops_max = OPS;
    tested_place(&config);
    world->random = random_of(slot_bits + value_bytes + text_bytes);
    fixture_open(&world->fixture, &config);
}

static inline uint8_t *row_world_operand(const struct row_world *world, uint32_t i)
{
    return (uint8_t *)world->fixture.values + (size_t)i * world->value_bytes;
}

static inline uint64_t row_world_key(const struct row_world *world, uint32_t i)
{
    return fixture_load(&world->fixture, world->fixture.keys, i);
}

static inline uint32_t row_world_op(const struct sw_batch *batch, uint32_t i)
{
    return batch->ops == NULL ? (uint32_t)batch->op : batch->ops[i];
}

/* Writes the key string of a key behind a value, if rows have them. */
static inline void row_world_name(const struct row_world *world, uint8_t *row, uint64_t key)
{
    if (world->text_bytes > 0) {
        uint8_t *name = row + world->value_bytes - world->text_bytes;
        memset(name, 0, world->text_bytes);
        name[0] = 4;
        memset(name + 2, 'a' + (int)key, 3);
    }
}

/* Returns a batch of random keys. Of three batches one has operation `one` alone, and of four one
 * requests no rows. The caller draws the other operations into fixture.ops, and the operands. */
static inline struct sw_batch row_world_batch(struct row_world *world, uint32_t one)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch =
        fixture_batch(fixture, (enum sw_op)one, 1 + (uint32_t)random_below(&world->random, OPS));
    const uint64_t keys = 1 + random_below(&world->random, KEYS);
    batch.ops = random_below(&world->random, 3) == 0 ? NULL : fixture->ops;
    batch.previous = random_below(&world->random, 4) == 0 ? NULL : fixture->previous;
    for (uint32_t i = 0; i < batch.count; i++) {
        fixture_store(fixture, fixture->keys, i, random_below(&world->random, keys));
    }
    return batch;
}

/* Compares an answer of the batch with the model, before the model applies its operation. */
static inline void row_world_answer(const struct row_world *world, const struct sw_batch *batch,
                                    uint32_t i)
{
    const uint64_t key = row_world_key(world, i);
    cr_assert_eq(batch->found[i / 64] >> (i % 64) & 1, world->present[key], "operation %u", i);
    if (batch->previous != NULL) {
        cr_assert_arr_eq((const uint8_t *)batch->previous + (size_t)i * world->value_bytes,
                         world->rows[key], world->value_bytes, "operation %u (op %u) on key %u", i,
                         row_world_op(batch, i), (unsigned)key);
    }
}

/* Compares all rows with the model. */
static inline void row_world_check(struct row_world *world)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch = fixture_batch(fixture, SW_GET, KEYS);
    memset(fixture->values, 0, KEYS * (size_t)world->value_bytes); /* no key strings */
    for (uint32_t k = 0; k < KEYS; k++) {
        fixture_store(fixture, fixture->keys, k, k);
    }
    must_run(fixture->queue, &batch);
    for (uint32_t k = 0; k < KEYS; k++) {
        row_world_answer(world, &batch, k);
    }
    must_check(fixture->table);
}

#endif
