/* SPDX-License-Identifier: MIT
 *
 * test_hints.c - displacement hints by themselves: compared with their definition, and looked up
 * and inserted with beside a table without them, through inserts, deletes and refreshes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/robin_hood.h"
#include "tests/support/random.h"

TestSuite(hints, .timeout = 120);

/* Situations that the random tables must produce; otherwise a test has shown nothing. */
struct seen {
    bool largest;   /* a lead that its bits cannot hold */
    uint32_t steps; /* bit i: a high half i */
    uint64_t kept;  /* hints that deletes left */
};

#define SW_WIDTH_BODY "tests/table/test_hints.inl"
#include "table/each_width.inl"

Test(hints, encoding)
{
    for (uint32_t even = 0; even < 100; even++) {
        for (uint32_t odd = 0; odd < 100; odd++) {
            uint8_t hint = sw_hint_encode(even, odd);
            uint32_t d = even < 63 ? even : 63;
            uint32_t implied = even > 0 ? even - 1 : 0; /* of the odd home, by the even one's */
            uint32_t said = sw_hint_lead(hint, true);
            cr_assert_eq(sw_hint_lead(hint, false), d);
            cr_assert_leq(said, odd > implied ? odd : implied, "%u %u", even, odd);
            if (odd + 1 >= d) {
                cr_assert_eq(said, odd < d + 2 ? odd : d + 2, "%u %u", even, odd);
            }
        }
    }
    cr_assert_eq(sw_hint_lead(0, false), 0);
    cr_assert_eq(sw_hint_lead(0, true), 0);
    cr_assert_eq(sw_hint_lead(255, true) + 1, SW_HINT_REACH);
    cr_assert(sw_hint_count(1) == 1 && sw_hint_count(2) == 1 && sw_hint_count(3) == 2);
}

Test(hints, forget)
{
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        sw_forget_s64(seed);
        sw_forget_s128(seed);
    }
}

Test(hints, small_tables)
{
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= 400; seed++) {
        sw_one_round_s64(seed, 24, &seen);
        sw_one_round_s128(seed, 24, &seen);
    }
    cr_assert(seen.steps == 0xF && seen.kept > 0);
}

/* More rounds than 30 where the random numbers left a case out. */
Test(hints, large_tables)
{
    struct seen seen = {0};
    for (uint64_t seed = 1001; seed <= 1030 || (seed <= 1300 && !seen.largest); seed++) {
        sw_one_round_s64(seed, 3000, &seen);
        sw_one_round_s128(seed, 3000, &seen);
    }
    cr_assert(seen.largest && seen.steps == 0xF && seen.kept > 0);
}

Test(hints, runs_of_known_length)
{
    sw_runs_s64();
    sw_runs_s128();
}
