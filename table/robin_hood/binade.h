/* SPDX-License-Identifier: MIT
 *
 * binade.h - sums of f32, made one after the other, as if they were made side by side: with the
 * same bits. Host and device.
 *
 * A sum s of which 2^e <= |s| < 2^(e + 1) is a whole number of units of 2^(e - 23). As long as sums
 * stay in this binade each addition rounds to a unit. So an operand x adds a number of units that
 * depends on x alone, x rounded to units; but if x lies half way between two, the sum becomes even:
 * then it depends on whether the sum was odd, and on nothing else. What several operands in a row
 * add depends on that alone, too: two numbers of units, one for an even sum and one for an odd one,
 * which are known before the sum is. So threads find out what pieces of a long chain add to a sum,
 * and the pieces are joined.
 *
 * Exactness: an addition rounds to units if the exact sum lies in the binade. It does if
 * the rounded one has from 2^23 + 1 to 2^24 - 1 units, as then the exact one has at least 2^23 +
 * 1/2 and at most 2^24 - 1/2. A piece is taken only if each of its sums is so; where that is not
 * certain, the caller adds one after the other. Operands are small besides: x + 1.5 * 2^e lies in
 * the binade as well, which rounds x to units, ties to even ones; what was rounded off is exact,
 * and is half a unit if x lay half way. Infinities, and what is no number, leave the binade.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_BINADE_H
#define SHERWOOD_TABLE_ROBIN_HOOD_BINADE_H

#include "table/robin_hood/rows.h"

#define SW_BINADE_DIGITS 23
#define SW_BINADE_ABOVE 0xff800000U /* sign and exponent */
/* So many operands of a change at most, or of all that are joined where it matters whether the
 * whole holds: each that does not stray is less than 2^22 units. */
#define SW_BINADE_OPERANDS 256

/* The binade of a sum. Operands are seen from the sum's side of 0: what takes it there is positive.
 */
struct sw_binade {
    uint32_t base;   /* bits of the sum's sign and 2^e */
    uint32_t middle; /* .. and 1.5 * 2^e */
    uint32_t half;   /* bits of half a unit, without sign */
};

/* What operands in a row add to a sum, in units. */
struct sw_binade_change {
    uint32_t even;     /* to an even sum; modulo 2^32, as a sum that is kept is less than 2^24 */
    int32_t odd;       /* to an odd one so many more: -1, 0 or 1 */
    int32_t low, high; /* what is the least, and the most, after any of them: from an even one */
    uint32_t strayed;  /* bits of SW_BINADE_ABOVE: some operand is too large, or no number */
};

/* Whether there are half units, and the sum is a number. */
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

/* A sum in units, at least 2^23 and less than 2^24. */
SW_HD static inline uint32_t sw_binade_units(uint32_t sum)
{
    return (sum & ~SW_BINADE_ABOVE) | 1U << SW_BINADE_DIGITS;
}

SW_HD static inline uint32_t sw_binade_sum(const struct sw_binade *binade, uint32_t units)
{
    return binade->base | (units & ~SW_BINADE_ABOVE);
}

/* Nothing. */
SW_HD static inline struct sw_binade_change sw_binade_none(void)
{
    struct sw_binade_change none = {0, 0, 0, 0, 0};
    return none;
}

/* The sum of two numbers, where what it is made of counts only if it is a number. */
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

/* One more operand, of at most SW_BINADE_OPERANDS. */
SW_HD static inline void sw_binade_add(const struct sw_binade *binade, uint32_t operand,
                                       struct sw_binade_change *change)
{
    const uint32_t sign = 0x80000000U;
    const uint32_t rounded = sw_binade_plus(operand, binade->middle);
    const uint32_t whole = sw_binade_minus(rounded, binade->middle);
    const uint32_t left = sw_binade_minus(operand, whole);
    if ((left & ~sign) == binade->half) { /* half way: `rounded` is the even one of the two */
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

/* Whether each sum from `units` on stays in the binade. Those from an odd one are one off at most.
 */
SW_HD static inline bool sw_binade_holds(const struct sw_binade_change *change, uint32_t units)
{
    return (change->strayed & SW_BINADE_ABOVE) == 0 && units >> SW_BINADE_DIGITS == 1 &&
           (int32_t)units + change->low > (1 << SW_BINADE_DIGITS) + 1 &&
           (int32_t)units + change->high < (2 << SW_BINADE_DIGITS) - 1;
}

/* What one change after the other adds. */
SW_HD static inline struct sw_binade_change sw_binade_join(const struct sw_binade_change *first,
                                                           const struct sw_binade_change *then)
{
    struct sw_binade_change both;
    const uint32_t from_odd = 1U + first->even + (uint32_t)first->odd;
    /* the second one may begin odd, and is one off at most then */
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
