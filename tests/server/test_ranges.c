/* SPDX-License-Identifier: MIT
 *
 * test_ranges.c - ranges of keys against a set that is looked at key by key, and unix-users.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/users/ranges.h"
#include "server/users/unix_users.h"
#include "tests/support/random.h"

#define KEYS 300

Test(ranges, against_a_set)
{
    struct random random = random_of(0);
    for (int round = 0; round < 2000; round++) {
        struct sw_ranges ranges = {0};
        bool is_in[KEYS] = {false};
        unsigned count = (unsigned)(random_below(&random, 12));
        for (unsigned i = 0; i < count; i++) {
            uint64_t first = random_below(&random, KEYS);
            uint64_t last = first + random_below(&random, 8);
            last = last < KEYS ? last : KEYS - 1;
            cr_assert(sw_ranges_add(&ranges, first, last));
            for (uint64_t key = first; key <= last; key++) {
                is_in[key] = true;
            }
        }
        for (uint32_t i = 1; i < ranges.count; i++) {
            cr_assert_gt(ranges.at[i].first, ranges.at[i - 1].last + 1);
        }
        for (uint64_t key = 0; key < KEYS; key++) {
            uint32_t narrow = (uint32_t)key;
            cr_assert_eq(sw_ranges_hold(&ranges, &key, 8, 1), is_in[key]);
            cr_assert_eq(sw_ranges_hold(&ranges, &narrow, 4, 1), is_in[key]);
        }
    }
}

Test(ranges, one_bad_key_anywhere)
{
    static uint64_t wide[3000];
    static uint32_t narrow[3000];
    struct sw_ranges ranges = {0};
    cr_assert(sw_ranges_add(&ranges, 10, 20) && sw_ranges_add(&ranges, 1000, 1999));
    for (size_t i = 0; i < 3000; i++) {
        wide[i] = 1000 + i % 1000;
        narrow[i] = (uint32_t)wide[i];
    }
    for (size_t i = 0; i < 3000; i += 7) {
        for (size_t count = i; count <= i + 1; count++) { /* without it, and with it */
            wide[i] = narrow[i] = 2000;
            cr_assert_eq(sw_ranges_hold(&ranges, wide, 8, count), count == i);
            cr_assert_eq(sw_ranges_hold(&ranges, narrow, 4, count), count == i);
        }
        wide[i] = narrow[i] = 15;
    }
    cr_assert(sw_ranges_hold(&ranges, wide, 8, 3000));
    cr_assert(sw_ranges_hold(&ranges, wide, 8, 0));
}

Test(ranges, ends_of_the_integers)
{
    struct sw_ranges ranges = {0};
    uint64_t keys[] = {0, UINT64_MAX};
    uint32_t narrow[] = {0, UINT32_MAX};
    cr_assert_not(sw_ranges_hold(&ranges, keys, 8, 2));
    cr_assert(sw_ranges_add(&ranges, UINT64_MAX, UINT64_MAX));
    cr_assert(sw_ranges_hold(&ranges, &keys[1], 8, 1));
    cr_assert_not(sw_ranges_hold(&ranges, &narrow[1], 4, 1)); /* it is another key */
    cr_assert(sw_ranges_add(&ranges, 0, UINT64_MAX - 1));
    cr_assert_eq(ranges.count, 1);
    cr_assert(sw_ranges_hold(&ranges, keys, 8, 2) && sw_ranges_hold(&ranges, narrow, 4, 2));
}

Test(ranges, unix_users)
{
    static const char *const wrong[] = {"1000=alice",      "uid:=alice",       "uid:1000",
                                        "uid:x=a",         "uid:1=",           "uid:1=a b",
                                        "uid:1=a,uid:1=b", "uid:4294967296=a", ",",
                                        "uid:1=a,,uid:2=b"};
    struct sw_unix_users users;
    char error[256];
    cr_assert_eq(sw_unix_users_parse("", &users, error, sizeof(error)), 0);
    cr_assert_null(sw_unix_users_find(&users, 0));
    cr_assert_eq(sw_unix_users_parse("uid:1000=alice,uid:0=default", &users, error, sizeof(error)),
                 0);
    cr_assert_str_eq(sw_unix_users_find(&users, 1000), "alice");
    cr_assert_str_eq(sw_unix_users_find(&users, 0), "default");
    cr_assert_null(sw_unix_users_find(&users, 1));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(sw_unix_users_parse(wrong[i], &users, error, sizeof(error)), -1, "%s",
                     wrong[i]);
    }
}
