/* SPDX-License-Identifier: MIT
 *
 * test_decimal.c - decimal text at every boundary, against the C library.
 */
#include "proto/decimal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/proto/guard.h"
#include "tests/support/random.h"

#define UNTOUCHED UINT64_C(0xABABABABABABABAB)

static struct guard guard;

static void setup(void)
{
    guard = guard_create(256);
}

static void teardown(void)
{
    guard_destroy(&guard);
}

TestSuite(decimal, .init = setup, .fini = teardown);

static bool parse(const char *text, uint64_t max, uint64_t *out)
{
    size_t size = strlen(text);
    return sw_decimal_parse(guard_place(&guard, text, size), size, max, out);
}

static void expect(const char *text, uint64_t max, uint64_t value)
{
    uint64_t out = UNTOUCHED;
    cr_assert(parse(text, max, &out), "'%s' was refused", text);
    cr_assert(out == value, "'%s' became %" PRIu64, text, out);
}

static void refuse(const char *text, uint64_t max)
{
    uint64_t out = UNTOUCHED;
    cr_assert(!parse(text, max, &out), "'%s' became %" PRIu64, text, out);
    cr_assert(out == UNTOUCHED, "'%s' was refused but wrote %" PRIu64, text, out);
}

Test(decimal, accepts_both_widths_up_to_their_largest)
{
    expect("0", UINT64_MAX, 0);
    expect("0", 0, 0);
    expect("4294967295", UINT32_MAX, UINT32_MAX);
    expect("4294967296", UINT64_MAX, UINT64_C(4294967296));
    expect("9999999999999999999", UINT64_MAX, UINT64_C(9999999999999999999));
    expect("10000000000000000000", UINT64_MAX, UINT64_C(10000000000000000000));
    expect("18446744073709551609", UINT64_MAX, UINT64_MAX - 6);
    expect("18446744073709551615", UINT64_MAX, UINT64_MAX);
}

Test(decimal, refuses_what_passes_the_width)
{
    refuse("1", 0);
    refuse("4294967296", UINT32_MAX);
    refuse("4294967295", UINT32_MAX - 1);
    refuse("18446744073709551616", UINT32_MAX);
    refuse("18446744073709551615", UINT64_MAX - 1);
    refuse("18446744073709551616", UINT64_MAX);
    refuse("18446744073709551625", UINT64_MAX);
    refuse("18446744073709551620", UINT64_MAX);
    refuse("18446744073709551700", UINT64_MAX);
    refuse("20000000000000000000", UINT64_MAX);
    refuse("99999999999999999999", UINT64_MAX);
    refuse("100000000000000000000", UINT64_MAX);
    refuse("184467440737095516150", UINT64_MAX);
    refuse("36893488147419103232", UINT64_MAX); /* 2^65: wraps to 0 */
}

Test(decimal, takes_leading_zeros_of_any_number)
{
    expect("00", UINT64_MAX, 0);
    expect("000000000042", UINT64_MAX, 42);
    expect("00000000000000000000000000000000000000018446744073709551615", UINT64_MAX, UINT64_MAX);
    expect("0000000000000000000000000000000000000000000000000000000000", UINT32_MAX, 0);
    refuse("00000000000000000000000000000000000000018446744073709551616", UINT64_MAX);
    refuse("0000000000000000000000000000000x", UINT64_MAX);
}

Test(decimal, refuses_everything_but_digits_at_every_place)
{
    refuse("", UINT64_MAX);
    refuse("-1", UINT64_MAX);
    refuse("+1", UINT64_MAX);
    refuse(" 1", UINT64_MAX);
    refuse("1 ", UINT64_MAX);
    refuse("0x10", UINT64_MAX);
    refuse("1e3", UINT64_MAX);
    refuse("1.0", UINT64_MAX);
    for (size_t size = 1; size <= SW_DECIMAL_DIGITS_MAX + 2; size++) {
        for (size_t at = 0; at < size; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                uint8_t text[SW_DECIMAL_DIGITS_MAX + 2];
                memset(text, '1', sizeof(text));
                text[at] = (uint8_t)byte;
                bool digit = byte >= '0' && byte <= '9';
                uint64_t out;
                bool got =
                    sw_decimal_parse(guard_place(&guard, text, size), size, UINT64_MAX, &out);
                /* Numbers of 20 digits may be too large; every shorter one fits. */
                cr_assert(got == digit || (size >= 20 && !got), "byte %u at %zu of %zu", byte, at,
                          size);
            }
        }
    }
}

static void format_agrees(uint64_t value)
{
    char want[32];
    char got[SW_DECIMAL_DIGITS_MAX + 2];
    size_t digits = (size_t)snprintf(want, sizeof(want), "%" PRIu64, value);
    memset(got, '#', sizeof(got));
    size_t size = sw_decimal_format(value, got);
    cr_assert(size == digits && memcmp(got, want, digits) == 0, "%s became %.*s", want, (int)size,
              got);
    cr_assert(got[digits] == '#', "%s: a byte behind the digits was written", want);
    cr_assert(sw_decimal_digits(value) == digits, "%s: digits %zu", want, sw_decimal_digits(value));
    expect(want, UINT64_MAX, value);
    expect(want, value, value);
    if (value > 0) {
        refuse(want, value - 1);
    }
}

Test(decimal, formats_and_parses_every_power_and_its_neighbours)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t power = UINT64_C(1) << bit;
        format_agrees(power - 1);
        format_agrees(power);
        format_agrees(power + 1);
    }
    uint64_t power = 1;
    for (unsigned digits = 1; digits <= SW_DECIMAL_DIGITS_MAX; digits++) {
        format_agrees(power - 1);
        format_agrees(power);
        format_agrees(power + 1);
        power *= 10;
    }
    format_agrees(UINT64_MAX);
    for (uint64_t value = 0; value < 20000; value++) {
        format_agrees(value);
    }
}

Test(decimal, formats_and_parses_random_values_of_every_length)
{
    struct random state = random_of(0);
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t value = random_next(&state);
        format_agrees(value >> (random_next(&state) % 64));
    }
}

Test(decimal, text_with_random_damage_agrees_with_strtoull)
{
    struct random state = random_of(1);
    for (unsigned i = 0; i < 200000; i++) {
        char text[32];
        uint64_t value = random_next(&state) >> (random_next(&state) % 64);
        snprintf(text, sizeof(text), "%" PRIu64 "%" PRIu64, value, random_next(&state) % 100);
        if (random_next(&state) % 2 == 0) {
            text[random_next(&state) % strlen(text)] = (char)(random_next(&state) % 127 + 1);
        }
        char *end;
        errno = 0;
        unsigned long long want = strtoull(text, &end, 10);
        bool valid = text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
        uint64_t got = UNTOUCHED;
        cr_assert(parse(text, UINT64_MAX, &got) == valid, "'%s'", text);
        cr_assert(got == (valid ? want : UNTOUCHED), "'%s' became %" PRIu64, text, got);
    }
}

Test(decimal, sizes_take_a_binary_suffix)
{
    static const struct {
        const char *text;
        uint64_t max, value; /* UNTOUCHED: refused */
    } rows[] = {
        {"0", 0, 0},
        {"7", UINT64_MAX, 7},
        {"007", UINT64_MAX, 7},
        {"1K", UINT64_MAX, 1024},
        {"1k", 1024, 1024},
        {"1k", 1023, UNTOUCHED},
        {"3M", UINT64_MAX, 3 << 20},
        {"5g", UINT64_MAX, UINT64_C(5) << 30},
        {"2T", UINT64_MAX, UINT64_C(2) << 40},
        {"1Ki", UINT64_MAX, 1024},
        {"3Mi", UINT64_MAX, 3 << 20},
        {"5gi", UINT64_MAX, UINT64_C(5) << 30},
        {"2Ti", UINT64_MAX, UINT64_C(2) << 40},
        {"1ki", 1023, UNTOUCHED},
        {"16777216Ti", UINT64_MAX, UNTOUCHED},
        {"i", UINT64_MAX, UNTOUCHED},
        {"1i", UINT64_MAX, UNTOUCHED},
        {"Ki", UINT64_MAX, UNTOUCHED},
        {"1KI", UINT64_MAX, UNTOUCHED},
        {"1Kii", UINT64_MAX, UNTOUCHED},
        {"1MiB", UINT64_MAX, UNTOUCHED},
        {"16777215T", UINT64_MAX, UINT64_C(16777215) << 40},
        {"16777216T", UINT64_MAX, UNTOUCHED},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX},
        {"18446744073709551615K", UINT64_MAX, UNTOUCHED},
        {"18446744073709551616", UINT64_MAX, UNTOUCHED},
        {"", UINT64_MAX, UNTOUCHED},
        {"K", UINT64_MAX, UNTOUCHED},
        {"1KK", UINT64_MAX, UNTOUCHED},
        {"1 K", UINT64_MAX, UNTOUCHED},
        {"1KB", UINT64_MAX, UNTOUCHED},
        {"-1K", UINT64_MAX, UNTOUCHED},
        {"1.5K", UINT64_MAX, UNTOUCHED},
        {"1P", UINT64_MAX, UNTOUCHED},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size = strlen(rows[i].text);
        uint64_t out = UNTOUCHED;
        bool parsed =
            sw_decimal_parse_size(guard_place(&guard, rows[i].text, size), size, rows[i].max, &out);
        cr_assert(parsed == (rows[i].value != UNTOUCHED), "'%s'", rows[i].text);
        cr_assert(out == rows[i].value, "'%s' became %" PRIu64, rows[i].text, out);
    }
}
