/* SPDX-License-Identifier: MIT
 *
 * test_robin_hood.c - the algorithm by itself: the layout is a function of the contents alone,
 * whatever the order or the threads of the inserts, and removal in either way restores it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/robin_hood.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

TestSuite(robin_hood, .timeout = 120);

enum { BUCKETS = 64, CAP = 60, TOTAL = BUCKETS + CAP, SLOTS = TOTAL * SW_BUCKET_SLOTS };

static struct sw_view_s128 view_of(struct sw_slot_s128 *slots)
{
    struct sw_view_s128 view = {slots, BUCKETS, TOTAL, CAP, NULL, 0};
    memset(slots, 0xFF, SLOTS * sizeof(*slots));
    return view;
}

static int by_m(const void *a, const void *b)
{
    const struct sw_slot_s128 *x = a;
    const struct sw_slot_s128 *y = b;
    return x->m < y->m ? -1 : x->m > y->m;
}

static bool same_buckets(const struct sw_slot_s128 *a, const struct sw_slot_s128 *b)
{
    for (int bucket = 0; bucket < TOTAL; bucket++) {
        struct sw_slot_s128 x[SW_BUCKET_SLOTS];
        struct sw_slot_s128 y[SW_BUCKET_SLOTS];
        memcpy(x, a + bucket * SW_BUCKET_SLOTS, sizeof(x));
        memcpy(y, b + bucket * SW_BUCKET_SLOTS, sizeof(y));
        qsort(x, SW_BUCKET_SLOTS, sizeof(x[0]), by_m);
        qsort(y, SW_BUCKET_SLOTS, sizeof(y[0]), by_m);
        if (memcmp(x, y, sizeof(x)) != 0) {
            return false;
        }
    }
    return true;
}

/* The layout as it is defined: smallest m first, each in the first bucket at or after its home that
 * has room. For contents that meet no cap. */
static void lay_out(struct sw_slot_s128 *slots, struct sw_slot_s128 *entries, int count)
{
    struct sw_view_s128 view = view_of(slots);
    uint64_t next = 0; /* slot */
    qsort(entries, (size_t)count, sizeof(*entries), by_m);
    for (int i = 0; i < count; i++) {
        uint64_t home = sw_home_s128(&view, entries[i].m) * SW_BUCKET_SLOTS;
        next = next < home ? home : next;
        cr_assert_lt(next, SLOTS);
        slots[next++] = entries[i];
    }
}

/* Distinct random entries; every third in a narrow range, to make long runs. */
static int make_entries(struct random *random, struct sw_slot_s128 *entries, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t m = random_next(random);
        m = i % 3 == 0 ? (m >> 5) + (UINT64_MAX >> 3) : m;
        entries[i] = (struct sw_slot_s128){.value = random_next(random), .m = m};
    }
    qsort(entries, (size_t)count, sizeof(*entries), by_m);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
        if (distinct == 0 || entries[distinct - 1].m != entries[i].m) {
            entries[distinct++] = entries[i];
        }
    }
    return distinct;
}

static void shuffle(struct random *random, struct sw_slot_s128 *entries, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int k = (int)random_below(random, (uint64_t)i + 1);
        struct sw_slot_s128 entry = entries[i];
        entries[i] = entries[k];
        entries[k] = entry;
    }
}

Test(robin_hood, layout_is_a_function_of_the_contents)
{
    struct sw_slot_s128 expected[SLOTS];
    struct sw_slot_s128 slots[SLOTS];
    struct sw_slot_s128 entries[256];
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct random random = random_of(seed);
        int count = make_entries(&random, entries, (int)random_below(&random, 200));
        lay_out(expected, entries, count);
        for (int round = 0; round < 3; round++) {
            struct sw_view_s128 view = view_of(slots);
            uint64_t probes = 0;
            shuffle(&random, entries, count);
            for (int i = 0; i < count; i++) {
                struct sw_slot_s128 hand = entries[i];
                cr_assert(sw_insert_absent_s128(&view, &hand, &probes));
            }
            cr_assert(same_buckets(slots, expected), "seed %d", (int)seed);
        }
    }
}

/* Takes a random part out; the rest must lie as if it alone had been inserted. */
static void remove_part(uint64_t seed)
{
    struct sw_slot_s128 expected[SLOTS];
    struct sw_slot_s128 slots[SLOTS];
    struct sw_slot_s128 entries[256];
    struct random random = random_of(seed);
    struct sw_view_s128 view = view_of(slots);
    uint64_t probes = 0;
    uint64_t value;
    int count = make_entries(&random, entries, (int)random_below(&random, 220));
    for (int i = 0; i < count; i++) {
        struct sw_slot_s128 hand = entries[i];
        cr_assert(sw_insert_absent_s128(&view, &hand, &probes));
    }
    shuffle(&random, entries, count);
    int gone = (int)random_below(&random, (uint64_t)count + 1);
    for (int i = 0; i < gone; i++) {
        struct sw_slot_s128 *place = sw_find_s128(&view, entries[i].m, &value, &probes);
        cr_assert_not_null(place);
        sw_remove_at_s128(&view, place, &probes);
        cr_assert_null(sw_find_s128(&view, entries[i].m, &value, &probes));
    }
    lay_out(expected, entries + gone, count - gone);
    cr_assert(same_buckets(slots, expected), "seed %d", (int)seed);
}

Test(robin_hood, removal_one_by_one)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        remove_part(seed);
    }
}

/* At the cap: the entries of the table and the left-over ones are the offered ones. The table has
 * the canonical layout of its contents. */
Test(robin_hood, cap_loses_nothing)
{
    struct sw_slot_s128 expected[SLOTS];
    struct sw_slot_s128 slots[SLOTS];
    struct sw_slot_s128 entries[600];
    struct sw_slot_s128 all[600];
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random random = random_of(seed);
        struct sw_view_s128 view = view_of(slots);
        uint64_t probes = 0;
        int offered = make_entries(&random, entries, 250 + (int)random_below(&random, 300));
        int out = 0;
        view.max_probe = 1 + random_below(&random, 16);
        shuffle(&random, entries, offered);
        for (int i = 0; i < offered; i++) {
            struct sw_slot_s128 hand = entries[i];
            if (!sw_insert_absent_s128(&view, &hand, &probes)) {
                all[out++] = hand;
            }
        }
        int held = 0;
        for (int i = 0; i < SLOTS; i++) {
            if (slots[i].m != UINT64_MAX) {
                cr_assert_lt(out + held, 600);
                all[out + held++] = slots[i];
            }
        }
        cr_assert_eq(out + held, offered, "seed %d", (int)seed);
        lay_out(expected, all + out, held);
        cr_assert(same_buckets(slots, expected), "seed %d", (int)seed);
        qsort(all, (size_t)offered, sizeof(all[0]), by_m);
        qsort(entries, (size_t)offered, sizeof(entries[0]), by_m);
        cr_assert_eq(memcmp(all, entries, (size_t)offered * sizeof(all[0])), 0);
    }
}

struct inserter {
    struct sw_view_s128 view;
    const struct sw_slot_s128 *entries;
    int first;
    int step;
    int count;
    int left_over;
};

static void *inserter_main(void *argument)
{
    struct inserter *inserter = argument;
    uint64_t probes = 0;
    for (int i = inserter->first; i < inserter->count; i += inserter->step) {
        struct sw_slot_s128 hand = inserter->entries[i];
        inserter->left_over += !sw_insert_absent_s128(&inserter->view, &hand, &probes);
    }
    return NULL;
}

/* Threads in each other's way, in the same few buckets. */
Test(robin_hood, threads_insert_side_by_side)
{
    enum { THREADS = 3 };
    struct sw_slot_s128 expected[SLOTS];
    struct sw_slot_s128 slots[SLOTS];
    struct sw_slot_s128 entries[256];
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct random random = random_of(seed);
        struct sw_view_s128 view = view_of(slots);
        struct inserter inserters[THREADS];
        int count = make_entries(&random, entries, 200);
        lay_out(expected, entries, count);
        shuffle(&random, entries, count);
        for (int t = 0; t < THREADS; t++) {
            inserters[t] = (struct inserter){view, entries, t, THREADS, count, 0};
        }
        threads_run(THREADS, inserter_main, inserters, sizeof(inserters[0]));
        for (int t = 0; t < THREADS; t++) {
            cr_assert_eq(inserters[t].left_over, 0);
        }
        cr_assert(same_buckets(slots, expected), "seed %d", (int)seed);
    }
}
