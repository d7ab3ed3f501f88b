/* SPDX-License-Identifier: MIT
 *
 * test_row_strings.c - operations on rows that are strings, in batches that repeat keys, beside a
 * model that goes by the C library.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/table_fixture.h"
#include "tests/support/tested.h"

TestSuite(row_strings, .timeout = 120);

enum { KEYS = 7, OPS = 300, ROW_MAX = 128, HEAD = 4 };
enum { TEXT_MAX = 512 }; /* a sum of floats has up to 310 digits before its point */

struct row {
    bool present;
    char text[ROW_MAX]; /* ends with a zero */
};

struct world {
    struct fixture fixture;
    struct random random;
    uint32_t value_bytes, text_bytes, room;
    struct row rows[KEYS];
    uint8_t before[ROW_MAX]; /* of the operation that was applied last */
};

/* --- the model -------------------------------------------------------------------------------- */

/* Writes the sum, and returns true, if both texts are such integers as snprintf writes. */
static bool add_integers(const char *old, const char *operand, char *out)
{
    char again[2][32];
    const char *texts[] = {old, operand};
    long long numbers[2], sum = 0;
    for (int i = 0; i < 2; i++) {
        errno = 0;
        numbers[i] = strtoll(texts[i], NULL, 10);
        snprintf(again[i], sizeof(again[i]), "%lld", numbers[i]);
        if (errno != 0 || strcmp(again[i], texts[i]) != 0) {
            return false;
        }
    }
    if (__builtin_add_overflow(numbers[0], numbers[1], &sum)) {
        return false;
    }
    sprintf(out, "%lld", sum);
    return true;
}

/* The same of numbers with a point; hexadecimal ones are refused. */
static bool add_floats(const char *old, const char *operand, char *out)
{
    const char *texts[] = {old, operand};
    long double sum = 0;
    for (int i = 0; i < 2; i++) {
        char *end = NULL;
        const long double number = strtold(texts[i], &end);
        if (texts[i][0] == ' ' || strchr(texts[i], 'x') != NULL || texts[i][0] == '\0' ||
            *end != '\0' || !(fabsl(number) < 1e309L)) {
            return false;
        }
        sum += number;
    }
    size_t size = (size_t)snprintf(out, TEXT_MAX, "%.17Lf", sum);
    while (out[size - 1] == '0') {
        size--;
    }
    size -= out[size - 1] == '.';
    out[size] = '\0';
    if (strcmp(out, "-0") == 0) {
        strcpy(out, "0");
    }
    return true;
}

/* The row as the table has it. */
static void put_row(const struct world *world, uint8_t *row, const char *text, uint64_t key)
{
    memset(row, 0, world->value_bytes);
    row[0] = (uint8_t)strlen(text);
    memcpy(row + HEAD, text, strlen(text));
    if (world->text_bytes > 0) {
        uint8_t *name = row + world->value_bytes - world->text_bytes;
        name[0] = 4;
        memset(name + 2, 'a' + (int)key, 3);
    }
}

/* Applies one operation. Returns whether the key was present, and leaves the row as it was. */
static bool apply(struct world *world, uint32_t op, uint64_t key, const char *operand)
{
    struct row *row = &world->rows[key];
    const bool was = row->present;
    char text[TEXT_MAX] = "";
    bool done = true;
    memset(world->before, 0, world->value_bytes);
    if (was) {
        put_row(world, world->before, row->text, key);
    }
    switch (op) {
    case SW_SET:
    case SW_SET_ABSENT:
    case SW_SET_PRESENT:
        done = op == SW_SET || was == (op == SW_SET_PRESENT);
        row->present |= done;
        strcpy(text, operand);
        break;
    case SW_DELETE:
        row->present = false;
        return was;
    case SW_INCRBY:
        done = add_integers(was ? row->text : "0", operand, text);
        break;
    case SW_INCRBYFLOAT:
        done = add_floats(was ? row->text : "0", operand, text);
        break;
    case SW_APPEND:
        snprintf(text, sizeof(text), "%s%s", was ? row->text : "", operand);
        break;
    default:
        return was;
    }
    done = done && strlen(text) <= world->room;
    if (SW_OPS_HAS(SW_OPS_STRING, op)) {
        row->present = true;
    }
    if (done) {
        strcpy(row->text, text);
    } else if (!was && row->present) {
        strcpy(row->text, "0");
    }
    return was;
}

/* --- batches ---------------------------------------------------------------------------------- */

static const char *draw_operand(struct world *world, char *text)
{
    static const char *const texts[] = {"1", "-1", "5",  "-77", "0",    "0.25", "-1.5",
                                        "",  "x",  "01", "1e3", "2",    "999",  ".5",
                                        "7", "-3", " 1", "+2",  "1234", "12"};
    strcpy(text, texts[random_below(&world->random, sizeof(texts) / sizeof(texts[0]))]);
    return text;
}

static uint8_t draw_op(struct world *world, bool deletes)
{
    static const uint8_t ops[] = {SW_GET,    SW_SET,         SW_SET_ABSENT, SW_SET_PRESENT,
                                  SW_INCRBY, SW_INCRBYFLOAT, SW_APPEND,     SW_INCRBY,
                                  SW_APPEND, SW_INCRBYFLOAT, SW_DELETE};
    return ops[random_below(&world->random, sizeof(ops) - !deletes)];
}

static void run_batch(struct world *world)
{
    static char operands[OPS][8];
    struct fixture *fixture = &world->fixture;
    const uint32_t count = 1 + (uint32_t)random_below(&world->random, OPS);
    const uint64_t keys = 1 + random_below(&world->random, KEYS);
    const bool deletes = random_below(&world->random, 2) == 0;
    const bool is_uniform = random_below(&world->random, 3) == 0;
    const bool answers = random_below(&world->random, 4) > 0;
    struct sw_batch batch = {.kind = SW_BATCH_OPERATIONS,
                             .op = (enum sw_op)draw_op(world, deletes),
                             .ops = is_uniform ? NULL : fixture->ops,
                             .count = count,
                             .keys = fixture->keys,
                             .values = fixture->values,
                             .previous = answers ? fixture->previous : NULL,
                             .found = fixture->found};
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = random_below(&world->random, keys);
        fixture->ops[i] = is_uniform ? (uint8_t)batch.op : draw_op(world, deletes);
        fixture_store(fixture, fixture->keys, i, key);
        put_row(world, (uint8_t *)fixture->values + (size_t)i * world->value_bytes,
                draw_operand(world, operands[i]), key);
    }
    must_run(fixture->queue, &batch);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t key = fixture_load(fixture, fixture->keys, i);
        const bool was = apply(world, fixture->ops[i], key, operands[i]);
        cr_assert_eq(fixture->found[i / 64] >> (i % 64) & 1, was, "operation %u", i);
        const uint8_t *row = (const uint8_t *)fixture->previous + (size_t)i * world->value_bytes;
        cr_assert(!answers || memcmp(row, world->before, world->value_bytes) == 0,
                  "operation %u (op %u, %s): '%.*s', not '%.*s'", i, fixture->ops[i], operands[i],
                  row[0], (const char *)row + HEAD, world->before[0],
                  (const char *)world->before + HEAD);
    }
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
        apply(world, SW_GET, k, "");
        cr_assert_arr_eq((const uint8_t *)fixture->previous + (size_t)k * world->value_bytes,
                         world->before, world->value_bytes, "key %u", k);
    }
    must_check(fixture->table);
}

static void run_world(uint32_t slot_bits, uint32_t value_bytes, uint32_t text_bytes)
{
    static struct world world;
    struct sw_table_config config = fixture_config_of(SW_ENGINE_ROBIN_HOOD, slot_bits);
    memset(&world, 0, sizeof(world));
    config.value_bytes = world.value_bytes = value_bytes;
    config.key_text_bytes = world.text_bytes = text_bytes;
    config.batch_ops_max = OPS;
    world.room = value_bytes - text_bytes - HEAD;
    world.random = random_of(slot_bits + value_bytes + text_bytes);
    tested_place(&config);
    fixture_open(&world.fixture, &config);
    for (uint32_t step = 0; step < 40; step += tested_share()) {
        run_batch(&world);
        check_rows(&world);
    }
    fixture_close(&world.fixture);
}

#if LDBL_MANT_DIG == 64

Test(row_strings, in_order)
{
    run_world(64, 24, 0);
    run_world(128, 12, 0);
    run_world(128, 28, 0);
    run_world(128, 64, 0);
}

Test(row_strings, with_the_texts_of_keys)
{
    run_world(128, 32, 8);
    run_world(128, 20 + 16, 16);
    run_world(128, 12 + 8, 8);
}

#endif
