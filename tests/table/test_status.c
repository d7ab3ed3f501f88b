/* SPDX-License-Identifier: MIT
 *
 * test_status.c - every status has a text of its own, and every write path of CUDA a name.
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

Test(status, write_paths)
{
    for (int a = 0; a < SW_WRITE_PATH_COUNT; a++) {
        cr_assert_str_neq(sw_write_path_name((enum sw_write_path)a), "unknown");
        for (int b = 0; b < a; b++) {
            cr_assert_str_neq(sw_write_path_name((enum sw_write_path)a),
                              sw_write_path_name((enum sw_write_path)b));
        }
    }
    cr_assert_str_eq(sw_write_path_name(SW_WRITE_PATH_STREAM), "stream");
    cr_assert_str_eq(sw_write_path_name(SW_WRITE_PATH_COUNT), "unknown");
}
