/* SPDX-License-Identifier: MIT
 *
 * row_model.h - rows of numbers as they should be, for test_rows.c: what one operation after the
 * other makes of them.
 */
#ifndef SHERWOOD_TESTS_TABLE_ROW_MODEL_H
#define SHERWOOD_TESTS_TABLE_ROW_MODEL_H

#include "tests/table/row_world.h"

/* The sum of two numbers of 64 bits, as the operation has it. */
static uint64_t model_pair(enum sw_op op, uint64_t a, uint64_t b)
{
    double x, y;
    if (op == SW_ADD_U64 || op == SW_ADD_PRESENT_U64) {
        return a + b;
    }
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    volatile double sum = x + y;
    memcpy(&a, (const double *)&sum, sizeof(a));
    return sum != sum ? 0x7ff8000000000000 : a;
}

static void model_add(uint32_t *row, const uint32_t *operand, uint32_t words, enum sw_op op)
{
    for (uint32_t w = 0; w < words; w++) {
        if (SW_OPS_HAS(SW_OPS_64_BITS, op)) {
            const uint64_t a = model_pair(op, row[w] | (uint64_t)row[w + 1] << 32,
                                          operand[w] | (uint64_t)operand[w + 1] << 32);
            row[w++] = (uint32_t)a;
            row[w] = (uint32_t)(a >> 32);
        } else if (op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32) {
            volatile float sum = float_of(row[w]) + float_of(operand[w]);
            row[w] = sum != sum ? 0x7fc00000 : bits_of(sum);
        } else {
            row[w] += operand[w];
        }
    }
}

/* An operation on bits, in other words than the table's. */
static void model_bits(uint32_t *row, const uint32_t *operand, uint32_t words, uint32_t op)
{
    for (uint32_t w = 0; w < words; w++) {
        for (uint32_t b = 0; b < 32; b++) {
            const uint32_t bit = 1U << b;
            const bool is = (row[w] & bit) != 0, given = (operand[w] & bit) != 0;
            const bool becomes = op == SW_OR    ? is || given
                                 : op == SW_XOR ? is != given
                                 : op == SW_AND ? is && given
                                                : is && !given;
            row[w] = becomes ? row[w] | bit : row[w] & ~bit;
        }
    }
}

/* Applies one operation to the model. */
static void model_apply(struct row_world *world, uint32_t op, uint64_t key, const uint8_t *operand)
{
    const uint32_t words = world->value_bytes / 4;
    const uint32_t *numbers = (const uint32_t *)(const void *)operand;
    const bool was = world->present[key];
    uint32_t row[ROW_MAX / 4];
    memcpy(row, world->rows[key], sizeof(row));
    if (op == SW_DELETE) {
        world->present[key] = false;
        memset(row, 0, sizeof(row));
    } else if (op == SW_SET || (op == SW_SET_ABSENT && !was) || (op == SW_SET_PRESENT && was)) {
        world->present[key] = true;
        memcpy(row, numbers, world->value_bytes);
    } else if (SW_OPS_HAS(SW_OPS_BITS, op)) {
        world->present[key] = was || op == SW_OR || op == SW_XOR;
        model_bits(row, numbers, words, op);
    } else if (SW_OPS_HAS(SW_OPS_ADD, op) && (was || SW_OPS_HAS(SW_OPS_INSERT, op))) {
        world->present[key] = true;
        model_add(row, numbers, words, (enum sw_op)op);
    }
    memcpy(world->rows[key], row, sizeof(row));
}

/* A number that is hard to add now and then: zeros, infinities, NaN, denormals, halves of ulps. */
static uint32_t draw_word(struct random *random)
{
    static const uint32_t hard[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00001,
                                    0xff812345, 1,          3,          0x807fffff, 0x00800000,
                                    0x3f800000, 0x33800000, 0x33800001, 0x7f7fffff, UINT32_MAX,
                                    0x7ff00000, 0xfff00000};
    return random_below(random, 3) != 0
               ? bits_of((float)random_next(random) / 1e12F)
               : hard[random_below(random, sizeof(hard) / sizeof(hard[0]))];
}

/* Draws the operand of operation i. */
static void draw_operand(struct row_world *world, uint32_t i)
{
    uint32_t *operand = (uint32_t *)(void *)row_world_operand(world, i);
    for (uint32_t w = 0; w < world->value_bytes / 4; w++) {
        operand[w] = draw_word(&world->random);
    }
}

#endif
