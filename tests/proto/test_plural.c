/* SPDX-License-Identifier: MIT
 *
 * test_plural.c - the number of a noun behind a count.
 */
#include <criterion/criterion.h>

#include "proto/plural.h"

Test(plural, only_one_is_singular)
{
    cr_assert_str_eq(sw_plural_s(0), "s");
    cr_assert_str_eq(sw_plural_s(1), "");
    cr_assert_str_eq(sw_plural_s(2), "s");
    cr_assert_str_eq(sw_plural_s(UINT64_MAX), "s");
    cr_assert_str_eq(sw_plural((1ULL << 32) + 1, "is", "are"), "are", "64 bits are compared");
}
