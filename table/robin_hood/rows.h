/* SPDX-License-Identifier: MIT
 *
 * rows.h - what holds of tables with rows, whatever the backend (table/robin_hood/README.md,
 * "Rows"). Host and device.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_ROWS_H
#define SHERWOOD_TABLE_ROBIN_HOOD_ROWS_H

#include "table/operation.h"

#define SW_ROW_BYTES_MIN 4U
#define SW_ROW_BYTES_MAX 4096U

/* A row's number lies in the value of its entry. The high bit of narrow slots, and the high half of
 * wide ones, stay 0; the largest number is never given out. */
#define SW_ROWS_MAX_64 ((1ULL << 31) - 1)
#define SW_ROWS_MAX_128 ((1ULL << 32) - 1)

/* From one row to the next, in the arena. */
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

/* What an operation does to its key. It depends on whether the key is present, never on what a row
 * contains: so groups are admitted before the first byte of a row is written. */
SW_HD static inline enum sw_effect sw_row_effect(uint32_t op, bool found)
{
    switch (op) {
    case SW_SET:
    case SW_ADD_F32:
    case SW_ADD_U32:
    case SW_ADD_U64:
        return SW_EFFECT_WRITE;
    case SW_SET_ABSENT:
        return found ? SW_EFFECT_NONE : SW_EFFECT_WRITE;
    case SW_SET_PRESENT:
    case SW_ADD_PRESENT_F32:
    case SW_ADD_PRESENT_U32:
    case SW_ADD_PRESENT_U64:
        return found ? SW_EFFECT_WRITE : SW_EFFECT_NONE;
    case SW_DELETE:
        return found ? SW_EFFECT_REMOVE : SW_EFFECT_NONE;
    default:
        return SW_EFFECT_NONE; /* SW_GET */
    }
}

/* The operations on rows. */
#define SW_ROW_OPERATIONS                                                                         \
    (1U << SW_GET | 1U << SW_SET | 1U << SW_SET_ABSENT | 1U << SW_SET_PRESENT | 1U << SW_DELETE | \
     1U << SW_ADD_F32 | 1U << SW_ADD_U32 | 1U << SW_ADD_U64 | 1U << SW_ADD_PRESENT_F32 |          \
     1U << SW_ADD_PRESENT_U32 | 1U << SW_ADD_PRESENT_U64)

SW_HD static inline bool sw_row_adds(uint32_t op)
{
    return op >= SW_ADD_F32 && op <= SW_ADD_PRESENT_U64;
}

/* Every sum that is no number is this one: which payload it would have differs from machine to
 * machine. */
#define SW_ROW_NAN_F32 0x7fc00000U
SW_HD static inline bool sw_row_is_nan_f32(uint32_t bits)
{
    return (bits & 0x7fffffffU) > 0x7f800000U;
}

/* The sum of two numbers of 32 bits, IEEE 754, as bits: rounded to the nearest, ties to even, with
 * denormals and infinities as they are. */
SW_HD static inline uint32_t sw_row_sum_f32(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__)
    const uint32_t sum = __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
#else
    union {
        uint32_t bits;
        float number;
    } x, y, s;
    x.bits = a;
    y.bits = b;
    s.number = x.number + y.number;
    const uint32_t sum = s.bits;
#endif
    return sw_row_is_nan_f32(sum) ? SW_ROW_NAN_F32 : sum;
}

#endif
