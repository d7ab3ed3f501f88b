/* SPDX-License-Identifier: MIT
 *
 * test_ahead.c - when a pool of device memory maps memory ahead and when it releases memory.
 */
#include <criterion/criterion.h>

#include "table/device/ahead.h"

#define GIB (1ULL << 30)
#define START_NS 5000000000ULL
#define QUIET SW_AHEAD_QUIET_NS
#define PACE SW_AHEAD_PACE_NS

static const struct sw_ahead_memory plenty = {.unused = 0, .free = 64 * GIB, .total = 128 * GIB};

Test(ahead, an_empty_plan_waits)
{
    struct sw_ahead_plan plan = {0};
    cr_assert_eq(sw_ahead_next(&plan, &plenty, START_NS), SW_AHEAD_WAIT);
    cr_assert_eq(plan.quiet_ns, 0, "for a call, however long that takes");
}

Test(ahead, freed_memory_stays_for_a_quiet_second)
{
    struct sw_ahead_memory memory = plenty;
    struct sw_ahead_plan plan = {0};
    memory.unused = GIB;
    sw_ahead_freed(&plan, START_NS);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS), SW_AHEAD_WAIT);
    cr_assert_eq(plan.quiet_ns, START_NS + QUIET);
    sw_ahead_freed(&plan, START_NS + QUIET - 1);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS + QUIET), SW_AHEAD_WAIT,
                 "the second begins again");
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS + 2 * QUIET - 1), SW_AHEAD_RELEASE);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS + 2 * QUIET), SW_AHEAD_WAIT, "once");
    cr_assert_eq(plan.quiet_ns, 0);
}

Test(ahead, an_expected_allocation_is_mapped_once)
{
    struct sw_ahead_plan plan = {0};
    cr_assert(sw_ahead_expect(&plan, 2 * GIB, START_NS), "the thread sleeps");
    cr_assert_eq(sw_ahead_next(&plan, &plenty, START_NS), SW_AHEAD_MAP);
    cr_assert_eq(plan.expected, 2 * GIB);
    cr_assert_not(sw_ahead_expect(&plan, 2 * GIB, START_NS + 1), "it is mapped");
    cr_assert_eq(sw_ahead_next(&plan, &plenty, START_NS + QUIET), SW_AHEAD_WAIT);
    cr_assert(sw_ahead_expect(&plan, 4 * GIB, START_NS + 2), "the next one is larger");
    cr_assert_eq(sw_ahead_next(&plan, &plenty, START_NS + 3), SW_AHEAD_MAP);
    cr_assert_eq(sw_ahead_next(&plan, &plenty, START_NS + 2 + QUIET), SW_AHEAD_RELEASE,
                 "nobody expects it any more");
    cr_assert(sw_ahead_expect(&plan, 4 * GIB, START_NS + 2 * QUIET));
    cr_assert_eq(sw_ahead_next(&plan, &plenty, START_NS + 2 * QUIET), SW_AHEAD_MAP);
}

Test(ahead, small_allocations_are_not_mapped_ahead)
{
    struct sw_ahead_plan plan = {0};
    cr_assert_not(sw_ahead_expect(&plan, SW_AHEAD_LEAST_BYTES - 1, START_NS));
    cr_assert_eq(plan.quiet_ns, 0);
    cr_assert(sw_ahead_expect(&plan, SW_AHEAD_LEAST_BYTES, START_NS));
}

/* An eighth of the memory stays free. Unused memory of the pool counts as mapped already. */
Test(ahead, mapping_leaves_a_share_free)
{
    struct sw_ahead_memory memory = {.unused = GIB, .free = 17 * GIB, .total = 128 * GIB};
    struct sw_ahead_plan plan = {0};
    sw_ahead_expect(&plan, 2 * GIB, START_NS);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS), SW_AHEAD_MAP, "one more, 16 remain");
    sw_ahead_expect(&plan, 2 * GIB + 1, START_NS);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS), SW_AHEAD_WAIT);
    sw_ahead_expect(&plan, GIB, START_NS);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS), SW_AHEAD_WAIT, "there is enough");
}

/* Another table or program may need it. */
Test(ahead, scarce_memory_is_released_at_once_and_once)
{
    struct sw_ahead_memory memory = {.unused = GIB, .free = 16 * GIB - 1, .total = 128 * GIB};
    struct sw_ahead_plan plan = {0};
    sw_ahead_freed(&plan, START_NS);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS), SW_AHEAD_RELEASE);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS), SW_AHEAD_WAIT, "what cannot be released");
    sw_ahead_expect(&plan, GIB / 2, START_NS + 1);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS + 1), SW_AHEAD_WAIT, "nothing is mapped");
    sw_ahead_freed(&plan, START_NS + 2);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS + 2), SW_AHEAD_RELEASE);
    memory.unused = 0;
    sw_ahead_freed(&plan, START_NS + 3);
    cr_assert_eq(sw_ahead_next(&plan, &memory, START_NS + 3), SW_AHEAD_WAIT);
}

Test(ahead, unknown_memory_is_not_mapped)
{
    const struct sw_ahead_memory unknown = {0};
    struct sw_ahead_plan plan = {0};
    sw_ahead_expect(&plan, GIB, START_NS);
    cr_assert_eq(sw_ahead_next(&plan, &unknown, START_NS), SW_AHEAD_WAIT);
}

/* 1,000 entries in 1 ms are 1,000,000 in a second. */
Test(ahead, a_table_is_full_soon_at_its_pace)
{
    struct sw_ahead_pace pace = {0};
    cr_assert_not(sw_ahead_is_full_soon(&pace, 7, 0, START_NS), "no pace is known");
    cr_assert_not(sw_ahead_is_full_soon(&pace, 1007, 0, START_NS + PACE - 1), "too early");
    cr_assert(sw_ahead_is_full_soon(&pace, 1007, 1000000, START_NS + PACE));
    cr_assert_not(sw_ahead_is_full_soon(&pace, 2007, 1000001, START_NS + 2 * PACE));
    cr_assert_not(sw_ahead_is_full_soon(&pace, 2007, 0, START_NS + 3 * PACE), "nothing was added");
    cr_assert_not(sw_ahead_is_full_soon(&pace, 1007, 0, START_NS + 4 * PACE), "some were deleted");
    cr_assert_not(sw_ahead_is_full_soon(&pace, 2007, 1000000, START_NS + 6 * PACE),
                  "half the pace");
    pace.added = UINT64_MAX - 499;
    cr_assert(sw_ahead_is_full_soon(&pace, 500, 1000000, START_NS + 7 * PACE), "the number wraps");
}
