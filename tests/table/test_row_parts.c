/* SPDX-License-Identifier: MIT
 *
 * test_row_parts.c - SETRANGE and CAS on rows of bytes and of strings, in batches that repeat keys
 * and mix them with other writes, beside a model that works byte by byte.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/ops/range_apply.h"
#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(row_parts, .timeout = 120);

enum { KEYS = 7, OPS = 300, ROW_MAX = 256, HEAD = 4 };

struct world {
    struct fixture fixture;
    struct random random;
    uint32_t value_bytes, text_bytes, rows_max;
    bool strings;
    bool present[KEYS];
    uint8_t rows[KEYS][ROW_MAX];
    uint32_t *ranges;
    uint8_t *expected;
};

/* The bytes of a value, without its length and the key string. */
static uint32_t room_of(const struct world *world)
{
    return world->value_bytes - world->text_bytes - (world->strings ? HEAD : 0);
}

static uint8_t *operand_at(const struct world *world, uint32_t i)
{
    return (uint8_t *)world->fixture.values + (size_t)i * world->value_bytes;
}

static uint32_t op_at(const struct sw_batch *batch, uint32_t i)
{
    return batch->ops == NULL ? (uint32_t)batch->op : batch->ops[i];
}

static bool inserts(uint32_t op)
{
    return op == SW_SET || op == SW_SET_ABSENT || op == SW_SETRANGE || op == SW_APPEND ||
           op == SW_OR;
}

/* --- the model -------------------------------------------------------------------------------- */

static void model_append(struct world *world, uint8_t *row, const uint8_t *operand)
{
    if (row[0] + operand[0] <= room_of(world)) {
        memcpy(row + HEAD + row[0], operand + HEAD, operand[0]);
        row[0] = (uint8_t)(row[0] + operand[0]);
    }
}

static void model_set_range(const struct world *world, uint8_t *row, const uint8_t *operand,
                            uint32_t range)
{
    const uint32_t offset = range >> 15 & 0xffff, size = range & 0x7fff;
    for (uint32_t b = 0; b < size; b++) {
        row[(world->strings ? HEAD : 0) + offset + b] = operand[b];
    }
    if (world->strings && row[0] < offset + size) {
        row[0] = (uint8_t)(offset + size);
    }
}

/* Applies operation i. */
static void apply(struct world *world, const struct sw_batch *batch, uint32_t i)
{
    const uint64_t key = fixture_load(&world->fixture, batch->keys, i);
    const uint32_t op = op_at(batch, i), text_at = world->value_bytes - world->text_bytes;
    const uint8_t *operand = operand_at(world, i);
    uint8_t *row = world->rows[key];
    const bool was = world->present[key];
    if (op == SW_GET || (op == SW_SET_ABSENT && was) || (op == SW_SET_PRESENT && !was) ||
        (op == SW_CAS && !was)) {
        return;
    }
    world->present[key] = op != SW_DELETE;
    if (op == SW_DELETE || !was) {
        memset(row, 0, ROW_MAX);
    }
    if (op == SW_SETRANGE) {
        model_set_range(world, row, operand, batch->ranges[i]);
    } else if (op == SW_APPEND) {
        model_append(world, row, operand);
    } else if (op == SW_OR) {
        for (uint32_t b = 0; b < text_at; b++) {
            row[b] |= operand[b];
        }
    } else if (op == SW_CAS) {
        const uint8_t *expected = world->expected + (size_t)i * world->value_bytes;
        const uint32_t bytes = world->strings ? (uint32_t)HEAD + expected[0] : text_at;
        bool is_met = true;
        for (uint32_t b = 0; b < bytes; b++) {
            is_met = is_met && row[b] == expected[b];
        }
        if (is_met) {
            memcpy(row, operand, text_at);
        }
    } else if (op != SW_DELETE) {
        memcpy(row, operand, text_at);
    }
    if (op != SW_DELETE) {
        memcpy(row + text_at, operand + text_at, world->text_bytes);
    }
}

/* Decides which groups a table of rows_max rows refuses. Presence depends on no value. */
static bool is_refused(const struct world *world, const struct sw_batch *batch, uint32_t begin,
                       uint32_t end)
{
    bool present[KEYS];
    memcpy(present, world->present, sizeof(present));
    for (uint32_t i = begin; i < end; i++) {
        const uint64_t key = fixture_load(&world->fixture, batch->keys, i);
        const uint32_t op = op_at(batch, i);
        uint32_t rows = 0;
        for (uint32_t k = 0; k < KEYS; k++) {
            rows += present[k];
        }
        if (!present[key] && inserts(op) && rows == world->rows_max) {
            return true;
        }
        present[key] = op != SW_DELETE && (present[key] || inserts(op));
    }
    return false;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void draw_operand(struct world *world, struct sw_batch *batch, uint32_t i, uint64_t key)
{
    uint8_t *operand = operand_at(world, i);
    struct random *random = &world->random;
    const uint32_t room = room_of(world), op = op_at(batch, i);
    const uint32_t offset = (uint32_t)random_below(random, room);
    const uint32_t size = (uint32_t)random_below(random, room - offset + 1);
    memset(operand, 0, world->value_bytes);
    for (uint32_t b = 0; b < room; b++) {
        operand[b] = (uint8_t)(1 + random_below(random, 255));
    }
    if (world->strings && op != SW_SETRANGE) {
        const uint32_t length = (uint32_t)random_below(random, room / 4 + 1);
        memset(operand, 0, world->value_bytes);
        operand[0] = (uint8_t)length;
        memset(operand + HEAD, 'a' + (int)(i % 26), length);
    }
    world->ranges[i] = op == SW_SETRANGE ? sw_range_of(offset, size, world->strings) : (uint32_t)-1;
    if (world->text_bytes > 0) {
        uint8_t *name = operand + world->value_bytes - world->text_bytes;
        memset(name, 0, world->text_bytes);
        name[0] = 4;
        memset(name + 2, 'a' + (int)key, 3);
    }
}

/* Draws the row that a CAS expects: that of its key before the batch, or what the operation before
 * it wrote if that was a SET. The bytes behind the end of a string differ. */
static void draw_expected(struct world *world, struct sw_batch *batch, uint32_t i, uint64_t key)
{
    uint8_t *expected = world->expected + (size_t)i * world->value_bytes;
    const uint32_t room = room_of(world) + (world->strings ? HEAD : 0);
    memcpy(expected, world->rows[key], room);
    if (i > 0 && op_at(batch, i - 1) != SW_SETRANGE && random_below(&world->random, 2) == 0) {
        memcpy(expected, operand_at(world, i - 1), room);
    }
    if (world->strings) {
        memset(expected + HEAD + expected[0], 0xee, room - HEAD - expected[0]);
    }
    if (op_at(batch, i) == SW_CAS) {
        world->ranges[i] = world->strings ? (uint32_t)HEAD + expected[0] : room;
    }
}

static uint8_t draw_op(struct world *world, bool deletes)
{
    const uint8_t change = world->strings ? SW_APPEND : SW_OR;
    const uint8_t ops[] = {SW_GET,      SW_SET, SW_SET_ABSENT, SW_SET_PRESENT, SW_SETRANGE,
                           SW_SETRANGE, SW_CAS, change,        SW_CAS,         SW_DELETE};
    return ops[random_below(&world->random, sizeof(ops) - !deletes)];
}

static void draw_batch(struct world *world, struct sw_batch *batch)
{
    struct fixture *fixture = &world->fixture;
    struct random *random = &world->random;
    const uint64_t keys = 1 + random_below(random, KEYS);
    const bool deletes = random_below(random, 2) == 0, answers = random_below(random, 4) > 0;
    const bool is_uniform = random_below(random, 3) == 0;
    *batch = (struct sw_batch){.kind = SW_BATCH_OPERATIONS,
                               .op = !is_uniform                    ? SW_GET
                                     : random_below(random, 2) == 0 ? SW_SETRANGE
                                                                    : SW_CAS,
                               .ops = is_uniform ? NULL : fixture->ops,
                               .count = 1 + (uint32_t)random_below(random, OPS),
                               .keys = fixture->keys,
                               .values = fixture->values,
                               .ranges = world->ranges,
                               .expected = world->expected,
                               .previous = answers ? fixture->previous : NULL,
                               .found = fixture->found,
                               .group_ends = fixture->group_ends,
                               .group_refused = fixture->group_refused};
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint64_t key = random_below(random, keys);
        fixture->ops[i] = draw_op(world, deletes);
        fixture_store(fixture, fixture->keys, i, key);
        draw_operand(world, batch, i, key);
        draw_expected(world, batch, i, key);
        if (i + 1 == batch->count || random_below(random, 20) == 0) {
            fixture->group_ends[batch->group_count++] = i + 1;
        }
    }
}

static void run_batch(struct world *world)
{
    struct sw_batch batch;
    bool any = false;
    draw_batch(world, &batch);
    const int status = sw_batch_run(world->fixture.queue, &batch);
    for (uint32_t g = 0, i = 0; g < batch.group_count; g++) {
        const bool refused = is_refused(world, &batch, i, batch.group_ends[g]);
        cr_assert_eq(batch.group_refused[g], refused, "group %u", g);
        any = any || refused;
        for (; i < batch.group_ends[g]; i++) { /* a refused group has no answers */
            const uint64_t key = fixture_load(&world->fixture, batch.keys, i);
            const uint8_t *row = (const uint8_t *)batch.previous + (size_t)i * world->value_bytes;
            const bool was = world->present[key];
            cr_assert(refused || (batch.found[i / 64] >> (i % 64) & 1) == was, "operation %u", i);
            cr_assert(refused || !was || batch.previous == NULL ||
                          memcmp(row, world->rows[key], world->value_bytes) == 0,
                      "the row before operation %u (op %u)", i, op_at(&batch, i));
            if (!refused) {
                apply(world, &batch, i);
            }
        }
    }
    cr_assert_eq(status, any ? SW_E_FULL : SW_OK);
}

static void check_rows(struct world *world)
{
    struct fixture *fixture = &world->fixture;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_GET,
                             .count = KEYS,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .previous = fixture->previous,
                             .found = fixture->found};
    memset(fixture->values, 0, KEYS * (size_t)world->value_bytes);
    for (uint32_t k = 0; k < KEYS; k++) {
        fixture_store(fixture, fixture->keys, k, k);
    }
    must_run(fixture->queue, &batch);
    for (uint32_t k = 0; k < KEYS; k++) {
        const uint8_t *row = (const uint8_t *)fixture->previous + (size_t)k * world->value_bytes;
        cr_assert_eq(fixture->found[0] >> k & 1, world->present[k], "key %u", k);
        cr_assert(!world->present[k] || memcmp(row, world->rows[k], world->value_bytes) == 0,
                  "the row of key %u", k);
    }
    must_check(fixture->table);
}

static struct sw_table_config config_of(uint32_t slot_bits, uint32_t value_bytes,
                                        uint32_t text_bytes)
{
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    config.value_bytes = value_bytes;
    config.key_text_bytes = text_bytes;
    config.batch_ops_max = OPS;
    tested_place(&config);
    return config;
}

static void run_world(uint32_t slot_bits, uint32_t value_bytes, uint32_t text_bytes, bool strings,
                      uint32_t rows_max)
{
    static struct world world;
    struct sw_table_config config = config_of(slot_bits, value_bytes, text_bytes);
    memset(&world, 0, sizeof(world));
    config.rows_max = rows_max < KEYS ? rows_max : 0;
    world.value_bytes = value_bytes;
    world.text_bytes = text_bytes;
    world.strings = strings;
    world.rows_max = rows_max;
    world.random = random_of(slot_bits + value_bytes + text_bytes + strings);
    fixture_open(&world.fixture, &config);
    world.ranges = sw_io_alloc(world.fixture.table, OPS * sizeof(*world.ranges));
    world.expected = sw_io_alloc(world.fixture.table, OPS * (size_t)value_bytes);
    cr_assert(world.ranges != NULL && world.expected != NULL);
    for (uint32_t step = 0; step < 40; step += tested_share()) {
        run_batch(&world);
        check_rows(&world);
    }
    sw_io_free(world.fixture.table, world.ranges, OPS * sizeof(*world.ranges));
    sw_io_free(world.fixture.table, world.expected, OPS * (size_t)value_bytes);
    fixture_close(&world.fixture);
}

Test(row_parts, of_bytes)
{
    run_world(64, 4, 0, false, KEYS);
    run_world(128, 8, 0, false, KEYS);
    run_world(128, 20, 0, false, KEYS);
    run_world(64, 160, 0, false, KEYS);
}

Test(row_parts, of_strings)
{
    run_world(64, 8, 0, true, KEYS);
    run_world(128, 24, 0, true, KEYS);
    run_world(128, 164, 0, true, KEYS);
}

Test(row_parts, of_groups_that_are_refused)
{
    run_world(64, 12, 0, false, 3);
    run_world(128, 64, 0, true, 4);
}

Test(row_parts, with_the_texts_of_keys)
{
    run_world(128, 12 + 8, 8, false, KEYS);
    run_world(128, 16 + 16, 16, true, KEYS);
}

/* A batch whose part ends outside of the row, or that has no parts, is not valid. */
Test(row_parts, outside_of_a_row)
{
    struct fixture fixture;
    const struct sw_table_config config = config_of(128, 12, 0);
    fixture_open(&fixture, &config);
    uint32_t *range = sw_io_alloc(fixture.table, sizeof(*range));
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_SETRANGE,
                             .count = 1,
                             .keys = fixture.keys,
                             .values = fixture.values,
                             .found = fixture.found};
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_E_INVALID);
    batch.ranges = range;
    *range = sw_range_of(4, 9, false);
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_E_INVALID);
    *range = sw_range_of(4, 5, true);
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_E_INVALID);
    *range = sw_range_of(4, 8, false);
    must_run(fixture.queue, &batch);
    sw_io_free(fixture.table, range, sizeof(*range));
    fixture_close(&fixture);
}

/* The same of a CAS without expected rows, or that compares more than a row. */
Test(row_parts, more_than_a_row)
{
    struct fixture fixture;
    const struct sw_table_config config = config_of(128, 12, 0);
    fixture_open(&fixture, &config);
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = SW_CAS,
                             .count = 1,
                             .keys = fixture.keys,
                             .values = fixture.values,
                             .ranges = fixture.ranges,
                             .found = fixture.found};
    fixture.ranges[0] = 12;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_E_INVALID);
    batch.expected = fixture.compared;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_OK);
    fixture.ranges[0] = 13;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_E_INVALID);
    batch.ranges = NULL;
    cr_assert_eq(sw_batch_run(fixture.queue, &batch), SW_E_INVALID);
    fixture_close(&fixture);
}
