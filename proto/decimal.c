/* SPDX-License-Identifier: MIT
 *
 * decimal.c - unsigned integers as decimal text: eight digits at a time in, two at a time out.
 */
#include "proto/decimal.h"

#include <string.h>

static const char digit_pairs[200] = "00010203040506070809"
                                     "10111213141516171819"
                                     "20212223242526272829"
                                     "30313233343536373839"
                                     "40414243444546474849"
                                     "50515253545556575859"
                                     "60616263646566676869"
                                     "70717273747576777879"
                                     "80818283848586878889"
                                     "90919293949596979899";

static const uint64_t powers_of_ten[SW_DECIMAL_DIGITS_MAX] = {
    1U,
    10U,
    100U,
    1000U,
    10000U,
    100000U,
    1000000U,
    10000000U,
    100000000U,
    1000000000U,
    10000000000U,
    100000000000U,
    1000000000000U,
    10000000000000U,
    100000000000000U,
    1000000000000000U,
    10000000000000000U,
    100000000000000000U,
    1000000000000000000U,
    10000000000000000000U,
};

/* Loads 8 bytes, the first as the lowest one, whatever the byte order of the machine. This compiles
 * to one load on x86-64. */
static inline uint64_t load_eight(const uint8_t *text)
{
    return (uint64_t)text[0] | (uint64_t)text[1] << 8 | (uint64_t)text[2] << 16 |
           (uint64_t)text[3] << 24 | (uint64_t)text[4] << 32 | (uint64_t)text[5] << 40 |
           (uint64_t)text[6] << 48 | (uint64_t)text[7] << 56;
}

/* A digit has a high nibble of 3, also after adding 6. */
static inline bool are_eight_digits(uint64_t chunk)
{
    const uint64_t high = 0xF0F0F0F0F0F0F0F0U;
    return ((chunk & high) | ((chunk + 0x0606060606060606U) & high) >> 4) == 0x3333333333333333U;
}

/* Joins neighbours: digits to pairs, pairs to fours, fours to eight. The first digit is the lowest
 * byte, so each step weighs the lower half of a lane more. */
static inline uint64_t join_eight_digits(uint64_t chunk)
{
    chunk = (chunk & 0x0F0F0F0F0F0F0F0FU) * ((10U << 8) + 1) >> 8;
    chunk = (chunk & 0x00FF00FF00FF00FFU) * ((100U << 16) + 1) >> 16;
    return (chunk & 0x0000FFFF0000FFFFU) * ((UINT64_C(10000) << 32) + 1) >> 32;
}

/* Parses up to 7 digits. */
static bool parse_short(const uint8_t *text, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t digit = (uint8_t)(text[i] - '0');
        if (digit > 9) {
            return false;
        }
        *value = *value * 10 + digit;
    }
    return true;
}

/* The first `size` of 8 bytes, 1 to 8, with zeros as digits before them. */
static inline uint64_t first_digits(uint64_t chunk, size_t size)
{
    unsigned unused = (unsigned)(8 - size) * 8;
    return chunk << unused | (0x3030303030303030U & ~(UINT64_MAX << unused));
}

/* Parses 8 to 20 digits without a leading 0: eight at a time from the end, and the first eight
 * bytes, which may overlap the others. Numbers of 17 to 20 digits, as most random numbers are, take
 * the same path. */
static bool parse_long(const uint8_t *text, size_t size, uint64_t *value)
{
    uint64_t last = load_eight(text + size - 8);
    uint64_t first = load_eight(text);
    if (size <= 16) {
        first = size == 8 ? 0x3030303030303030U : first_digits(first, size - 8);
        *value = join_eight_digits(first) * 100000000 + join_eight_digits(last);
        return are_eight_digits(first) && are_eight_digits(last);
    }
    uint64_t middle = load_eight(text + size - 16);
    first = first_digits(first, size - 16);
    uint64_t low = join_eight_digits(middle) * 100000000 + join_eight_digits(last);
    bool overflow = __builtin_mul_overflow(join_eight_digits(first), powers_of_ten[16], value) ||
                    __builtin_add_overflow(*value, low, value);
    return are_eight_digits(first) && are_eight_digits(middle) && are_eight_digits(last) &&
           !overflow;
}

bool sw_decimal_parse(const uint8_t *text, size_t size, uint64_t max, uint64_t *out)
{
    if (size == 0) {
        return false;
    }
    for (; size > 0 && *text == '0'; size--) {
        text++;
    }
    if (size > SW_DECIMAL_DIGITS_MAX) {
        return false;
    }
    uint64_t value;
    bool valid = size < 8 ? parse_short(text, size, &value) : parse_long(text, size, &value);
    if (!valid || value > max) {
        return false;
    }
    *out = value;
    return true;
}

/* The power of the unit that a letter stands for; 0: no unit. */
static unsigned power_of(uint8_t letter)
{
    switch (letter | 0x20) {
    case 'k':
        return 1;
    case 'm':
        return 2;
    case 'g':
        return 3;
    case 't':
        return 4;
    default:
        return 0;
    }
}

/* `base`: of a unit without an i. */
static bool parse_unit(const uint8_t *text, size_t size, uint64_t base, uint64_t max, uint64_t *out)
{
    const bool binary = size > 2 && text[size - 1] == 'i' && power_of(text[size - 2]) > 0;
    size -= binary;
    const unsigned power = size == 0 ? 0 : power_of(text[size - 1]);
    uint64_t value = 0, factor = 1;
    for (unsigned i = 0; i < power; i++) {
        factor *= binary ? 1024 : base;
    }
    if (!sw_decimal_parse(text, size - (power > 0), max / factor, &value)) {
        return false;
    }
    *out = value * factor;
    return true;
}

bool sw_decimal_parse_size(const uint8_t *text, size_t size, uint64_t max, uint64_t *out)
{
    return parse_unit(text, size, 1024, max, out);
}

bool sw_decimal_parse_count(const uint8_t *text, size_t size, uint64_t max, uint64_t *out)
{
    return parse_unit(text, size, 1000, max, out);
}

size_t sw_decimal_digits(uint64_t value)
{
    /* bits * log10(2), rounded down, is the digit count or one less (19 for 64 bits); 1233 / 4096
     * is near enough. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned guess = bits * 1233 >> 12;
    return guess + (value >= powers_of_ten[guess]) + (value == 0);
}

size_t sw_decimal_format(uint64_t value, char *out)
{
    size_t digits = sw_decimal_digits(value);
    char *end = out + digits;
    while (value >= 100) {
        uint64_t rest = value / 100;
        end -= 2;
        memcpy(end, digit_pairs + 2 * (value - rest * 100), 2);
        value = rest;
    }
    if (value >= 10) {
        memcpy(end - 2, digit_pairs + 2 * value, 2);
    } else {
        end[-1] = (char)('0' + value);
    }
    return digits;
}
