/* SPDX-License-Identifier: MIT
 *
 * test_string_apply.c - sums of decimal texts against the C library and against what redis 7.0.15
 * has answered; and what operations leave in the row of a string.
 */
#include "proto/ops/string_apply.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/proto/guard.h"
#include "tests/support/random.h"

static struct sw_string_space space;

enum { ROOM = 400, ROW = SW_STRING_HEAD_BYTES + ROOM, DRAWS = 60000 };

static struct guard guard;

static void setup(void)
{
    guard = guard_create(ROW);
}

static void teardown(void)
{
    guard_destroy(&guard);
}

TestSuite(string_apply, .init = setup, .fini = teardown);

static struct sw_string string_of(const char *text)
{
    return (struct sw_string){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* The sum as text, or one of the words below. */
static const char *sum(bool is_float, const char *old, const char *operand)
{
    static const char *const words[] = {"",         "no integer", "no float",
                                        "overflow", "not finite", "too long"};
    static char text[SW_NUMBER_TEXT_BYTES + 1];
    uint32_t size = 0;
    const struct sw_string before = old != NULL ? string_of(old) : (struct sw_string){NULL, 0};
    const enum sw_string_fault fault =
        sw_string_after(is_float ? SW_VERB_INCRBYFLOAT : SW_VERB_INCRBY, old != NULL, before,
                        string_of(operand), ROOM, &space, &size);
    memcpy(text, space.text, SW_NUMBER_TEXT_BYTES);
    text[fault == SW_STRING_DONE ? size : 0] = '\0';
    return fault == SW_STRING_DONE ? text : words[fault];
}

/* What redis 7.0.15 answers to INCRBY. */
Test(string_apply, integers_as_redis)
{
    static const char *const rows[][3] = {
        {NULL, "1", "1"},
        {NULL, "-1", "-1"},
        {"41", "1", "42"},
        {"-1", "1", "0"},
        {"0", "-1", "-1"},
        {"9", "1", "10"},
        {"9223372036854775806", "1", "9223372036854775807"},
        {"9223372036854775807", "1", "overflow"},
        {"9223372036854775807", "-9223372036854775808", "-1"},
        {"-9223372036854775808", "-1", "overflow"},
        {"-9223372036854775808", "9223372036854775807", "-1"},
        {NULL, "-9223372036854775808", "-9223372036854775808"},
        {"", "1", "no integer"},
        {"-", "1", "no integer"},
        {"-0", "1", "no integer"},
        {"00", "1", "no integer"},
        {"01", "1", "no integer"},
        {"-01", "1", "no integer"},
        {"+1", "1", "no integer"},
        {" 1", "1", "no integer"},
        {"1 ", "1", "no integer"},
        {"1.0", "1", "no integer"},
        {"1e3", "1", "no integer"},
        {"0x1", "1", "no integer"},
        {"abc", "1", "no integer"},
        {"9223372036854775808", "0", "no integer"},
        {"-9223372036854775809", "0", "no integer"},
        {"18446744073709551617", "0", "no integer"},
        {"99999999999999999999", "0", "no integer"},
        {"1", "+1", "no integer"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_str_eq(sum(false, rows[i][0], rows[i][1]), rows[i][2], "%s + %s", rows[i][0],
                         rows[i][1]);
    }
}

/* What redis 7.0.15 answers to INCRBYFLOAT. */
Test(string_apply, floats_as_redis)
{
    static const char *const rows[][3] = {
        {NULL, "10.50", "10.5"},
        {"10.50", "0.1", "10.6"},
        {"10.6", "-5", "5.6"},
        {"5.0e3", "2.0e2", "5200"},
        {"3.0", "1.000000000000000005", "4.00000000000000001"},
        {"0.1", "0.2", "0.3"},
        {"1", "-1", "0"},
        {"-0", "0", "0"},
        {NULL, "3.14159265358979323846", "3.14159265358979324"},
        {NULL, "1e17", "100000000000000000"},
        {NULL, "1e22", "10000000000000000000000"},
        {NULL, "1e30", "1000000000000000000024696061952"},
        {"17179869184", "1.5", "17179869185.5"},
        {"9223372036854775807", "1", "9223372036854775808"},
        {"18446744073709551615", "1", "18446744073709551616"},
        {NULL, "1e-17", "0.00000000000000001"},
        {NULL, "4e-18", "0"},
        {NULL, "-1e-18", "0"},
        {NULL, ".5", "0.5"},
        {NULL, "5.", "5"},
        {NULL, "+5", "5"},
        {"1", "inf", "not finite"},
        {"1", "-Infinity", "not finite"},
        {"abc", "inf", "no float"},
        {"1", "nan", "no float"},
        {" 11", "1.0", "no float"},
        {"11 ", "1.0", "no float"},
        {" 11 ", "1.0", "no float"},
        {"", "1.0", "no float"},
        {".", "1", "no float"},
        {"1e", "1", "no float"},
        {"1e+", "1", "no float"},
        {"1.2.3", "1", "no float"},
        {"1", "abc", "no float"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_expect_str_eq(sum(true, rows[i][0], rows[i][1]), rows[i][2], "%s + %s", rows[i][0],
                         rows[i][1]);
    }
}

static const char *draw_integer(struct random *random, char *text, size_t room)
{
    const int64_t value = (int64_t)(random_next(random) >> random_below(random, 64));
    static const char *const pieces[] = {"", "0", "-", "+", " ", "x"};
    snprintf(text, room, "%s%" PRId64 "%s", pieces[random_below(random, 12) % 6 * (value % 5 == 0)],
             value % 3 == 0 ? -value : value, value % 17 == 0 ? "7" : "");
    return text;
}

Test(string_apply, integers_as_the_c_library)
{
    struct random random = random_of(1);
    char text[64], again[64];
    for (int i = 0; i < DRAWS; i++) {
        int64_t ours = 0;
        errno = 0;
        const long long theirs = strtoll(draw_integer(&random, text, sizeof(text)), NULL, 10);
        snprintf(again, sizeof(again), "%lld", theirs);
        const bool is = errno == 0 && strcmp(text, again) == 0; /* as it would be written */
        cr_assert_eq(sw_string_integer(string_of(text), &ours), is, "%s", text);
        cr_assert(!is || ours == theirs, "%s", text);
        if (is) {
            const uint32_t size = sw_string_put_integer(ours, (uint8_t *)again);
            cr_assert(size == strlen(text) && memcmp(again, text, size) == 0, "%s", text);
        }
    }
}

#if LDBL_MANT_DIG == 64

static const char *draw_float(struct random *random, char *text)
{
    const char *sign = random_below(random, 3) == 0 ? "-" : "";
    const unsigned long long a = random_next(random) >> random_below(random, 64);
    const unsigned long long b = random_next(random);
    switch (random_below(random, 5)) {
    case 0:
        sprintf(text, "%s%llu", sign, a);
        break;
    case 1:
        sprintf(text, "%s%llu.%llu", sign, a, b);
        break;
    case 2:
        sprintf(text, "%s%llu.%llue%d", sign, a % 1000, b, (int)random_below(random, 340) - 45);
        break;
    case 3: /* 65 bits: between two numbers */
        sprintf(text, "%s%.0Lf", sign, ldexpl((long double)(a | 1ULL << 63), 1));
        text[strlen(text) - 1]++;
        break;
    default:
        sprintf(text, "%s0.%0*llu", sign, (int)random_below(random, 40) + 1, b);
        break;
    }
    return text;
}

/* Sums as redis makes them: by strtold and "%.17Lf", without zeros at the end. */
Test(string_apply, floats_as_the_long_double_of_x86)
{
    struct random random = random_of(2);
    char a[512], b[512], theirs[8192];
    for (int i = 0; i < DRAWS; i++) {
        draw_float(&random, a);
        draw_float(&random, b);
        const long double all = strtold(a, NULL) + strtold(b, NULL);
        size_t size = (size_t)snprintf(theirs, sizeof(theirs), "%.17Lf", all);
        while (theirs[size - 1] == '0') {
            size--;
        }
        size -= theirs[size - 1] == '.';
        theirs[size] = '\0';
        cr_assert_str_eq(sum(true, a, b), strcmp(theirs, "-0") == 0 ? "0" : theirs, "%s + %s", a,
                         b);
    }
}

#endif

/* Puts a string into the row that ends at the guard. */
static uint8_t *row_of(const char *text, uint32_t room)
{
    static uint8_t row[ROW];
    memset(row, 0, sizeof(row));
    memcpy(row + SW_STRING_HEAD_BYTES, text, strlen(text));
    sw_string_set_size(row, (uint32_t)strlen(text));
    return guard_place(&guard, row, SW_STRING_HEAD_BYTES + room);
}

/* Applies the verb to a row of `room` bytes, and compares the whole row. */
static void expect_row(enum sw_verb verb, bool found, const char *old, const char *operand,
                       uint32_t room, const char *wanted, enum sw_string_fault fault)
{
    uint8_t more[ROW] = {0}, zeros[ROW] = {0};
    uint8_t *row = row_of(old, room);
    memcpy(more + SW_STRING_HEAD_BYTES, operand, strlen(operand));
    sw_string_set_size(more, (uint32_t)strlen(operand));
    cr_assert_eq(sw_string_apply(verb, found, row, more, room, &space), fault, "%s, %s", old,
                 operand);
    const struct sw_string after = sw_string_at(row, room);
    cr_assert(after.size == strlen(wanted) && memcmp(after.bytes, wanted, after.size) == 0,
              "%s, %s: %.*s", old, operand, (int)after.size, (const char *)after.bytes);
    cr_assert_arr_eq(after.bytes + after.size, zeros, room - after.size);
}

Test(string_apply, rows)
{
    expect_row(SW_VERB_APPEND, true, "abc", "de", 5, "abcde", SW_STRING_DONE);
    expect_row(SW_VERB_APPEND, true, "abc", "def", 5, "abc", SW_STRING_TOO_LONG);
    expect_row(SW_VERB_APPEND, false, "", "abcde", 5, "abcde", SW_STRING_DONE);
    expect_row(SW_VERB_APPEND, false, "", "", 5, "", SW_STRING_DONE);
    expect_row(SW_VERB_INCRBY, true, "9", "1", 2, "10", SW_STRING_DONE);
    expect_row(SW_VERB_INCRBY, true, "10", "-1", 2, "9", SW_STRING_DONE);
    expect_row(SW_VERB_INCRBY, true, "99", "1", 2, "99", SW_STRING_TOO_LONG);
    expect_row(SW_VERB_INCRBY, true, "abc", "1", 3, "abc", SW_STRING_NO_INTEGER);
    expect_row(SW_VERB_INCRBY, false, "", "7", 3, "7", SW_STRING_DONE);
    expect_row(SW_VERB_INCRBY, false, "", "x", 3, "0", SW_STRING_NO_INTEGER);
    expect_row(SW_VERB_INCRBY, false, "", "", 0, "", SW_STRING_NO_INTEGER);
    expect_row(SW_VERB_INCRBYFLOAT, true, "1.5", "1.5", 3, "3", SW_STRING_DONE);
    expect_row(SW_VERB_INCRBYFLOAT, true, "99", ".5", 3, "99", SW_STRING_TOO_LONG);
    expect_row(SW_VERB_INCRBYFLOAT, true, "3", "inf", 3, "3", SW_STRING_NOT_FINITE);
    expect_row(SW_VERB_INCRBYFLOAT, false, "", "1e30", 5, "0", SW_STRING_TOO_LONG);
}

/* A length that a client has made up reaches no byte behind the row. */
Test(string_apply, wrong_length)
{
    uint8_t *row = row_of("12", 4);
    uint8_t operand[ROW] = {0};
    memset(row, 0xff, SW_STRING_HEAD_BYTES);
    memset(operand, 0xff, sizeof(operand));
    cr_assert_eq(sw_string_apply(SW_VERB_APPEND, true, row, operand, 4, &space),
                 SW_STRING_TOO_LONG);
    cr_assert_eq(sw_string_apply(SW_VERB_INCRBY, true, row, operand, 4, &space),
                 SW_STRING_NO_INTEGER);
    cr_assert_eq(sw_string_apply(SW_VERB_INCRBYFLOAT, true, row, operand, 4, &space),
                 SW_STRING_NO_FLOAT);
}
