/* SPDX-License-Identifier: MIT
 *
 * test_values.c - lengths of strings in frames: those that fit, and those that do not.
 */
#include "server/bulk/values.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void put(uint8_t *values, uint32_t width, uint32_t i, uint32_t length)
{
    memcpy(values + (size_t)i * width, &length, sizeof(length));
}

Test(values, lengths_up_to_the_room_fit)
{
    enum { COUNT = 333 };
    static const uint32_t widths[] = {4, 8, 64, 1024};
    for (size_t w = 0; w < 4; w++) {
        uint32_t first = 99, length = 99;
        uint8_t *values = malloc((size_t)COUNT * widths[w]); /* not a byte more */
        memset(values, 0xff, (size_t)COUNT * widths[w]);
        for (uint32_t i = 0; i < COUNT; i++) {
            put(values, widths[w], i, i % (widths[w] - 3));
        }
        cr_assert(sw_bulk_strings_fit(values, widths[w], COUNT, &first, &length));
        cr_assert(sw_bulk_strings_fit(values, widths[w], 0, &first, &length));
        cr_assert_eq(first, 99);
        cr_assert_eq(length, 99);
        free(values);
    }
}

Test(values, the_first_that_is_too_long_is_named)
{
    enum { COUNT = 100, WIDTH = 64 };
    static const uint32_t lengths[] = {61, 64, 1U << 31, UINT32_MAX};
    uint8_t *values = calloc(COUNT, WIDTH);
    for (size_t l = 0; l < 4; l++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t first = 0, length = 0;
            put(values, WIDTH, i, lengths[l]);
            put(values, WIDTH, COUNT - 1, UINT32_MAX - 1);
            cr_assert_not(sw_bulk_strings_fit(values, WIDTH, COUNT, &first, &length));
            cr_assert_eq(first, i);
            cr_assert_eq(length, i == COUNT - 1 ? UINT32_MAX - 1 : lengths[l]);
            put(values, WIDTH, i, 60);
            put(values, WIDTH, COUNT - 1, 0);
        }
    }
    free(values);
}
