/* SPDX-License-Identifier: MIT
 *
 * rows.h - rules of tables with rows, for all backends (table/robin_hood/README.md, "Rows"). Host
 * and device.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_ROWS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_ROWS_H

#include "proto/ops/number_apply.h"
#include "table/operation.h"

#define SW_ROW_BYTES_MIN 4U
#define SW_ROW_BYTES_MAX 4096U

/* The value of an entry is its row number. The high bit of narrow slots, and the high half of wide
 * slots, stay 0. The largest number is never used. */
#define SW_ROWS_MAX_64 ((1ULL << 31) - 1)
#define SW_ROWS_MAX_128 ((1ULL << 32) - 1)

/* Distance between two rows in the arena, in bytes. */
SW_HD static inline uint32_t sw_row_stride(uint32_t value_bytes)
{
    uint32_t stride = SW_ROW_BYTES_MIN;
    if (value_bytes > 16) {
        return (value_bytes + 15) / 16 * 16;
    }
    while (stride < value_bytes) {
        stride *= 2;
    }
    return stride;
}

/* The effect of an operation on its key. It depends on whether the key is present, never on the
 * contents of a row. So groups are admitted before the first byte of a row is written. */
SW_HD static inline enum sw_effect sw_row_effect(uint32_t op, bool found)
{
    if (SW_OPS_HAS(SW_OPS_DELETE, op)) {
        return found ? SW_EFFECT_REMOVE : SW_EFFECT_NONE;
    }
    return SW_OPS_HAS(found ? SW_OPS_PUT : SW_OPS_INSERT, op) ? SW_EFFECT_WRITE : SW_EFFECT_NONE;
}

/* The operations on rows. */
#define SW_ROW_OPERATIONS SW_OPS_ROWS

/* Returns whether an operation computes the row from the old row. An absent key counts as a row of
 * zeros. */
SW_HD static inline bool sw_row_updates(uint32_t op)
{
    return SW_OPS_HAS(SW_OPS_ADD | SW_OPS_BITS, op);
}

/* Returns whether a byte of the row after an operation depends on other bytes of the row, or on
 * more than the operand. Such operations on one row are carried out one after the other. An absent
 * key counts as a row of zeros. */
SW_HD static inline bool sw_row_is_in_order(uint32_t op)
{
    return SW_OPS_HAS(SW_OPS_STRING | SW_OPS_PART | SW_OPS_FITTING | SW_OPS_PAIR, op);
}

/* The 32 bits after an operation of SW_OPS_BITS; for any other operation, the integer sum. */
SW_HD static inline uint32_t sw_row_bits(uint32_t op, uint32_t base, uint32_t operand)
{
    uint32_t after = base + operand;
#define SW_ROW(name, number, its_op, verb, ...)                                         \
    if ((int)SW_VERB_REPEATED_##verb == (int)SW_REPEATED_BITS && op == (its_op)) {      \
        sw_verb_apply_s64(SW_VERB_##verb, SW_WHEN_ALWAYS, true, base, operand, &after); \
    }
    SW_INTEGER_OPERATION_MAP(SW_ROW)
#undef SW_ROW
    return after;
}

/* Every NaN sum is replaced by this one, since the payload of a NaN differs between machines. */
#define SW_ROW_NAN_F32 0x7fc00000U
SW_HD static inline bool sw_row_is_nan_f32(uint32_t bits)
{
    return (bits & 0x7fffffffU) > 0x7f800000U;
}

/* The IEEE 754 sum of two f32, as bits: rounded to nearest, ties to even; denormals and infinities
 * are kept. */
SW_HD static inline uint32_t sw_row_sum_f32(uint32_t a, uint32_t b)
{
    const uint32_t sum = sw_f32_sum(a, b);
    return sw_row_is_nan_f32(sum) ? SW_ROW_NAN_F32 : sum;
}

/* The sum of two f64, likewise. */
#define SW_ROW_NAN_F64 0x7ff8000000000000ULL
SW_HD static inline uint64_t sw_row_sum_f64(uint64_t a, uint64_t b)
{
    const uint64_t sum = sw_f64_sum(a, b);
    return (sum & INT64_MAX) > 0x7ff0000000000000ULL ? SW_ROW_NAN_F64 : sum;
}

/* The product of two f32, likewise. */
SW_HD static inline uint32_t sw_row_product_f32(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__)
    const uint32_t product = __float_as_uint(__fmul_rn(__uint_as_float(a), __uint_as_float(b)));
#else
    union {
        uint32_t bits;
        float number;
    } x, y, p;
    x.bits = a;
    y.bits = b;
    p.number = x.number * y.number;
    const uint32_t product = p.bits;
#endif
    return sw_row_is_nan_f32(product) ? SW_ROW_NAN_F32 : product;
}

/* Converts 16-bit floats to f32, which represents all of them exactly. */
SW_HD static inline uint32_t sw_row_of_f16(uint16_t number)
{
    const uint32_t sign = (uint32_t)(number & 0x8000U) << 16;
    uint32_t rest = (uint32_t)(number & 0x7fffU) << 13;
    if (rest >= 0x0f800000U) { /* infinity or NaN */
        return sign | 0x70000000U | rest;
    }
    if (rest >= 0x00800000U) {
        return sign | (rest + 0x38000000U);
    }
    uint32_t exponent = 0x38800000U; /* denormals have no leading one: 2^-14 */
    while (rest != 0 && rest < 0x00800000U) {
        rest <<= 1;
        exponent -= 0x00800000U;
    }
    return rest == 0 ? sign : sign | (exponent + (rest - 0x00800000U));
}

SW_HD static inline uint32_t sw_row_of_bf16(uint16_t number)
{
    return (uint32_t)number << 16;
}

/* Converts f32 to 16-bit floats: rounded to nearest, ties to even. */
SW_HD static inline uint16_t sw_row_to_f16(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000U;
    const uint32_t rest = bits & 0x7fffffffU;
    if (rest > 0x7f800000U) {
        return 0x7e00U; /* the canonical NaN */
    }
    if (rest >= 0x47800000U) { /* from 2^16 on */
        return (uint16_t)(sign | 0x7c00U);
    }
    if (rest >= 0x38800000U) { /* may carry into the exponent, and to infinity */
        return (uint16_t)(sign | ((rest - 0x38000000U + 0xfffU + (rest >> 13 & 1)) >> 13));
    }
    if (rest < 0x33000000U) { /* less than half of the least denormal */
        return (uint16_t)sign;
    }
    const uint32_t shift = 126 - (rest >> 23); /* 14 .. 24: in units of 2^-24 */
    const uint32_t whole = (rest & 0x007fffffU) | 0x00800000U;
    const uint32_t half = 1U << (shift - 1);
    return (uint16_t)(sign | ((whole + half - 1 + (whole >> shift & 1)) >> shift));
}

SW_HD static inline uint16_t sw_row_to_bf16(uint32_t bits)
{
    return (uint16_t)(sw_row_is_nan_f32(bits) ? 0x7fc0U
                                              : (bits + 0x7fffU + (bits >> 16 & 1)) >> 16);
}

/* The sum of a 16-bit float and an f32. The result is rounded twice: first to f32, then to 16
 * bits. */
SW_HD static inline uint16_t sw_row_sum_f16(uint16_t number, uint32_t operand)
{
    return sw_row_to_f16(sw_row_sum_f32(sw_row_of_f16(number), operand));
}

SW_HD static inline uint16_t sw_row_sum_bf16(uint16_t number, uint32_t operand)
{
    return sw_row_to_bf16(sw_row_sum_f32(sw_row_of_bf16(number), operand));
}

#endif
