/* SPDX-License-Identifier: MIT
 *
 * test_row_strings.c - operations on rows that are strings, in batches that repeat keys, beside a
 * model that goes by the C library.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/table/row_world.h"

TestSuite(row_strings, .timeout = 120);

enum { HEAD = 4 };
enum { TEXT_MAX = 512 }; /* a sum of floats has up to 310 digits before its point */

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
static void put_row(const struct row_world *world, uint8_t *row, const char *text, uint64_t key)
{
    memset(row, 0, world->value_bytes);
    row[0] = (uint8_t)strlen(text);
    memcpy(row + HEAD, text, strlen(text));
    row_world_name(world, row, key);
}

/* Applies one operation. */
static void apply(struct row_world *world, uint32_t op, uint64_t key, const char *operand)
{
    const uint32_t room = world->value_bytes - world->text_bytes - HEAD;
    const bool was = world->present[key];
    char old[128] = "", text[TEXT_MAX] = "";
    bool done = true;
    memcpy(old, world->rows[key] + HEAD, world->rows[key][0]);
    switch (op) {
    case SW_SET:
    case SW_SET_ABSENT:
    case SW_SET_PRESENT:
        done = op == SW_SET || was == (op == SW_SET_PRESENT);
        world->present[key] |= done;
        strcpy(text, operand);
        break;
    case SW_DELETE:
        world->present[key] = false;
        memset(world->rows[key], 0, ROW_MAX);
        return;
    case SW_INCRBY:
        done = add_integers(was ? old : "0", operand, text);
        break;
    case SW_INCRBYFLOAT:
        done = add_floats(was ? old : "0", operand, text);
        break;
    case SW_APPEND:
        snprintf(text, sizeof(text), "%s%s", old, operand);
        break;
    default:
        return;
    }
    done = done && strlen(text) <= room;
    world->present[key] |= SW_OPS_HAS(SW_OPS_STRING, op);
    if (done || (!was && world->present[key])) {
        put_row(world, world->rows[key], done ? text : "0", key);
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

static const char *draw_operand(struct row_world *world, char *text)
{
    static const char *const texts[] = {"1", "-1", "5",  "-77", "0",    "0.25", "-1.5",
                                        "",  "x",  "01", "1e3", "2",    "999",  ".5",
                                        "7", "-3", " 1", "+2",  "1234", "12"};
    strcpy(text, texts[random_below(&world->random, sizeof(texts) / sizeof(texts[0]))]);
    return text;
}

static uint8_t draw_op(struct row_world *world, bool deletes)
{
    static const uint8_t ops[] = {SW_GET,    SW_SET,         SW_SET_ABSENT, SW_SET_PRESENT,
                                  SW_INCRBY, SW_INCRBYFLOAT, SW_APPEND,     SW_INCRBY,
                                  SW_APPEND, SW_INCRBYFLOAT, SW_DELETE};
    return ops[random_below(&world->random, sizeof(ops) - !deletes)];
}

static void run_batch(struct row_world *world)
{
    static char operands[OPS][8];
    const bool deletes = random_below(&world->random, 2) == 0;
    struct sw_batch batch = row_world_batch(world, draw_op(world, deletes));
    for (uint32_t i = 0; i < batch.count; i++) {
        world->fixture.ops[i] = draw_op(world, deletes);
        put_row(world, row_world_operand(world, i), draw_operand(world, operands[i]),
                row_world_key(world, i));
    }
    must_run(world->fixture.queue, &batch);
    for (uint32_t i = 0; i < batch.count; i++) {
        row_world_answer(world, &batch, i);
        apply(world, row_world_op(&batch, i), row_world_key(world, i), operands[i]);
    }
}

static void run_world(uint32_t slot_bits, uint32_t value_bytes, uint32_t text_bytes)
{
    static struct row_world world;
    row_world_open(&world, slot_bits, value_bytes, text_bytes, 0);
    for (uint32_t step = 0; step < STEPS; step += tested_share()) {
        run_batch(&world);
        row_world_check(&world);
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
