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

struct planted {
    struct sw_slot_s64 slots[SLOTS];
    struct sw_state state;
};

static void put(struct planted *planted, uint32_t bucket, uint32_t slot, uint32_t m)
{
    planted->slots[bucket * SW_BUCKET_SLOTS + slot] = (struct sw_slot_s64){.value = 7, .m = m};
    planted->state.occupied++;
}

/* Bucket 3 is full and bucket 4 holds one displaced entry and one at home. */
static void plant(struct planted *planted)
{
    memset(planted->slots, 0xFF, sizeof(planted->slots));
    memset(&planted->state, 0, sizeof(planted->state));
    for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
        put(planted, 3, (i + 1) % SW_BUCKET_SLOTS, 0x30000000 + 4 * i);
    }
    put(planted, 4, SW_BUCKET_SLOTS - 1, 0x30000100);
    put(planted, 4, 0, 0x40000000);
}

static void finds(struct planted *planted, const char *rule)
{
    char violation[256];
    int status = sw_check_slots(64, &geometry, &planted->state, planted->slots, violation,
                                sizeof(violation));
    if (rule == NULL) {
        cr_assert_eq(status, SW_OK, "%s", violation);
        return;
    }
    cr_assert_eq(status, SW_E_INVALID, "%s was not found", rule);
    cr_assert_eq(strncmp(violation, rule, strlen(rule)), 0, "not %s, but %s", rule, violation);
    cr_assert_eq(sw_check_slots(64, &geometry, &planted->state, planted->slots, NULL, 0),
                 SW_E_INVALID);
}

Test(check, healthy)
{
    struct planted planted;
    plant(&planted);
    finds(&planted, NULL);
    put(&planted, BUCKETS + CAP, 0, 0x31000000); /* in the stash */
    planted.state.stash_occupied = 1;
    planted.state.side_present = 1;
    planted.state.occupied++;
    finds(&planted, NULL);
}

Test(check, order_of_buckets)
{
    struct planted planted;
    plant(&planted);
    put(&planted, 4, 1, 0x30000002);
    finds(&planted, "I1");
}

Test(check, twins_in_a_bucket)
{
    struct planted planted;
    plant(&planted);
    put(&planted, 4, 1, 0x40000000);
    finds(&planted, "I2");
}

Test(check, twins_in_main_and_stash)
{
    struct planted planted;
    plant(&planted);
    put(&planted, BUCKETS + CAP, 0, 0x30000100);
    planted.state.stash_occupied = 1;
    finds(&planted, "I2");
}

Test(check, before_its_home)
{
    struct planted planted;
    plant(&planted);
    put(&planted, 6, 1, 0x70000000);
    finds(&planted, "I3");
}

Test(check, past_the_cap)
{
    struct planted planted;
    plant(&planted);
    for (uint32_t b = 8; b < 11; b++) {
        for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
            put(&planted, b, i, 0x80000000 + b * SW_BUCKET_SLOTS + i);
        }
    }
    finds(&planted, NULL);
    put(&planted, 11, 0, 0x80000100);
    finds(&planted, "I3");
}

Test(check, gap_before_a_displaced_entry)
{
    struct planted planted;
    plant(&planted);
    memset(&planted.slots[3 * SW_BUCKET_SLOTS + 1], 0xFF, sizeof(planted.slots[0]));
    planted.state.occupied--;
    finds(&planted, "I4");
}

Test(check, value_in_an_empty_slot)
{
    struct planted planted;
    plant(&planted);
    planted.slots[SLOTS - 1].value = 0;
    finds(&planted, "I5");
}

Test(check, counts)
{
    struct planted planted;
    plant(&planted);
    planted.state.occupied++;
    finds(&planted, "I6");
    planted.state.side_present = 1;
    finds(&planted, NULL);
    planted.state.side_present = 2;
    planted.state.occupied++;
    finds(&planted, "I6");
    plant(&planted);
    planted.state.stash_occupied = 1;
    finds(&planted, "I6");
}

/* A hole counts as full. It has no entry, and none may be in bucket 0 or beside a used stash. */
Test(check, holes)
{
    struct planted planted;
    const uint32_t removed = 3 * SW_BUCKET_SLOTS + 1;
    plant(&planted);
    planted.slots[removed] = (struct sw_slot_s64){0};
    planted.state.occupied--;
    finds(&planted, "I3");
    planted.state.holes = 1;
    finds(&planted, NULL);
    planted.state.holes = 2;
    finds(&planted, "I6");
    planted.state.holes = 1;
    put(&planted, BUCKETS + CAP, 0, 0x31000000);
    planted.state.stash_occupied = 1;
    finds(&planted, "I7");
    plant(&planted);
    put(&planted, 0, 0, 0);
    put(&planted, 0, 1, 1);
    finds(&planted, NULL);
    planted.state.holes = 1;
    finds(&planted, "I6");
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
