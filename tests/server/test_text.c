/* SPDX-License-Identifier: MIT
 *
 * test_text.c - the bounded buffer, and the RESP shapes written into it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/observe/text.h"

#define WROTE(text, wanted)                                                             \
    do {                                                                                \
        cr_assert_eq((text)->size, sizeof(wanted) - 1, "%zu bytes: %.*s", (text)->size, \
                     (int)(text)->size, (text)->data);                                  \
        cr_assert_arr_eq((text)->data, wanted, sizeof(wanted) - 1);                     \
        cr_assert_not((text)->failed);                                                  \
        sw_text_reset(text);                                                            \
    } while (0)

Test(text, resp_shapes)
{
    struct sw_text text;
    sw_text_init(&text, 4096);
    sw_text_bulk(&text, "a\0b", 3);
    WROTE(&text, "$3\r\na\0b\r\n");
    sw_text_bulk(&text, "", 0);
    WROTE(&text, "$0\r\n\r\n");
    sw_text_bulk(&text, NULL, 0);
    WROTE(&text, "$0\r\n\r\n");
    sw_text_bulk_string(&text, "word");
    WROTE(&text, "$4\r\nword\r\n");
    sw_text_verbatim(&text, "x:1", 3, false);
    WROTE(&text, "$3\r\nx:1\r\n");
    sw_text_verbatim(&text, "x:1", 3, true);
    WROTE(&text, "=7\r\ntxt:x:1\r\n");
    sw_text_verbatim(&text, "", 0, true);
    WROTE(&text, "=4\r\ntxt:\r\n");
    sw_text_simple(&text, "OK");
    WROTE(&text, "+OK\r\n");
    sw_text_error(&text, "ERR a\r\nb\tc\x7f");
    WROTE(&text, "-ERR a  b c \r\n");
    sw_text_integer(&text, INT64_MIN);
    WROTE(&text, ":-9223372036854775808\r\n");
    sw_text_unsigned(&text, UINT64_MAX);
    WROTE(&text, ":18446744073709551615\r\n");
    sw_text_null(&text, false);
    WROTE(&text, "$-1\r\n");
    sw_text_null(&text, true);
    WROTE(&text, "_\r\n");
    sw_text_array(&text, 3);
    WROTE(&text, "*3\r\n");
    sw_text_map(&text, 3, false);
    WROTE(&text, "*6\r\n");
    sw_text_map(&text, 3, true);
    WROTE(&text, "%3\r\n");
    sw_text_printf(&text, "%s=%d", "a", 7);
    WROTE(&text, "a=7");
    sw_text_fini(&text);
}

Test(text, keeps_what_was_written_while_growing)
{
    struct sw_text text;
    sw_text_init(&text, 1 << 20);
    for (unsigned i = 0; i < 20000; i++) {
        sw_text_printf(&text, "%08u", i);
    }
    cr_assert_not(text.failed);
    cr_assert_eq(text.size, 160000);
    cr_assert_leq(text.capacity, text.limit);
    for (unsigned i = 0; i < 20000; i++) {
        char digits[9] = "";
        memcpy(digits, text.data + (size_t)i * 8, 8);
        cr_assert_eq(strtoul(digits, NULL, 10), i);
    }
    sw_text_reset(&text);
    cr_assert_eq(text.size, 0);
    cr_assert_geq(text.capacity, 160000, "the memory is kept");
    sw_text_fini(&text);
    cr_assert_null(text.data);
}

Test(text, limit_is_exact_for_bytes)
{
    struct sw_text text;
    char bytes[1000];
    memset(bytes, 'x', sizeof(bytes));
    sw_text_init(&text, 1000);
    sw_text_append(&text, bytes, 999);
    sw_text_append(&text, bytes, 1);
    cr_assert_not(text.failed);
    cr_assert_eq(text.size, 1000);
    sw_text_append(&text, bytes, 1);
    cr_assert(text.failed);
    cr_assert_eq(text.size, 1000);
    sw_text_fini(&text);
}

Test(text, a_write_that_does_not_fit_leaves_nothing)
{
    /* Each kind of write, at every limit up to one that is enough. */
    for (int kind = 0; kind < 9; kind++) {
        bool fitted = false;
        for (size_t limit = 0; limit < 200; limit++) {
            struct sw_text text;
            sw_text_init(&text, limit);
            switch (kind) {
            case 0:
                sw_text_append(&text, "0123456789", 10);
                break;
            case 1:
                sw_text_printf(&text, "%s", "0123456789");
                break;
            case 2:
                sw_text_bulk(&text, "0123456789", 10);
                break;
            case 3:
                sw_text_verbatim(&text, "0123456789", 10, true);
                break;
            case 4:
                sw_text_error(&text, "ERR x");
                break;
            case 5:
                sw_text_unsigned(&text, UINT64_MAX);
                break;
            case 6:
                sw_text_null(&text, false);
                break;
            case 7:
                sw_text_map(&text, 1, true);
                break;
            default:
                sw_text_simple(&text, "OK");
                break;
            }
            cr_assert_leq(text.size, limit);
            cr_assert_leq(text.capacity, limit);
            cr_assert(text.failed == (text.size == 0), "kind %d, limit %zu: %zu bytes", kind, limit,
                      text.size);
            cr_assert(!fitted || !text.failed, "kind %d fitted into less than %zu", kind, limit);
            fitted = !text.failed;
            sw_text_fini(&text);
        }
        cr_assert(fitted);
    }
}

Test(text, failure_is_sticky_until_reset)
{
    struct sw_text text;
    sw_text_init(&text, 8);
    cr_assert_not(sw_text_reserve(&text, 9));
    sw_text_append(&text, "a", 1);
    cr_assert_eq(text.size, 0);
    cr_assert_not(sw_text_reserve(&text, SIZE_MAX));
    sw_text_reset(&text);
    sw_text_append(&text, "a", 1);
    cr_assert_eq(text.size, 1);
    cr_assert_not(sw_text_reserve(&text, SIZE_MAX), "no overflow in the sum");
    sw_text_fini(&text);
}
