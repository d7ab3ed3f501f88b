/* SPDX-License-Identifier: MIT
 *
 * binade.h - computes chains of f32 additions in parallel, with the same bits as in order. Host and
 * device.
 *
 * A sum s with 2^e <= |s| < 2^(e + 1) is a whole number of units of 2^(e - 23). While sums stay in
 * this binade, each addition rounds to a unit. So an operand x adds a number of units that depends
 * only on x: x rounded to units. If x lies half way between two units, the result is rounded to
 * even, so it also depends on whether the sum was odd. The same holds for a run of several
 * operands: it adds one number of units to an even sum and another to an odd sum. Both numbers are
 * known before the sum is. So threads compute the changes by pieces of a long chain, and the pieces
 * are joined.
 *
 * Exactness: an addition rounds to units if the exact sum lies in the binade. It does if the
 * rounded sum has from 2^23 + 1 to 2^24 - 1 units, since the exact sum then has at least 2^23 + 1/2
 * and at most 2^24 - 1/2 units. A piece is used only if all its sums are in this range; otherwise
 * the caller adds in order. Operands must also be small: x + 1.5 * 2^e must lie in the binade. That
 * addition rounds x to units, ties to even. The rounding error is exact, and is half a unit if x
 * lay half way. Infinities and NaNs leave the binade.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_BINADE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_BINADE_H

#include "table/robin_hood/rows.h"

#define SW_BINADE_DIGITS 23
#define SW_BINADE_ABOVE 0xff800000U /* sign and exponent */
/* Maximum number of operands of a change, or of all joined changes if the caller checks the whole
 * with sw_binade_holds. Each operand that does not stray is less than 2^22 units. */
#define SW_BINADE_OPERANDS 256

/* The binade of a sum. The sign of an operand is relative to the sum: positive means away from 0.
 */
struct sw_binade {
    uint32_t base;   /* bits of the sum's sign and 2^e */
    uint32_t middle; /* bits of the sum's sign and 1.5 * 2^e */
    uint32_t half;   /* bits of half a unit, without sign */
};

/* The change of a sum by a run of operands, in units. */
struct sw_binade_change {
    uint32_t even; /* added to an even sum; modulo 2^32, as a sum in the binade is less than 2^24 */
    int32_t odd;   /* added to an odd sum in addition: -1, 0 or 1 */
    int32_t low, high; /* minimum and maximum after any operand, from an even sum */
    uint32_t strayed;  /* bits of SW_BINADE_ABOVE: some operand is too large or NaN */
};

/* Returns whether f32 can represent half a unit of this sum, and the sum is finite. */
SW_HD static inline bool sw_binade_has(uint32_t sum)
{
    const uint32_t exponent = sum >> SW_BINADE_DIGITS & 0xff;
    return exponent > SW_BINADE_DIGITS + 1 && exponent < 0xff;
}

SW_HD static inline struct sw_binade sw_binade_of(uint32_t sum)
{
    struct sw_binade binade;
    binade.base = sum & SW_BINADE_ABOVE;
    binade.middle = binade.base | 1U << (SW_BINADE_DIGITS - 1);
    binade.half = (binade.base & 0x7fffffffU) - ((SW_BINADE_DIGITS + 1U) << SW_BINADE_DIGITS);
    return binade;
}

/* The sum in units: at least 2^23 and less than 2^24. */
SW_HD static inline uint32_t sw_binade_units(uint32_t sum)
{
    return (sum & ~SW_BINADE_ABOVE) | 1U << SW_BINADE_DIGITS;
}

SW_HD static inline uint32_t sw_binade_sum(const struct sw_binade *binade, uint32_t units)
{
    return binade->base | (units & ~SW_BINADE_ABOVE);
}

/* The change by no operand. */
SW_HD static inline struct sw_binade_change sw_binade_none(void)
{
    struct sw_binade_change none = {0, 0, 0, 0, 0};
    return none;
}

/* The sum of two f32. The payload of a NaN is undefined. */
SW_HD static inline uint32_t sw_binade_plus(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
#else
    return sw_row_sum_f32(a, b);
#endif
}

SW_HD static inline uint32_t sw_binade_minus(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(__fsub_rn(__uint_as_float(a), __uint_as_float(b)));
#else
    return sw_row_sum_f32(a, b ^ 0x80000000U);
#endif
}

/* Appends an operand to a change, which has at most SW_BINADE_OPERANDS. */
SW_HD static inline void sw_binade_add(const struct sw_binade *binade, uint32_t operand,
                                       struct sw_binade_change *change)
{
    const uint32_t sign = 0x80000000U;
    const uint32_t rounded = sw_binade_plus(operand, binade->middle);
    const uint32_t whole = sw_binade_minus(rounded, binade->middle);
    const uint32_t left = sw_binade_minus(operand, whole);
    if ((left & ~sign) == binade->half) { /* half way: `rounded` is the even neighbour */
        const int32_t further = ((left ^ binade->base) & sign) == 0 ? 1 : -1;
        const bool was_odd = (change->even & 1) != 0;
        if (change->odd == 0) {
            change->odd = was_odd ? -further : further;
        }
        change->even += was_odd ? (uint32_t)further : 0;
    }
    change->strayed |= rounded ^ binade->base;
    change->even += rounded - binade->middle;
    const int32_t now = (int32_t)change->even;
    change->low = now < change->low ? now : change->low;
    change->high = now > change->high ? now : change->high;
}

/* The sum, in units, after a change that holds. */
SW_HD static inline uint32_t sw_binade_after(const struct sw_binade_change *change, uint32_t units)
{
    return units + change->even + ((units & 1) != 0 ? (uint32_t)change->odd : 0);
}

/* Returns whether each sum, starting from `units`, stays in the binade. The sums from an odd start
 * differ by at most one. */
SW_HD static inline bool sw_binade_holds(const struct sw_binade_change *change, uint32_t units)
{
    return (change->strayed & SW_BINADE_ABOVE) == 0 && units >> SW_BINADE_DIGITS == 1 &&
           (int32_t)units + change->low > (1 << SW_BINADE_DIGITS) + 1 &&
           (int32_t)units + change->high < (2 << SW_BINADE_DIGITS) - 1;
}

/* The change by `first` and then `then`. */
SW_HD static inline struct sw_binade_change sw_binade_join(const struct sw_binade_change *first,
                                                           const struct sw_binade_change *then)
{
    struct sw_binade_change both;
    const uint32_t from_odd = 1U + first->even + (uint32_t)first->odd;
    /* `then` may start from an odd sum; then its sums differ by at most one */
    const int32_t low = (int32_t)(first->even + (uint32_t)then->low - 1U);
    const int32_t high = (int32_t)(first->even + (uint32_t)then->high + 1U);
    both.even = first->even + ((first->even & 1) != 0 ? (uint32_t)then->odd : 0) + then->even;
    both.odd = first->odd + ((from_odd & 1) != 0 ? then->odd : 0) -
               ((first->even & 1) != 0 ? then->odd : 0);
    both.low = low < first->low ? low : first->low;
    both.high = high > first->high ? high : first->high;
    both.strayed = first->strayed | then->strayed;
    return both;
}

#endif
