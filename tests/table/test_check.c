/* SPDX-License-Identifier: MIT
 *
 * test_check.c - the scanner finds each kind of damage, and says which.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/robin_hood/check.h"

/* 16 home buckets, cap 2, a stash of 2 + 2 buckets; home(m) is the top 4 bits of m. */
enum { BUCKETS = 16, CAP = 2, STASH = 2, SLOTS = (BUCKETS + CAP + 2 * STASH) * SW_BUCKET_SLOTS };

static const struct sw_geometry geometry = {.buckets = BUCKETS,
                                            .buckets_total = BUCKETS + CAP,
                                            .max_probe = CAP,
                                            .occupied_max = 64,
                                            .stash_buckets = STASH,
                                            .stash_buckets_total = 2 * STASH,
                                            .stash_max = 4,
                                            .slots_total = SLOTS};

static struct {
    struct sw_slot_s64 slots[SLOTS];
    struct sw_state state;
} planted;

static void put(uint32_t bucket, uint32_t slot, uint32_t m)
{
    planted.slots[bucket * SW_BUCKET_SLOTS + slot] = (struct sw_slot_s64){.value = 7, .m = m};
    planted.state.occupied++;
}

/* Bucket 3 is full and bucket 4 holds one displaced entry and one at home. */
static void plant(void)
{
    memset(planted.slots, 0xFF, sizeof(planted.slots));
    memset(&planted.state, 0, sizeof(planted.state));
    for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
        put(3, (i + 1) % SW_BUCKET_SLOTS, 0x30000000 + 4 * i);
    }
    put(4, SW_BUCKET_SLOTS - 1, 0x30000100);
    put(4, 0, 0x40000000);
}

TestSuite(check, .init = plant);

static void finds(const char *rule)
{
    char violation[256];
    int status =
        sw_check_slots(64, &geometry, &planted.state, planted.slots, violation, sizeof(violation));
    if (rule == NULL) {
        cr_assert_eq(status, SW_OK, "%s", violation);
        return;
    }
    cr_assert_eq(status, SW_E_INVALID, "%s was not found", rule);
    cr_assert_eq(strncmp(violation, rule, strlen(rule)), 0, "not %s, but %s", rule, violation);
    cr_assert_eq(sw_check_slots(64, &geometry, &planted.state, planted.slots, NULL, 0),
                 SW_E_INVALID);
}

Test(check, healthy)
{
    finds(NULL);
    put(BUCKETS + CAP, 0, 0x31000000); /* in the stash */
    planted.state.stash_occupied = 1;
    planted.state.side_present = 1;
    planted.state.occupied++;
    finds(NULL);
}

Test(check, order_of_buckets)
{
    put(4, 1, 0x30000002);
    finds("I1");
}

Test(check, twins_in_a_bucket)
{
    put(4, 1, 0x40000000);
    finds("I2");
}

Test(check, twins_in_main_and_stash)
{
    put(BUCKETS + CAP, 0, 0x30000100);
    planted.state.stash_occupied = 1;
    finds("I2");
}

Test(check, before_its_home)
{
    put(6, 1, 0x70000000);
    finds("I3");
}

Test(check, past_the_cap)
{
    for (uint32_t b = 8; b < 11; b++) {
        for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
            put(b, i, 0x80000000 + b * SW_BUCKET_SLOTS + i);
        }
    }
    finds(NULL);
    put(11, 0, 0x80000100);
    finds("I3");
}

Test(check, gap_before_a_displaced_entry)
{
    memset(&planted.slots[3 * SW_BUCKET_SLOTS + 1], 0xFF, sizeof(planted.slots[0]));
    planted.state.occupied--;
    finds("I4");
}

Test(check, value_in_an_empty_slot)
{
    planted.slots[SLOTS - 1].value = 0;
    finds("I5");
}

Test(check, counts)
{
    planted.state.occupied++;
    finds("I6");
    planted.state.side_present = 1;
    finds(NULL);
    planted.state.side_present = 2;
    planted.state.occupied++;
    finds("I6");
    plant();
    planted.state.stash_occupied = 1;
    finds("I6");
}

/* A hole counts as full. It has no entry, and none may be in bucket 0 or beside a used stash. */
Test(check, holes)
{
    const uint32_t removed = 3 * SW_BUCKET_SLOTS + 1;
    planted.slots[removed] = (struct sw_slot_s64){0};
    planted.state.occupied--;
    finds("I3");
    planted.state.holes = 1;
    finds(NULL);
    planted.state.holes = 2;
    finds("I6");
    planted.state.holes = 1;
    put(BUCKETS + CAP, 0, 0x31000000);
    planted.state.stash_occupied = 1;
    finds("I7");
    plant();
    put(0, 0, 0);
    put(0, 1, 1);
    finds(NULL);
    planted.state.holes = 1;
    finds("I6");
}

/* The same scanner for the other width. */
Test(check, slots_of_128_bits)
{
    struct sw_slot_s128 slots[SLOTS];
    struct sw_state state = {.occupied = 1};
    char violation[256];
    memset(slots, 0xFF, sizeof(slots));
    slots[5 * SW_BUCKET_SLOTS] = (struct sw_slot_s128){.value = 1, .m = 5ULL << 60};
    cr_assert_eq(sw_check_slots(128, &geometry, &state, slots, violation, sizeof(violation)), SW_OK,
                 "%s", violation);
    slots[6 * SW_BUCKET_SLOTS] = (struct sw_slot_s128){.value = 1, .m = (5ULL << 60) + 1};
    state.occupied = 2;
    cr_assert_eq(sw_check_slots(128, &geometry, &state, slots, violation, sizeof(violation)),
                 SW_E_INVALID);
    cr_assert_eq(strncmp(violation, "I4", 2), 0, "%s", violation);
}
