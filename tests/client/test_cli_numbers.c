/* SPDX-License-Identifier: MIT
 *
 * test_cli_numbers.c - the numbers of rows as text: a number is taken as the nearest one of its
 * type, or refused with a phrase; no field is cut. Lines that no C string can hold are refused.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/lines.h"
#include "client/cli/rows.h"
#include "proto/value_type.h"

static const char *read_one(uint32_t type, const char *text, size_t size, uint64_t *bits)
{
    const uint32_t bytes = sw_value_type_bytes(type);
    const struct sw_cli_row_format format = {SW_FRAME_VALUES_FIXED, type, bytes};
    uint8_t value[8] = {0};
    const char *wrong = sw_cli_row_read(&format, text, size, value);
    memcpy(bits, value, sizeof(*bits));
    return wrong;
}

Test(cli_numbers, that_are_taken)
{
    static const struct {
        uint32_t type;
        const char *text;
        uint64_t bits;
    } cases[] = {
        {SW_TYPE_F32, "1.5", 0x3FC00000},
        {SW_TYPE_F32, "0.1", 0x3DCCCCCD},
        {SW_TYPE_F32, "-0", 0x80000000},
        {SW_TYPE_F32, "0e999", 0},
        {SW_TYPE_F32, "-0.000", 0x80000000},
        {SW_TYPE_F32, "3.4028235e38", 0x7F7FFFFF},
        {SW_TYPE_F32, "1e-45", 1},
        {SW_TYPE_F32, "16777216", 0x4B800000},
        {SW_TYPE_F32, "+00016777216", 0x4B800000},
        {SW_TYPE_F32, "16777217.0", 0x4B800000},
        {SW_TYPE_F32, "340282346638528859811704183484516925440", 0x7F7FFFFF},
        {SW_TYPE_F32, "inf", 0x7F800000},
        {SW_TYPE_F32, "-INF", 0xFF800000},
        {SW_TYPE_F32, "nan", 0x7FC00000},
        {SW_TYPE_F16, "65504", 0x7BFF},
        {SW_TYPE_F16, "65519.9", 0x7BFF},
        {SW_TYPE_F16, "6e-8", 1},
        {SW_TYPE_F16, "-inf", 0xFC00},
        {SW_TYPE_BF16, "3.3895e38", 0x7F7F},
        {SW_TYPE_BF16, "256", 0x4380},
        {SW_TYPE_U32, "4294967295", 0xFFFFFFFF},
        {SW_TYPE_U64, " 18446744073709551615\t", UINT64_MAX},
        {SW_TYPE_I64, "-9223372036854775808", 1ULL << 63},
        {SW_TYPE_I64, "9223372036854775807", INT64_MAX},
        {SW_TYPE_I64, " -1", UINT64_MAX},
        {SW_TYPE_F64, "0.1", 0x3FB999999999999A},
        {SW_TYPE_F64, "5e-324", 1},
        {SW_TYPE_F64, "9007199254740992", 0x4340000000000000},
        {SW_TYPE_F64, "-inf", 0xFFF0000000000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bits = 0;
        const char *wrong = read_one(cases[i].type, cases[i].text, strlen(cases[i].text), &bits);
        cr_expect_null(wrong, "%s: %s", cases[i].text, wrong);
        cr_expect_eq(bits, cases[i].bits, "%s: %llx", cases[i].text, (unsigned long long)bits);
    }
}

Test(cli_numbers, that_are_refused)
{
    static const struct {
        uint32_t type;
        const char *text, *says;
    } cases[] = {
        {SW_TYPE_F32, "1e999", "too large"},
        {SW_TYPE_F32, "-1e39", "too large"},
        {SW_TYPE_F32, "340282366920938463463374607431768211456", "too large"},
        {SW_TYPE_F32, "1e-60", "only hold as 0"},
        {SW_TYPE_F32, "0x1p-200", "only hold as 0"},
        {SW_TYPE_F32, "16777217", "an integer that its type cannot hold"},
        {SW_TYPE_F32, "9007199254740993", "an integer that its type cannot hold"},
        {SW_TYPE_F32, "", "not a number"},
        {SW_TYPE_F32, "1.5x", "not a number"},
        {SW_TYPE_F32, "1,5", "the row has 2 numbers, but must have 1"},
        {SW_TYPE_F32, "nan(7)", "not a number"},
        {SW_TYPE_F32, "infinit", "not a number"},
        {SW_TYPE_F32, "\v1.5", "not a number"},
        {SW_TYPE_F32, "\r1.5", "not a number"},
        {SW_TYPE_F32, "\"1.5\"", "not a number"},
        {SW_TYPE_F32, "1 5", "not a number"},
        {SW_TYPE_F32, "1.00000000000000000000000000000000000000000000000000000000000000001",
         "more than 64 characters"},
        {SW_TYPE_F16, "65520", "too large"},
        {SW_TYPE_F16, "1e9", "too large"},
        {SW_TYPE_F16, "2049", "an integer that its type cannot hold"},
        {SW_TYPE_F16, "1e-8", "only hold as 0"},
        {SW_TYPE_BF16, "3.4e38", "too large"},
        {SW_TYPE_BF16, "257", "an integer that its type cannot hold"},
        {SW_TYPE_BF16, "1e-60", "only hold as 0"},
        {SW_TYPE_U32, "4294967296", "not a number"},
        {SW_TYPE_U32, "-1", "not a number"},
        {SW_TYPE_U32, "1.0", "not a number"},
        {SW_TYPE_U64, "18446744073709551616", "not a number"},
        {SW_TYPE_I64, "9223372036854775808", "not a number"},
        {SW_TYPE_I64, "-9223372036854775809", "not a number"},
        {SW_TYPE_I64, "--1", "not a number"},
        {SW_TYPE_I64, "-", "not a number"},
        {SW_TYPE_F64, "1e309", "too large"},
        {SW_TYPE_F64, "1e-400", "only hold as 0"},
        {SW_TYPE_F64, "9007199254740993", "an integer that its type cannot hold"},
        {SW_TYPE_F64, "1.5x", "not a number"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bits = 0;
        const char *wrong = read_one(cases[i].type, cases[i].text, strlen(cases[i].text), &bits);
        cr_assert_not_null(wrong, "%s", cases[i].text);
        cr_expect_not_null(strstr(wrong, cases[i].says), "%s: %s", cases[i].text, wrong);
    }
    uint64_t bits = 0;
    cr_expect_not_null(read_one(SW_TYPE_F32, "1.5\0garbage", 11, &bits));
    cr_expect_not_null(read_one(SW_TYPE_U32, "15\0", 3, &bits));
}

/* Each number of 16 bits is read as it was written. */
Test(cli_numbers, there_and_back)
{
    static const uint32_t types[] = {SW_TYPE_F16, SW_TYPE_BF16};
    for (uint32_t number = 0; number < 2 * 65536; number++) {
        const uint32_t type = types[number / 65536];
        const struct sw_cli_row_format format = {SW_FRAME_VALUES_FIXED, type, 2};
        const uint16_t before = (uint16_t)number;
        char *text = NULL;
        size_t size = 0;
        uint64_t after = 0;
        FILE *out = open_memstream(&text, &size);
        sw_cli_row_write(out, &format, &before);
        fclose(out);
        const char *wrong = read_one(type, text, size, &after);
        const uint32_t infinity = type == SW_TYPE_F16 ? 0x7C00 : 0x7F80;
        bool is_nan = (before & 0x7FFF) > infinity;
        cr_assert_null(wrong, "%s: %s", text, wrong);
        cr_assert(is_nan ? (after & 0x7FFF) > infinity : after == before, "%s", text);
        free(text);
    }
}

Test(cli_numbers, lines)
{
    static char bytes[] = "one\n\ntw\0o\nmuch too long\nlast";
    static const enum sw_cli_line found[] = {SW_CLI_LINE_GOOD, SW_CLI_LINE_GOOD, SW_CLI_LINE_NUL,
                                             SW_CLI_LINE_LONG, SW_CLI_LINE_GOOD, SW_CLI_LINE_END};
    FILE *in = fmemopen(bytes, sizeof(bytes) - 1, "r");
    char line[9];
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        cr_expect_eq(sw_cli_line_read(in, line, sizeof(line)), found[i], "line %zu", i + 1);
        cr_expect(i != 0 || strcmp(line, "one") == 0);
        cr_expect(i != 4 || strcmp(line, "last") == 0);
    }
    fclose(in);
    in = fopen("/", "r");
    cr_expect_eq(sw_cli_line_read(in, line, sizeof(line)), SW_CLI_LINE_UNREAD);
    fclose(in);
}
