/* SPDX-License-Identifier: MIT
 *
 * test_row_numbers.c - INCREMENT_F32, INCREMENT_U64, DECREMENT_U64 and the like in batches that
 * repeat keys and mix them with other writes, beside a model that goes number by number.
 */
#include <math.h>

#include "tests/table/row_world.h"

TestSuite(row_numbers, .timeout = 120);

/* --- the model -------------------------------------------------------------------------------- */

static void model_float(uint32_t *number, uint32_t operand)
{
    float a, b;
    memcpy(&a, number, sizeof(a));
    memcpy(&b, &operand, sizeof(b));
    const double sum = (double)a + (double)b; /* rounded once more, to the same number */
    const float rounded = (float)sum;
    if (isfinite(rounded)) {
        memcpy(number, &rounded, sizeof(rounded));
    }
}

static void model_double(uint32_t *number, const uint32_t *operand)
{
    double a, b;
    memcpy(&a, number, sizeof(a));
    memcpy(&b, operand, sizeof(b));
    const long double sum = (long double)a + (long double)b;
    volatile double rounded = a + b;
    if (isfinite(rounded)) {
        cr_assert(fabsl(sum - (long double)rounded) <= fabsl(sum) * 0x1p-52L);
        memcpy(number, (const double *)&rounded, sizeof(rounded));
    }
}

static void model_signed(uint32_t *number, const uint32_t *operand)
{
    long long a, b, after;
    memcpy(&a, number, sizeof(a));
    memcpy(&b, operand, sizeof(b));
    if (!__builtin_saddll_overflow(a, b, &after)) {
        memcpy(number, &after, sizeof(after));
    }
}

static void model_integer(uint32_t op, uint32_t *number, const uint32_t *operand)
{
    const unsigned long long a = (uint64_t)number[1] << 32 | number[0];
    const unsigned long long b = (uint64_t)operand[1] << 32 | operand[0];
    unsigned long long after = 0;
    const bool overflows = op == SW_INCREMENT_U64 ? __builtin_uaddll_overflow(a, b, &after)
                                                  : __builtin_usubll_overflow(a, b, &after);
    number[0] = overflows ? number[0] : (uint32_t)after;
    number[1] = overflows ? number[1] : (uint32_t)(after >> 32);
}

static void apply(struct row_world *world, uint32_t op, uint64_t key, const uint32_t *operand)
{
    const uint32_t words = (world->value_bytes - world->text_bytes) / 4;
    uint32_t row[ROW_MAX / 4] = {0};
    const bool was = world->present[key];
    if (op == SW_GET || (!was && (op == SW_SET_PRESENT || op == SW_DECREMENT_U64))) {
        return;
    }
    world->present[key] = op != SW_DELETE;
    if (op != SW_DELETE) {
        memcpy(row, world->rows[key], sizeof(row));
        memcpy(row + words, operand + words, world->text_bytes);
    }
    if (op == SW_SET || op == SW_SET_PRESENT) {
        memcpy(row, operand, words * sizeof(*row));
    }
    for (uint32_t w = 0; op == SW_INCREMENT_F32 && w < words; w++) {
        model_float(&row[w], operand[w]);
    }
    for (uint32_t w = 0; w < words; w += 2) {
        if (op == SW_INCREMENT_U64 || op == SW_DECREMENT_U64) {
            model_integer(op, &row[w], &operand[w]);
        } else if (op == SW_INCREMENT_F64) {
            model_double(&row[w], &operand[w]);
        } else if (op == SW_INCREMENT_I64) {
            model_signed(&row[w], &operand[w]);
        } else if (op == SW_ADD_U64) {
            uint64_t a, b;
            memcpy(&a, &row[w], sizeof(a));
            memcpy(&b, &operand[w], sizeof(b));
            a += b;
            memcpy(&row[w], &a, sizeof(a));
        }
    }
    memcpy(world->rows[key], row, sizeof(row));
}

/* --- batches ---------------------------------------------------------------------------------- */

static uint32_t draw_word(struct random *random, enum sw_element element, uint32_t w)
{
    static const uint32_t floats[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7f7fffff,
                                      0xff7fffff, 0x3f800000, 0x00000001, 0x7fc00001, 0x4b800000};
    const uint64_t chance = random_below(random, 16);
    if (element == SW_ELEMENT_F32) {
        return chance < 10 ? floats[chance] : 0x3f000000 + (uint32_t)random_below(random, 1 << 24);
    }
    if (element == SW_ELEMENT_F64 && w % 2 == 1) { /* the high word */
        static const uint32_t ends[] = {0x7fefffff, 0xffefffff, 0x7ff00000, 0xfff80001, 0};
        return chance < 5 ? ends[chance] : 0x3fe00000 + (uint32_t)random_below(random, 1 << 24);
    }
    if (element == SW_ELEMENT_I64) { /* half of the high words are near an end */
        return w % 2 == 0 || chance < 8 ? (uint32_t)random_next(random)
                                        : 0x7ffffffe + (uint32_t)chance % 4;
    }
    return chance < 4 ? UINT32_MAX : w % 2 == 1 && chance < 12 ? 0 : (uint32_t)chance;
}

static uint8_t draw_op(struct random *random, enum sw_element element)
{
    static const uint8_t floats[] = {SW_GET,           SW_SET,           SW_INCREMENT_F32,
                                     SW_INCREMENT_F32, SW_INCREMENT_F32, SW_SET_PRESENT,
                                     SW_INCREMENT_F32, SW_DELETE};
    static const uint8_t integers[] = {SW_GET,           SW_SET,     SW_INCREMENT_U64,
                                       SW_DECREMENT_U64, SW_ADD_U64, SW_INCREMENT_U64,
                                       SW_DECREMENT_U64, SW_DELETE};
    static const uint8_t signed_ones[] = {SW_GET,           SW_SET,     SW_INCREMENT_I64,
                                          SW_INCREMENT_I64, SW_ADD_U64, SW_INCREMENT_I64,
                                          SW_SET_PRESENT,   SW_DELETE};
    static const uint8_t doubles[] = {SW_GET,           SW_SET,         SW_INCREMENT_F64,
                                      SW_INCREMENT_F64, SW_SET_PRESENT, SW_INCREMENT_F64,
                                      SW_INCREMENT_F64, SW_DELETE};
    const uint8_t *ops = element == SW_ELEMENT_F64   ? doubles
                         : element == SW_ELEMENT_F32 ? floats
                         : element == SW_ELEMENT_I64 ? signed_ones
                                                     : integers;
    return ops[random_below(random, 8)];
}

static void run_batch(struct row_world *world, enum sw_element element)
{
    struct sw_batch batch = row_world_batch(world, draw_op(&world->random, element));
    for (uint32_t i = 0; i < batch.count; i++) {
        uint32_t *operand = (uint32_t *)(void *)row_world_operand(world, i);
        world->fixture.ops[i] = draw_op(&world->random, element);
        for (uint32_t w = 0; w < (world->value_bytes - world->text_bytes) / 4; w++) {
            operand[w] = draw_word(&world->random, element, w);
        }
        row_world_name(world, row_world_operand(world, i), row_world_key(world, i));
    }
    must_run(world->fixture.queue, &batch);
    for (uint32_t i = 0; i < batch.count; i++) {
        row_world_answer(world, &batch, i);
        apply(world, row_world_op(&batch, i), row_world_key(world, i),
              (const uint32_t *)(const void *)row_world_operand(world, i));
    }
}

/* Numbers of `words` words of 32 bits, and a key string of `text_words` behind them. */
static void run_world(uint32_t slot_bits, uint32_t words, uint32_t text_words,
                      enum sw_element element)
{
    static struct row_world world;
    row_world_open(&world, slot_bits, (words + text_words) * 4, text_words * 4, 0);
    for (uint32_t step = 0; step < STEPS; step += tested_share()) {
        run_batch(&world, element);
        row_world_check(&world);
    }
    fixture_close(&world.fixture);
}

Test(row_numbers, of_floats)
{
    run_world(64, 1, 0, SW_ELEMENT_F32);
    run_world(128, 3, 0, SW_ELEMENT_F32);
    run_world(128, 20, 0, SW_ELEMENT_F32);
    run_world(128, 1, 4, SW_ELEMENT_F32);
}

Test(row_numbers, of_doubles)
{
    run_world(64, 2, 0, SW_ELEMENT_F64);
    run_world(128, 22, 0, SW_ELEMENT_F64);
    run_world(128, 2, 2, SW_ELEMENT_F64);
}

Test(row_numbers, of_integers)
{
    run_world(64, 2, 0, SW_ELEMENT_U64);
    run_world(128, 4, 0, SW_ELEMENT_U64);
    run_world(128, 22, 0, SW_ELEMENT_U64);
    run_world(128, 2, 2, SW_ELEMENT_U64);
}

Test(row_numbers, of_signed_integers)
{
    run_world(64, 2, 0, SW_ELEMENT_I64);
    run_world(128, 22, 0, SW_ELEMENT_I64);
    run_world(128, 2, 2, SW_ELEMENT_I64);
}
