/* SPDX-License-Identifier: MIT
 *
 * decimal_float.h - sums of decimal texts as redis' INCRBYFLOAT makes them, for host and device.
 *
 * redis computes with the long double of x86: 64 bits of mantissa, rounded to nearest even. This
 * file does the same in integers, so that every machine and every device gets the same bytes. It
 * takes numbers below 10^309, and counts those below 10^-60 as 0.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_OPS_DECIMAL_FLOAT_H
#define SHERWOOD_OPS_DECIMAL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ops/apply.h"

/* The longest text of a result: a sign, 309 digits, a point, 17 digits. */
#define SW_FLOAT_TEXT_BYTES 328U

#define SW_FLOAT_DIGITS_MAX 309 /* before the point */
#define SW_FLOAT_ZEROS_MAX 60   /* behind the point: below that a number counts as 0 */
#define SW_FLOAT_DIGITS_KEPT 100U
#define SW_FLOAT_LIMBS 36U

/* mantissa * 2^exponent. The highest bit of the mantissa is set, unless the number is 0. */
struct sw_extended {
    uint64_t mantissa;
    int32_t exponent;
    bool negative;
};

/* A natural number below 2^(32 * SW_FLOAT_LIMBS); the lowest limb is the first. */
struct sw_natural {
    uint32_t used; /* limbs; the last one is not 0 */
    uint32_t limbs[SW_FLOAT_LIMBS];
};

/* Memory of a computation. On a device it may be shared memory. */
struct sw_float_space {
    struct sw_natural a, b;
};

/* --- natural numbers -------------------------------------------------------------------------- */

SW_HD static inline void sw_natural_of(struct sw_natural *n, uint64_t value)
{
    n->limbs[0] = (uint32_t)value;
    n->limbs[1] = (uint32_t)(value >> 32);
    n->used = n->limbs[1] != 0 ? 2 : n->limbs[0] != 0;
}

SW_HD static inline void sw_natural_multiply(struct sw_natural *n, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (uint32_t i = 0; i < n->used; i++) {
        carry += (uint64_t)n->limbs[i] * factor;
        n->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) {
        n->limbs[n->used++] = (uint32_t)carry;
    }
}

SW_HD static inline void sw_natural_times_ten_to(struct sw_natural *n, uint32_t power)
{
    for (; power >= 9; power -= 9) {
        sw_natural_multiply(n, 1000000000U, 0);
    }
    for (; power > 0; power--) {
        sw_natural_multiply(n, 10, 0);
    }
}

/* Returns the remainder. */
SW_HD static inline uint32_t sw_natural_divide(struct sw_natural *n, uint32_t divisor)
{
    uint64_t rest = 0;
    for (uint32_t i = n->used; i > 0; i--) {
        rest = rest << 32 | n->limbs[i - 1];
        n->limbs[i - 1] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    n->used -= n->used > 0 && n->limbs[n->used - 1] == 0;
    return (uint32_t)rest;
}

SW_HD static inline void sw_natural_shift(struct sw_natural *n, uint32_t bits)
{
    const uint32_t limbs = bits / 32, rest = bits % 32;
    if (n->used == 0) {
        return;
    }
    for (uint32_t i = n->used; i > 0; i--) {
        n->limbs[i - 1 + limbs] = n->limbs[i - 1];
    }
    for (uint32_t i = 0; i < limbs; i++) {
        n->limbs[i] = 0;
    }
    n->used += limbs;
    sw_natural_multiply(n, 1U << rest, 0);
}

SW_HD static inline uint32_t sw_natural_bits(const struct sw_natural *n)
{
    uint32_t bits = 32 * n->used;
    for (uint32_t top = n->used > 0 ? n->limbs[n->used - 1] : 0; top != 0 && top >> 31 == 0;) {
        top <<= 1;
        bits--;
    }
    return bits;
}

SW_HD static inline bool sw_natural_is_less(const struct sw_natural *a, const struct sw_natural *b)
{
    uint32_t i = a->used;
    if (a->used != b->used) {
        return a->used < b->used;
    }
    while (i > 1 && a->limbs[i - 1] == b->limbs[i - 1]) {
        i--;
    }
    return i > 0 && a->limbs[i - 1] < b->limbs[i - 1];
}

/* Subtracts a number that is not larger. */
SW_HD static inline void sw_natural_subtract(struct sw_natural *a, const struct sw_natural *b)
{
    uint64_t borrow = 0;
    for (uint32_t i = 0; i < a->used; i++) {
        const uint64_t take = (i < b->used ? b->limbs[i] : 0) + borrow;
        borrow = a->limbs[i] < take;
        a->limbs[i] = (uint32_t)(a->limbs[i] - take);
    }
    while (a->used > 0 && a->limbs[a->used - 1] == 0) {
        a->used--;
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The quotient a / b, rounded to nearest even; neither is 0. `sticky`: a is a little less than what
 * is meant. */
SW_HD static inline void sw_extended_quotient(struct sw_natural *a, struct sw_natural *b,
                                              bool sticky, struct sw_extended *out)
{
    int32_t power = (int32_t)sw_natural_bits(a) - (int32_t)sw_natural_bits(b);
    sw_natural_shift(power < 0 ? a : b, (uint32_t)(power < 0 ? -power : power));
    if (sw_natural_is_less(a, b)) {
        sw_natural_shift(a, 1);
        power--;
    }
    out->mantissa = 0;
    bool bit = false;
    for (uint32_t i = 0; i <= 64; i++) { /* the last bit rounds */
        out->mantissa = out->mantissa << 1 | bit;
        bit = !sw_natural_is_less(a, b);
        if (bit) {
            sw_natural_subtract(a, b);
        }
        sw_natural_shift(a, 1);
    }
    out->exponent = power - 63;
    if (bit && (sticky || a->used > 0 || (out->mantissa & 1) != 0)) {
        out->mantissa++;
        if (out->mantissa == 0) {
            out->mantissa = 1ULL << 63;
            out->exponent++;
        }
    }
}

/* The kind of number that a text stands for. */
enum sw_float_kind { SW_FLOAT_NONE, SW_FLOAT_FINITE, SW_FLOAT_INFINITE };

/* Reads an exponent from e or E to the end. Returns false otherwise. */
SW_HD static inline bool sw_float_read_exponent(const uint8_t *text, uint32_t size, uint32_t at,
                                                int32_t *exponent)
{
    const bool negative = at + 1 < size && text[at + 1] == '-';
    const bool has_sign = negative || (at + 1 < size && text[at + 1] == '+');
    uint32_t i = at + 1 + has_sign;
    int32_t value = 0;
    if ((text[at] | 0x20) != 'e' || i >= size) {
        return false;
    }
    for (; i < size; i++) {
        const uint32_t digit = (uint32_t)text[i] - '0';
        if (digit > 9) {
            return false;
        }
        value = value < 100000 ? value * 10 + (int32_t)digit : value;
    }
    *exponent = negative ? -value : value;
    return true;
}

/* Is text[at, size) inf or infinity? */
SW_HD static inline bool sw_float_is_infinity(const uint8_t *text, uint32_t size, uint32_t at)
{
    const char *word = "infinity";
    const uint32_t length = size - at;
    bool is = length == 3 || length == 8;
    for (uint32_t i = 0; is && i < length; i++) {
        is = (text[at + i] | 0x20) == (uint8_t)word[i];
    }
    return is;
}

/* Reads a decimal number. */
SW_HD static inline enum sw_float_kind sw_float_read(const uint8_t *text, uint32_t size,
                                                     struct sw_float_space *space,
                                                     struct sw_extended *out)
{
    struct sw_natural *a = &space->a, *b = &space->b;
    const bool has_sign = size > 0 && (text[0] == '-' || text[0] == '+');
    uint32_t i = has_sign, seen = 0, kept = 0;
    int32_t scale = 0, exponent = 0; /* powers of ten */
    bool point = false, sticky = false;
    *out = (struct sw_extended){0, 0, has_sign && text[0] == '-'};
    if (sw_float_is_infinity(text, size, i)) {
        return SW_FLOAT_INFINITE;
    }
    sw_natural_of(a, 0);
    for (; i < size; i++) {
        const uint32_t digit = (uint32_t)text[i] - '0';
        if (text[i] == '.' && !point) {
            point = true;
        } else if (digit > 9) {
            break;
        } else {
            seen++;
            if (kept < SW_FLOAT_DIGITS_KEPT) {
                sw_natural_multiply(a, 10, digit);
                kept += a->used > 0;
                scale -= point;
            } else {
                sticky |= digit != 0;
                scale += !point;
            }
        }
    }
    if (seen == 0 || (i < size && !sw_float_read_exponent(text, size, i, &exponent))) {
        return SW_FLOAT_NONE;
    }
    scale += exponent;
    if (kept == 0 || (int32_t)kept + scale < -SW_FLOAT_ZEROS_MAX) {
        return SW_FLOAT_FINITE;
    }
    if ((int32_t)kept + scale > SW_FLOAT_DIGITS_MAX) {
        return SW_FLOAT_NONE;
    }
    sw_natural_of(b, 1);
    sw_natural_times_ten_to(scale < 0 ? b : a, (uint32_t)(scale < 0 ? -scale : scale));
    sw_extended_quotient(a, b, sticky, out);
    return SW_FLOAT_FINITE;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* high:low, whose highest bit is set, as a mantissa of 64 bits. */
SW_HD static inline void sw_extended_round(struct sw_extended *sum, uint64_t high, uint64_t low)
{
    const uint64_t half = 1ULL << 63;
    sum->mantissa = high;
    if (low > half || (low == half && (high & 1) != 0)) {
        sum->mantissa++;
        if (sum->mantissa == 0) {
            sum->mantissa = half;
            sum->exponent++;
        }
    }
}

SW_HD static inline struct sw_extended sw_extended_add(struct sw_extended a, struct sw_extended b)
{
    if (b.mantissa == 0 ||
        (a.mantissa != 0 &&
         (a.exponent > b.exponent || (a.exponent == b.exponent && a.mantissa >= b.mantissa)))) {
        const struct sw_extended larger = a;
        a = b;
        b = larger;
    } /* now b is the larger one */
    if (a.mantissa == 0) {
        return b;
    }
    const uint32_t shift = (uint32_t)(b.exponent - a.exponent);
    uint64_t high = shift < 64 ? a.mantissa >> shift : 0;
    uint64_t low = shift == 0    ? 0
                   : shift < 64  ? a.mantissa << (64 - shift)
                   : shift == 64 ? a.mantissa
                   : shift < 128 ? a.mantissa >> (shift - 64)
                                 : 0;
    const bool lost = shift >= 128 || (shift > 64 && a.mantissa << (128 - shift) != 0);
    low |= lost; /* far below what rounds */
    if (a.negative == b.negative) {
        high += b.mantissa;
        if (high < b.mantissa) {
            low = low >> 1 | (low & 1) | high << 63;
            high = high >> 1 | 1ULL << 63;
            b.exponent++;
        }
    } else {
        high = b.mantissa - high - (low != 0);
        low = 0 - low;
        if (high == 0 && low == 0) {
            return (struct sw_extended){0, 0, false};
        }
        while (high >> 63 == 0) {
            high = high << 1 | low >> 63;
            low <<= 1;
            b.exponent--;
        }
    }
    sw_extended_round(&b, high, low);
    return b;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The fraction of a number below 2^64, rounded to nearest even, in units of 10^-17: up to 10^17. */
SW_HD static inline uint64_t sw_extended_fraction(uint64_t fraction, uint32_t bits,
                                                  struct sw_natural *n)
{
    uint64_t whole = 0;
    sw_natural_of(n, fraction);
    sw_natural_times_ten_to(n, 17);
    const uint32_t all = sw_natural_bits(n);
    if (all < bits) {
        return 0; /* less than a half */
    }
    for (uint32_t i = all; i > bits; i--) {
        whole = whole << 1 | (n->limbs[(i - 1) / 32] >> (i - 1) % 32 & 1);
    }
    bool half = (n->limbs[(bits - 1) / 32] >> (bits - 1) % 32 & 1) != 0;
    bool more = false;
    for (uint32_t i = 0; i < bits - 1; i++) {
        more |= (n->limbs[i / 32] >> i % 32 & 1) != 0;
    }
    return whole + (half && (more || (whole & 1) != 0));
}

/* Writes the digits of a natural number; returns how many. 0 has one. */
SW_HD static inline uint32_t sw_natural_write(struct sw_natural *n, uint8_t *out)
{
    uint32_t count = 0;
    do {
        out[count++] = (uint8_t)('0' + sw_natural_divide(n, 10));
    } while (n->used > 0);
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint8_t digit = out[i];
        out[i] = out[count - 1 - i];
        out[count - 1 - i] = digit;
    }
    return count;
}

/* Writes a number with up to 17 digits behind its point, without zeros at the end. Returns the
 * bytes of the text; 0: it has more than SW_FLOAT_DIGITS_MAX digits before its point. */
SW_HD static inline uint32_t sw_extended_write(const struct sw_extended *number,
                                               struct sw_float_space *space, uint8_t *out)
{
    struct sw_natural *whole = &space->a;
    uint64_t fraction = 0;
    sw_natural_of(whole, number->mantissa);
    if (number->exponent >= 0) {
        if (number->exponent > 32 * (int32_t)SW_FLOAT_LIMBS - 96) {
            return 0;
        }
        sw_natural_shift(whole, (uint32_t)number->exponent);
    } else {
        const uint32_t bits = (uint32_t)-number->exponent;
        const uint64_t before = bits < 64 ? number->mantissa >> bits : 0;
        fraction = sw_extended_fraction(number->mantissa - (bits < 64 ? before << bits : 0), bits,
                                        &space->b);
        const bool carries = fraction == 100000000000000000ULL;
        fraction = carries ? 0 : fraction;
        sw_natural_of(whole, before + carries);
    }
    const bool negative = number->negative && (whole->used > 0 || fraction > 0);
    out[0] = '-';
    uint32_t size = sw_natural_write(whole, out + negative) + negative;
    if (size - negative > SW_FLOAT_DIGITS_MAX) {
        return 0;
    }
    if (fraction > 0) {
        out[size] = '.';
        for (uint32_t i = 17; i > 0; i--) {
            out[size + i] = (uint8_t)('0' + fraction % 10);
            fraction /= 10;
        }
        size += 18;
        while (out[size - 1] == '0') {
            size--;
        }
    }
    return size;
}

#endif
