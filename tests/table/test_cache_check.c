/* SPDX-License-Identifier: MIT
 *
 * test_cache_check.c - the scanner finds faults: breaks each invariant once, by hand.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "table/cache/check.h"

#define BUCKETS 4
#define SLOTS (BUCKETS * SW_CACHE_BUCKET_SLOTS)

static struct {
    struct sw_cache_snapshot snapshot;
    uint8_t digests[SLOTS];
    uint8_t marks[SLOTS];
    struct sw_cache_entry entries[SLOTS];
    struct sw_cache_head heads[BUCKETS];
    uint64_t slot_of_one; /* where key 1 lies: in its first bucket */
} planted;

static void plant(uint64_t slot, uint64_t key)
{
    planted.digests[slot] = (uint8_t)sw_cache_candidates_of(&planted.snapshot.slots, key).digest;
    planted.entries[slot] = (struct sw_cache_entry){key, 1000};
    planted.marks[slot] = 1 + (1000 - 900) / 8;
    planted.snapshot.counters.inserted++;
}

/* Key 1, in a bucket with marks of base 900 and steps of 8: the mark of its score is 13. */
static void begin(void)
{
    memset(&planted, 0, sizeof(planted));
    planted.snapshot.slots = (struct sw_cache_slots){
        .digests = planted.digests,
        .marks = planted.marks,
        .entries = (uint8_t *)planted.entries,
        .entry_stride = sizeof(planted.entries[0]),
        .heads = planted.heads,
        .buckets = BUCKETS,
        .seed = 5,
        .value_bytes = 4,
        .two = 1,
    };
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&planted.snapshot.slots, 1);
    for (uint64_t b = 0; b < BUCKETS; b++) {
        planted.heads[b] = (struct sw_cache_head){900, 3, 0};
    }
    planted.slot_of_one = candidates.first * SW_CACHE_BUCKET_SLOTS + 7;
    plant(planted.slot_of_one, 1);
}

TestSuite(cache_check, .init = begin);

static void expect(const char *invariant)
{
    char violation[256] = "";
    int status = sw_cache_check_snapshot(&planted.snapshot, violation, sizeof(violation));
    if (invariant == NULL) {
        cr_assert_eq(status, SW_OK, "%s", violation);
    } else {
        cr_assert_eq(status, SW_E_INVALID);
        cr_assert_eq(strncmp(violation, invariant, 2), 0, "%s", violation);
    }
}

Test(cache_check, nothing_is_wrong)
{
    expect(NULL);
    planted.marks[planted.slot_of_one] = 0; /* a lower bound may be too low */
    expect(NULL);
}

Test(cache_check, two_copies)
{
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&planted.snapshot.slots, 1);
    plant(candidates.second * SW_CACHE_BUCKET_SLOTS + 90, 1);
    expect("I1");
}

Test(cache_check, two_copies_in_one_bucket)
{
    plant(planted.slot_of_one + 1, 1);
    expect("I1");
}

Test(cache_check, another_digest)
{
    planted.digests[planted.slot_of_one] ^= 3;
    expect("I2");
}

Test(cache_check, another_bucket)
{
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&planted.snapshot.slots, 1);
    uint64_t other = 0;
    while (other == candidates.first || other == candidates.second) {
        other++;
    }
    planted.digests[planted.slot_of_one] = 0;
    planted.snapshot.counters.inserted = 0;
    plant(other * SW_CACHE_BUCKET_SLOTS, 1);
    expect("I3");
}

Test(cache_check, another_size)
{
    planted.snapshot.counters.evicted = 1;
    expect("I4");
}

Test(cache_check, a_mark_above_its_score)
{
    planted.marks[planted.slot_of_one]++;
    expect("I5");
    begin();
    planted.heads[planted.slot_of_one / SW_CACHE_BUCKET_SLOTS].shift = 64;
    expect("I5");
}

Test(cache_check, marks_that_are_not_in_use)
{
    planted.marks[planted.slot_of_one] = 255;
    planted.heads[planted.slot_of_one / SW_CACHE_BUCKET_SLOTS].shift = SW_CACHE_UNMARKED;
    expect(NULL);
}

Test(cache_check, a_lock_that_is_held)
{
    planted.heads[BUCKETS - 1].lock = 1;
    expect("I6");
}
