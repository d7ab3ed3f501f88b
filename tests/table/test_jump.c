/* SPDX-License-Identifier: MIT
 *
 * test_jump.c - look-ups that jump over buckets find what looking at each bucket finds.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/robin_hood.h"
#include "tests/support/random.h"

struct bed {
    struct sw_view_s64 view;
    uint64_t keys;
    uint64_t stepped; /* buckets looked at, one by one */
    uint64_t probes;  /* by find */
};

static void open_bed(struct bed *bed, uint64_t buckets, uint64_t tail)
{
    *bed = (struct bed){.view = {.buckets = buckets, .buckets_total = buckets + tail}};
    bed->view.max_probe = tail;
    size_t bytes = (size_t)bed->view.buckets_total * SW_BUCKET_SLOTS * sizeof(struct sw_slot_s64);
    bed->view.slots = aligned_alloc(64, (bytes + 63) / 64 * 64);
    cr_assert_not_null(bed->view.slots);
    for (uint64_t i = 0; i < bed->view.buckets_total * SW_BUCKET_SLOTS; i++) {
        bed->view.slots[i] = sw_slot_empty_s64();
    }
}

static struct sw_slot_s64 *find_by_steps(struct bed *bed, uint32_t m, uint32_t *value)
{
    uint64_t home = sw_home_s64(&bed->view, m);
    for (uint64_t b = home; b < sw_reach_s64(&bed->view, home); b++) {
        struct sw_slot_s64 held[SW_BUCKET_SLOTS];
        sw_bucket_load_s64(sw_bucket_s64(&bed->view, b), held);
        bed->stepped++;
        int at = sw_probe_s64(held, m, value);
        if (at != SW_PROBE_NEXT) {
            return at == SW_PROBE_ABSENT ? NULL : sw_bucket_s64(&bed->view, b) + at;
        }
    }
    return NULL;
}

static void check(struct bed *bed, uint32_t m)
{
    uint32_t stepped = 0;
    uint32_t jumped = 0;
    if (m == UINT32_MAX) {
        return;
    }
    struct sw_slot_s64 *slot = find_by_steps(bed, m, &stepped);
    cr_assert_eq(slot, sw_find_s64(&bed->view, m, &jumped, &bed->probes), "m %u", m);
    cr_assert_eq(stepped, jumped, "m %u", m);
}

/* Inserts an absent m into its gap, and checks that the table is as after an insert that may
 * displace. Takes m out again. If the home of m has a free slot, there must be a gap. */
static void check_gap(struct bed *bed, uint32_t m)
{
    uint32_t value = 0;
    const uint64_t slots = bed->view.buckets_total * SW_BUCKET_SLOTS;
    struct sw_slot_s64 *gap = NULL;
    if (m == UINT32_MAX || sw_find_gap_s64(&bed->view, m, sw_home_s64(&bed->view, m), &value,
                                           &bed->probes, &gap) != NULL) {
        return;
    }
    struct sw_slot_s64 *after = malloc(slots * sizeof(*after));
    cr_assert_not_null(after);
    memcpy(after, bed->view.slots, slots * sizeof(*after));
    struct sw_view_s64 other = bed->view;
    struct sw_slot_s64 hand = {.m = m, .value = ~m};
    other.slots = after;
    const bool fits = sw_insert_absent_s64(&other, &hand, &bed->probes);
    uint64_t changed = 0;
    for (uint64_t s = 0; s < slots; s++) {
        changed += !sw_slot_same_s64(after[s], bed->view.slots[s]);
    }
    struct sw_slot_s64 held[SW_BUCKET_SLOTS];
    sw_bucket_load_s64(sw_bucket_s64(&bed->view, sw_home_s64(&bed->view, m)), held);
    cr_assert(gap != NULL || held[sw_bucket_max_s64(held, &hand)].m != UINT32_MAX, "m %u", m);
    cr_assert(gap == NULL || (fits && changed == 1), "m %u", m);
    if (gap != NULL) {
        const struct sw_slot_s64 entry = {.m = m, .value = ~m};
        cr_assert(sw_fill_gap_s64(&bed->view, gap, entry));
        cr_assert_arr_eq(bed->view.slots, after, slots * sizeof(*after));
        cr_assert_not(sw_fill_gap_s64(&bed->view, gap, entry), "the slot is taken");
        *gap = sw_slot_empty_s64();
    }
    free(after);
}

/* Inserts unless it is there; returns whether it is new and everything found a place. */
static bool insert(struct bed *bed, uint32_t m)
{
    uint64_t probes = 0;
    uint32_t value = 0;
    if (m == UINT32_MAX || find_by_steps(bed, m, &value) != NULL) {
        return false;
    }
    struct sw_slot_s64 hand = {.m = m, .value = ~m};
    bed->keys += sw_insert_absent_s64(&bed->view, &hand, &probes);
    return true;
}

/* Every entry, its neighbours, and the first key of every home. */
static void check_all(struct bed *bed)
{
    uint64_t slots = bed->view.buckets_total * SW_BUCKET_SLOTS;
    bed->stepped = 0;
    bed->probes = 0;
    for (uint64_t i = 0; i < slots; i++) {
        uint32_t m = bed->view.slots[i].m;
        if (m != UINT32_MAX) {
            check(bed, m);
            check(bed, m + 1);
            check(bed, m - 1);
        }
    }
    for (uint64_t h = 0; h < bed->view.buckets; h++) {
        check(bed, (uint32_t)((h << 32) / bed->view.buckets));
    }
}

Test(jump, random_tables)
{
    struct random random = random_of(0);
    for (int round = 0; round < 300; round++) {
        struct bed bed;
        uint64_t buckets = 1 + random_next(&random) % 300;
        open_bed(&bed, buckets, 1 + random_next(&random) % (2 * buckets));
        uint64_t wanted = buckets * SW_BUCKET_SLOTS * (60 + random_next(&random) % 41) / 100;
        /* some rounds draw from a narrow range, so that entries pile up far from their homes */
        uint32_t narrow =
            random_next(&random) % 3 == 0 ? 1 + (uint32_t)(random_next(&random) % 30) : 0;
        for (uint64_t i = 0; i < wanted; i++) {
            insert(&bed, (uint32_t)random_next(&random) >> narrow);
        }
        check_all(&bed);
        for (uint64_t i = 0; i < wanted / 3; i++) { /* holes, closed again */
            uint64_t probes = 0;
            uint64_t at = random_next(&random) % (bed.view.buckets_total * SW_BUCKET_SLOTS);
            if (bed.view.slots[at].m != UINT32_MAX) {
                sw_remove_at_s64(&bed.view, bed.view.slots + at, &probes);
            }
        }
        check_all(&bed);
        free(bed.view.slots);
    }
}

/* Removes an entry as a batch that leaves holes does. Bucket 0 never gets a hole. */
static void leave_hole(struct bed *bed, uint64_t at)
{
    struct sw_slot_s64 *slot = bed->view.slots + at;
    struct sw_slot_s64 *bucket = bed->view.slots + at / SW_BUCKET_SLOTS * SW_BUCKET_SLOTS;
    bool room = false;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        room = room || bucket[i].m == UINT32_MAX;
    }
    if (room) {
        *slot = sw_slot_empty_s64();
    } else if (at >= SW_BUCKET_SLOTS) {
        *slot = (struct sw_slot_s64){0};
    }
}

Test(jump, look_ups_pass_holes)
{
    struct random random = random_of(0);
    for (int round = 0; round < 300; round++) {
        struct bed bed;
        const uint64_t buckets = 1 + random_below(&random, 300);
        open_bed(&bed, buckets, 1 + random_below(&random, 2 * buckets));
        const uint64_t slots = bed.view.buckets_total * SW_BUCKET_SLOTS;
        const uint64_t wanted = buckets * SW_BUCKET_SLOTS * (60 + random_below(&random, 41)) / 100;
        const uint32_t narrow =
            random_below(&random, 3) == 0 ? 1 + (uint32_t)random_below(&random, 30) : 0;
        for (uint64_t i = 0; i < wanted; i++) {
            insert(&bed, (uint32_t)random_next(&random) >> narrow);
        }
        bed.view.no_jumps = UINT64_MAX;
        /* single entries, and runs of whole buckets */
        for (uint64_t runs = random_below(&random, 20); runs > 0; runs--) {
            const uint64_t first = random_below(&random, slots);
            const uint64_t end = first + 1 + random_below(&random, 8 * SW_BUCKET_SLOTS);
            for (uint64_t at = first; at < end && at < slots; at++) {
                const uint32_t m = bed.view.slots[at].m;
                if (m != UINT32_MAX && (m != 0 || at < SW_BUCKET_SLOTS)) {
                    leave_hole(&bed, at);
                }
            }
        }
        check_all(&bed);
        free(bed.view.slots);
    }
}

Test(jump, absent_keys_get_the_gap_that_inserts_fill)
{
    struct random random = random_of(0);
    for (int round = 0; round < 100; round++) {
        struct bed bed;
        const uint64_t buckets = 1 + random_next(&random) % 60;
        const uint32_t narrow = (uint32_t)(random_next(&random) % 4);
        open_bed(&bed, buckets, 1 + random_next(&random) % buckets);
        const uint64_t wanted = buckets * SW_BUCKET_SLOTS * (20 + random_next(&random) % 80) / 100;
        for (uint64_t i = 0; i < wanted; i++) {
            insert(&bed, (uint32_t)random_next(&random) >> narrow);
            check_gap(&bed, (uint32_t)random_next(&random) >> narrow);
        }
        free(bed.view.slots);
    }
}

Test(jump, full_table_takes_few_looks)
{
    struct bed bed;
    struct random random = random_of(0);
    open_bed(&bed, 1 << 14, 1 << 12);
    while (bed.keys < (uint64_t)SW_BUCKET_SLOTS << 14) {
        insert(&bed, (uint32_t)random_next(&random));
    }
    check_all(&bed);
    printf("%.1f buckets a look-up by steps, %.1f by jumps\n",
           (double)bed.stepped / (double)(3 * bed.keys),
           (double)bed.probes / (double)(3 * bed.keys));
    cr_assert_gt(bed.stepped, 2 * bed.probes); /* 3.4 times and more in 60 runs of each shape */
    free(bed.view.slots);
}
