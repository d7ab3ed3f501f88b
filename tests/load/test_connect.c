/* SPDX-License-Identifier: MIT
 *
 * test_connect.c - addresses that sherwood-load refuses.
 */
#include "bench/load/connect.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(connect, ports_do_not_wrap_round)
{
    static const char *const ports[] = {"0",  "65536", "83776", "18446744073709559000",
                                        "-1", "http"};
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        char address[64], text[256] = "";
        snprintf(address, sizeof(address), "127.0.0.1:%s", ports[i]);
        cr_expect_eq(sw_load_connect(address, 100, text, sizeof(text)), -1, "%s", address);
        cr_expect_not_null(strstr(text, "a port is a number from 1 to 65535"), "%s", text);
    }
}
