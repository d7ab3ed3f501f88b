/* SPDX-License-Identifier: MIT
 *
 * number_apply.h - the effect of the operations of SW_OPS_FITTING (INCREMENT_F32, DECREMENT_U64 and
 * the like) on a row of numbers, for host and device. A number whose result does not fit keeps its
 * value.
 *
 * Threads: pure functions of their arguments. The threads of a warp may share one call.
 */
#ifndef SHERWOOD_OPS_NUMBER_APPLY_H
#define SHERWOOD_OPS_NUMBER_APPLY_H

#include "proto/ops/apply.h"

/* The IEEE 754 sum of two f32, as bits: rounded to nearest, ties to even; denormals and infinities
 * are kept. */
SW_HD static inline uint32_t sw_f32_sum(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
#else
    union {
        uint32_t bits;
        float number;
    } x, y, s;
    x.bits = a;
    y.bits = b;
    s.number = x.number + y.number;
    return s.bits;
#endif
}

/* The sum of two f64, likewise. */
SW_HD static inline uint64_t sw_f64_sum(uint64_t a, uint64_t b)
{
#if defined(__CUDA_ARCH__)
    return (uint64_t)__double_as_longlong(
        __dadd_rn(__longlong_as_double((long long)a), __longlong_as_double((long long)b)));
#else
    union {
        uint64_t bits;
        double number;
    } x, y, s;
    x.bits = a;
    y.bits = b;
    s.number = x.number + y.number;
    return s.bits;
#endif
}

/* Computes a number after an operation of SW_OPS_FITTING. Returns false, and sets *after to the
 * number before, if the result does not fit. */
SW_HD static inline bool sw_f32_after(uint32_t before, uint32_t operand, uint32_t *after)
{
    const uint32_t infinity = 0x7f800000U, sum = sw_f32_sum(before, operand);
    const bool fits = (sum & infinity) != infinity;
    *after = fits ? sum : before;
    return fits;
}

SW_HD static inline bool sw_f64_after(uint64_t before, uint64_t operand, uint64_t *after)
{
    const uint64_t infinity = 0x7ff0000000000000ULL, sum = sw_f64_sum(before, operand);
    const bool fits = (sum & infinity) != infinity;
    *after = fits ? sum : before;
    return fits;
}

SW_HD static inline bool sw_u64_after(uint32_t op, uint64_t before, uint64_t operand,
                                      uint64_t *after)
{
    const bool adds = SW_OPS_HAS(SW_OPS_INSERT, op); /* the operation that subtracts does not */
    const bool fits = adds ? before + operand >= before : operand <= before;
    *after = !fits ? before : adds ? before + operand : before - operand;
    return fits;
}

/* The same for signed numbers, as their bits. */
SW_HD static inline bool sw_i64_after(uint64_t before, uint64_t operand, uint64_t *after)
{
    const uint64_t sum = before + operand;
    const bool fits = ((before ^ sum) & (operand ^ sum)) >> 63 == 0; /* it has the sign of one */
    *after = fits ? sum : before;
    return fits;
}

/* The same for a number of 8 bytes: of the element of the operation. */
SW_HD static inline bool sw_64_bits_after(uint32_t op, uint64_t before, uint64_t operand,
                                          uint64_t *after)
{
    return SW_OPS_HAS(SW_OPS_F64, op)   ? sw_f64_after(before, operand, after)
           : SW_OPS_HAS(SW_OPS_I64, op) ? sw_i64_after(before, operand, after)
                                        : sw_u64_after(op, before, operand, after);
}

/* Carries out an operation of SW_OPS_FITTING on each `step`-th number of a row, from number `first`
 * on. The row has `bytes` bytes, without its key string; the row of an absent key is zeros. Row and
 * operand are aligned to 4 bytes. Returns whether the result of some number fits. */
SW_HD static inline bool sw_numbers_apply(uint32_t op, void *row, const void *operand,
                                          uint32_t bytes, uint32_t first, uint32_t step)
{
    uint32_t *to = (uint32_t *)row;
    const uint32_t *from = (const uint32_t *)operand;
    const uint32_t words = SW_OPS_HAS(SW_OPS_64_BITS, op) ? 2 : 1;
    bool some = false;
    for (uint32_t k = first * words; k + words <= bytes / 4; k += step * words) {
        if (words == 1) {
            some |= sw_f32_after(to[k], from[k], &to[k]);
        } else {
            uint64_t after = 0;
            some |= sw_64_bits_after(op, (uint64_t)to[k + 1] << 32 | to[k],
                                     (uint64_t)from[k + 1] << 32 | from[k], &after);
            to[k] = (uint32_t)after;
            to[k + 1] = (uint32_t)(after >> 32);
        }
    }
    return some;
}

#endif
