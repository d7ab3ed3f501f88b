/* SPDX-License-Identifier: MIT
 *
 * test_row_parts.c - SETRANGE and CAS on rows of bytes and of strings, in batches that repeat keys
 * and mix them with other writes, beside a model that works byte by byte.
 */
#include "proto/ops/range_apply.h"
#include "tests/table/row_world.h"

TestSuite(row_parts, .timeout = 120);

enum { HEAD = 4 };

/* The bytes of a value, without its length and the key string. */
static uint32_t room_of(const struct row_world *world)
{
    return world->value_bytes - world->text_bytes - (world->strings ? HEAD : 0);
}

static bool inserts(uint32_t op)
{
    return op == SW_SET || op == SW_SET_ABSENT || op == SW_SETRANGE || op == SW_APPEND ||
           op == SW_OR;
}

/* --- the model -------------------------------------------------------------------------------- */

static void model_append(struct row_world *world, uint8_t *row, const uint8_t *operand)
{
    if (row[0] + operand[0] <= room_of(world)) {
        memcpy(row + HEAD + row[0], operand + HEAD, operand[0]);
        row[0] = (uint8_t)(row[0] + operand[0]);
    }
}

static void model_set_range(const struct row_world *world, uint8_t *row, const uint8_t *operand,
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
static void apply(struct row_world *world, const struct sw_batch *batch, uint32_t i)
{
    const uint64_t key = row_world_key(world, i);
    const uint32_t op = row_world_op(batch, i), text_at = world->value_bytes - world->text_bytes;
    const uint8_t *operand = row_world_operand(world, i);
    uint8_t *row = world->rows[key];
    const bool was = world->present[key];
    if (op == SW_GET || (op == SW_SET_ABSENT && was) || (op == SW_SET_PRESENT && !was) ||
        (op == SW_CAS && !was)) {
        return;
    }
    world->present[key] = op != SW_DELETE;
    if (op == SW_DELETE) {
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
        const uint8_t *expected =
            (const uint8_t *)world->fixture.compared + (size_t)i * world->value_bytes;
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
static bool is_refused(const struct row_world *world, const struct sw_batch *batch, uint32_t begin,
                       uint32_t end)
{
    bool present[KEYS];
    memcpy(present, world->present, sizeof(present));
    for (uint32_t i = begin; i < end; i++) {
        const uint64_t key = row_world_key(world, i);
        const uint32_t op = row_world_op(batch, i);
        uint32_t rows = 0;
        for (uint32_t k = 0; k < KEYS; k++) {
            rows += present[k];
        }
        if (!present[key] && inserts(op) && world->rows_max != 0 && rows == world->rows_max) {
            return true;
        }
        present[key] = op != SW_DELETE && (present[key] || inserts(op));
    }
    return false;
}

/* --- batches ---------------------------------------------------------------------------------- */

static void draw_operand(struct row_world *world, const struct sw_batch *batch, uint32_t i)
{
    uint8_t *operand = row_world_operand(world, i);
    struct random *random = &world->random;
    const uint32_t room = room_of(world), op = row_world_op(batch, i);
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
    world->fixture.ranges[i] =
        op == SW_SETRANGE ? sw_range_of(offset, size, world->strings) : (uint32_t)-1;
    row_world_name(world, operand, row_world_key(world, i));
}

/* Draws the row that a CAS expects: that of its key before the batch, or what the operation before
 * it wrote if that was a SET. The bytes behind the end of a string differ. */
static void draw_expected(struct row_world *world, const struct sw_batch *batch, uint32_t i)
{
    uint8_t *expected = (uint8_t *)world->fixture.compared + (size_t)i * world->value_bytes;
    const uint32_t room = room_of(world) + (world->strings ? HEAD : 0);
    memcpy(expected, world->rows[row_world_key(world, i)], room);
    if (i > 0 && row_world_op(batch, i - 1) != SW_SETRANGE &&
        random_below(&world->random, 2) == 0) {
        memcpy(expected, row_world_operand(world, i - 1), room);
    }
    if (world->strings) {
        memset(expected + HEAD + expected[0], 0xee, room - HEAD - expected[0]);
    }
    if (row_world_op(batch, i) == SW_CAS) {
        world->fixture.ranges[i] = world->strings ? (uint32_t)HEAD + expected[0] : room;
    }
}

static uint8_t draw_op(struct row_world *world, bool deletes)
{
    const uint8_t change = world->strings ? SW_APPEND : SW_OR;
    const uint8_t ops[] = {SW_GET,      SW_SET, SW_SET_ABSENT, SW_SET_PRESENT, SW_SETRANGE,
                           SW_SETRANGE, SW_CAS, change,        SW_CAS,         SW_DELETE};
    return ops[random_below(&world->random, sizeof(ops) - !deletes)];
}

static struct sw_batch draw_batch(struct row_world *world)
{
    struct fixture *fixture = &world->fixture;
    const bool deletes = random_below(&world->random, 2) == 0;
    const bool is_cas = random_below(&world->random, 2) == 0;
    struct sw_batch batch = row_world_batch(world, is_cas ? SW_CAS : SW_SETRANGE);
    batch.ranges = fixture->ranges;
    batch.expected = fixture->compared;
    batch.group_ends = fixture->group_ends;
    batch.group_refused = fixture->group_refused;
    for (uint32_t i = 0; i < batch.count; i++) {
        fixture->ops[i] = draw_op(world, deletes);
        draw_operand(world, &batch, i);
        draw_expected(world, &batch, i);
        if (i + 1 == batch.count || random_below(&world->random, 20) == 0) {
            fixture->group_ends[batch.group_count++] = i + 1;
        }
    }
    return batch;
}

static void run_batch(struct row_world *world)
{
    struct sw_batch batch = draw_batch(world);
    const int status = sw_batch_run(world->fixture.queue, &batch);
    bool any = false;
    for (uint32_t g = 0, i = 0; g < batch.group_count; g++) {
        const bool refused = is_refused(world, &batch, i, batch.group_ends[g]);
        cr_assert_eq(batch.group_refused[g], refused, "group %u", g);
        any = any || refused;
        for (; i < batch.group_ends[g]; i++) {
            if (!refused) { /* a refused group has no answers */
                row_world_answer(world, &batch, i);
                apply(world, &batch, i);
            }
        }
    }
    cr_assert_eq(status, any ? SW_E_FULL : SW_OK);
}

static void run_world(uint32_t slot_bits, uint32_t value_bytes, uint32_t text_bytes, bool strings,
                      uint32_t rows_max)
{
    static struct row_world world;
    row_world_open(&world, slot_bits, value_bytes, text_bytes, rows_max);
    world.strings = strings;
    for (uint32_t step = 0; step < STEPS; step += tested_share()) {
        run_batch(&world);
        row_world_check(&world);
    }
    fixture_close(&world.fixture);
}

Test(row_parts, of_bytes)
{
    run_world(64, 4, 0, false, 0);
    run_world(128, 8, 0, false, 0);
    run_world(128, 20, 0, false, 0);
    run_world(64, 160, 0, false, 0);
}

Test(row_parts, of_strings)
{
    run_world(64, 8, 0, true, 0);
    run_world(128, 24, 0, true, 0);
    run_world(128, 164, 0, true, 0);
}

Test(row_parts, of_groups_that_are_refused)
{
    run_world(64, 12, 0, false, 3);
    run_world(128, 64, 0, true, 4);
}

Test(row_parts, with_the_texts_of_keys)
{
    run_world(128, 12 + 8, 8, false, 0);
    run_world(128, 16 + 16, 16, true, 0);
}

/* A batch whose part ends outside of the row, or that has no parts, is not valid. */
Test(row_parts, outside_of_a_row)
{
    struct row_world world;
    row_world_open(&world, 128, 12, 0, 0);
    struct sw_batch batch = fixture_batch(&world.fixture, SW_SETRANGE, 1);
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_E_INVALID);
    batch.ranges = world.fixture.ranges;
    world.fixture.ranges[0] = sw_range_of(4, 9, false);
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_E_INVALID);
    world.fixture.ranges[0] = sw_range_of(4, 5, true);
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_E_INVALID);
    world.fixture.ranges[0] = sw_range_of(4, 8, false);
    must_run(world.fixture.queue, &batch);
    fixture_close(&world.fixture);
}

/* The same of a CAS without expected rows, or that compares more than a row. */
Test(row_parts, more_than_a_row)
{
    struct row_world world;
    row_world_open(&world, 128, 12, 0, 0);
    struct sw_batch batch = fixture_batch(&world.fixture, SW_CAS, 1);
    batch.ranges = world.fixture.ranges;
    world.fixture.ranges[0] = 12;
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_E_INVALID);
    batch.expected = world.fixture.compared;
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_OK);
    world.fixture.ranges[0] = 13;
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_E_INVALID);
    batch.ranges = NULL;
    cr_assert_eq(sw_batch_run(world.fixture.queue, &batch), SW_E_INVALID);
    fixture_close(&world.fixture);
}
