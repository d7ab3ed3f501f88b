/* SPDX-License-Identifier: MIT
 *
 * test_hex.c - bytes as hex digits, and random ids.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto/hex.h"
#include "proto/random_id.h"

Test(hex, every_byte_is_two_digits_in_lower_case_and_back)
{
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        char expected[8], text[8] = "xxxxxx";
        uint8_t back = (uint8_t)~byte;
        snprintf(expected, sizeof(expected), "%02x", i);
        sw_hex_encode(&byte, 1, text);
        cr_assert_str_eq(text, expected);
        cr_assert_eq(text[3], 'x', "a byte past the NUL was written");
        cr_assert(sw_hex_decode(text, 1, &back));
        cr_assert_eq(back, byte);
        text[0] = (char)toupper(text[0]);
        text[1] = (char)toupper(text[1]);
        cr_assert(sw_hex_decode(text, 1, &back));
        cr_assert_eq(back, byte, "in upper case");
    }
}

Test(hex, a_digit_is_one_of_22_characters)
{
    for (int c = -128; c < 128; c++) {
        const bool is_digit = c > 0 && isxdigit(c);
        cr_assert_eq(sw_hex_digit((char)c) >= 0, is_digit, "character %d", c);
    }
}

Test(hex, no_bytes_are_an_empty_text)
{
    char text[2] = "x";
    sw_hex_encode(NULL, 0, text);
    cr_assert_str_eq(text, "");
    cr_assert(sw_hex_decode(text, 0, NULL));
}

Test(hex, a_wrong_character_at_any_place_is_refused)
{
    for (size_t at = 0; at < 8; at++) {
        char text[] = "01aB45cD";
        uint8_t bytes[4];
        cr_assert(sw_hex_decode(text, 4, bytes));
        text[at] = 'g';
        cr_assert_not(sw_hex_decode(text, 4, bytes), "at %zu", at);
        text[at] = '\0';
        cr_assert_not(sw_hex_decode(text, 4, bytes), "NUL at %zu", at);
    }
}

Test(hex, an_id_has_40_digits_and_two_ids_differ)
{
    char one[SW_RANDOM_ID_BYTES], other[SW_RANDOM_ID_BYTES];
    sw_random_id(one);
    sw_random_id(other);
    cr_assert_eq(strlen(one), 40);
    cr_assert_eq(strspn(one, "0123456789abcdef"), 40);
    cr_assert_str_neq(one, other);
    cr_assert_eq(sw_random_id_number("000001f4ffffffffffffffffffffffffffffffff"), 500);
    cr_assert_eq(sw_random_id_number("f0000000"), UINT32_C(15) << 28);
}
