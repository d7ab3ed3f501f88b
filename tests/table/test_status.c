/* SPDX-License-Identifier: MIT
 *
 * test_status.c - every status has a text of its own.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/table.h"

Test(status, texts)
{
#define CHECK(name, value, text)                  \
    cr_assert_str_eq(sw_status_text(name), text); \
    cr_assert_eq(name, value);
    SW_STATUS_MAP(CHECK)
#undef CHECK
    cr_assert_str_eq(sw_status_text(12345), "unknown status");
    cr_assert_str_eq(sw_status_text(-12345), "unknown status");
}
