/* SPDX-License-Identifier: MIT
 *
 * row_model.h - rows of numbers as they should be, for test_rows.c: what one operation after the
 * other makes of them.
 */
#ifndef SHERWOOD_TESTS_TABLE_ROW_MODEL_H
#define SHERWOOD_TESTS_TABLE_ROW_MODEL_H

#include <string.h>

#include "table/operation.h"
#include "tests/support/random.h"

#define SUM_KEYS 6U
#define SUM_WORDS_MAX 1024U

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static float number_of(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

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

/* The rows as they should be, word by word. */
struct sums {
    uint32_t words;
    bool present[SUM_KEYS];
    uint32_t rows[SUM_KEYS][SUM_WORDS_MAX];
};

static void model_add(uint32_t *row, const uint32_t *operand, uint32_t words, enum sw_op op)
{
    for (uint32_t w = 0; w < words; w++) {
        if (SW_OPS_HAS(SW_OPS_64_BITS, op)) {
            const uint64_t a = model_pair(op, row[w] | (uint64_t)row[w + 1] << 32,
                                          operand[w] | (uint64_t)operand[w + 1] << 32);
            row[w++] = (uint32_t)a;
            row[w] = (uint32_t)(a >> 32);
        } else if (op == SW_ADD_F32 || op == SW_ADD_PRESENT_F32) {
            volatile float sum = number_of(row[w]) + number_of(operand[w]);
            row[w] = sum != sum ? 0x7fc00000 : bits_of(sum);
        } else {
            row[w] += operand[w];
        }
    }
}

/* An operation on bits, in other words than the table's. */
static void model_bits(uint32_t *row, const uint32_t *operand, uint32_t words, enum sw_op op)
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

/* Applies one operation to the model; `before` receives the row as it was. */
static bool model_apply(struct sums *sums, enum sw_op op, uint64_t key, const uint32_t *operand,
                        uint32_t *before)
{
    const bool was = sums->present[key];
    uint32_t *row = sums->rows[key];
    memset(before, 0, sums->words * sizeof(*before));
    if (was) {
        memcpy(before, row, sums->words * sizeof(*row));
    }
    if (op == SW_DELETE) {
        sums->present[key] = false;
    } else if (op == SW_SET || (op == SW_SET_ABSENT && !was) || (op == SW_SET_PRESENT && was)) {
        sums->present[key] = true;
        memcpy(row, operand, sums->words * sizeof(*row));
    } else if (SW_OPS_HAS(SW_OPS_BITS, op)) {
        sums->present[key] = was || op == SW_OR || op == SW_XOR;
        if (!was) {
            memset(row, 0, sums->words * sizeof(*row));
        }
        model_bits(row, operand, sums->words, op);
    } else if (SW_OPS_HAS(SW_OPS_ADD, op) && (was || SW_OPS_HAS(SW_OPS_INSERT, op))) {
        if (!was) {
            memset(row, 0, sums->words * sizeof(*row));
        }
        sums->present[key] = true;
        model_add(row, operand, sums->words, op);
    }
    return was;
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

#endif
