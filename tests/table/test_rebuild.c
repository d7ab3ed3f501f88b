/* SPDX-License-Identifier: MIT
 *
 * test_rebuild.c - the streaming rebuild by itself, against the layout as it is defined.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/robin_hood.h"
#include "tests/support/random.h"

TestSuite(rebuild, .timeout = 120);

enum { BUCKETS_MAX = 64, CAP_MAX = 12, SLOTS = (BUCKETS_MAX + CAP_MAX) * SW_BUCKET_SLOTS };

/* Every arrangement of four slots out of four values, EMPTY among them, in both widths. */
Test(rebuild, bucket_sort)
{
    for (uint32_t code = 0; code < 256; code++) {
        struct sw_slot_s64 narrow[SW_BUCKET_SLOTS];
        struct sw_slot_s128 wide[SW_BUCKET_SLOTS];
        uint32_t sum = 0;
        for (uint32_t i = 0; i < SW_BUCKET_SLOTS; i++) {
            uint32_t digit = code >> (2 * i) & 3;
            narrow[i].m = digit == 3 ? UINT32_MAX : digit;
            narrow[i].value = digit * 7;
            wide[i].m = digit == 3 ? UINT64_MAX : digit;
            wide[i].value = digit * 7;
            sum += digit * 7;
        }
        sw_bucket_sort_s64(narrow);
        sw_bucket_sort_s128(wide);
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            sum -= narrow[i].value;
            cr_assert_eq(narrow[i].value, narrow[i].m == UINT32_MAX ? 21 : narrow[i].m * 7);
            cr_assert_eq(wide[i].value, wide[i].m == UINT64_MAX ? 21 : wide[i].m * 7);
            cr_assert(i == 0 || (narrow[i - 1].m <= narrow[i].m && wide[i - 1].m <= wide[i].m),
                      "code %u", code);
        }
        cr_assert_eq(sum, 0, "code %u", code);
    }
}

struct arrays {
    struct sw_slot_s64 main[SLOTS];
    struct sw_slot_s64 stash[2 * SLOTS];
    struct sw_state state;
    struct sw_table_s64 table;
};

static void prepare(struct arrays *arrays, uint64_t buckets, uint64_t cap)
{
    memset(arrays, 0xFF, sizeof(*arrays));
    memset(&arrays->state, 0, sizeof(arrays->state));
    cap = cap < buckets ? cap : buckets;
    arrays->table = (struct sw_table_s64){
        .main = {arrays->main, buckets, buckets + cap, cap, NULL, 0},
        .stash = {arrays->stash, SLOTS / SW_BUCKET_SLOTS, 2 * SLOTS / SW_BUCKET_SLOTS,
                  2 * SLOTS / SW_BUCKET_SLOTS, NULL, 0},
        .state = &arrays->state};
}

static void insert(struct arrays *arrays, uint32_t m)
{
    struct sw_slot_s64 hand = {.value = m ^ 0x5555, .m = m};
    uint64_t probes = 0;
    arrays->state.occupied++;
    if (!sw_insert_absent_s64(&arrays->table.main, &hand, &probes)) {
        arrays->state.stash_occupied++;
        cr_assert(sw_insert_absent_s64(&arrays->table.stash, &hand, &probes));
    }
}

static int by_m(const void *a, const void *b)
{
    const struct sw_slot_s64 *x = a;
    const struct sw_slot_s64 *y = b;
    return x->m < y->m ? -1 : x->m > y->m;
}

/* Smallest m first, each in the first slot at or after its home; who meets the cap takes none. */
static uint64_t lay_out(struct arrays *to, const uint32_t *m, int count)
{
    const struct sw_view_s64 *view = &to->table.main;
    uint64_t next = 0;
    uint64_t outside = 0;
    for (int i = 0; i < count; i++) {
        uint64_t home = (uint64_t)m[i] * view->buckets >> 32;
        uint64_t at = next < home * SW_BUCKET_SLOTS ? home * SW_BUCKET_SLOTS : next;
        if (at / SW_BUCKET_SLOTS - home > view->max_probe) {
            outside++;
            continue;
        }
        to->main[at] = (struct sw_slot_s64){.value = m[i] ^ 0x5555, .m = m[i]};
        next = at + 1;
    }
    return outside;
}

/* The entries of an array, each bucket sorted; EMPTY taken out if `pack`. Returns how many. */
static int normalise(struct sw_slot_s64 *slots, int count, bool pack)
{
    if (pack) {
        qsort(slots, (size_t)count, sizeof(*slots), by_m);
    } else {
        for (int i = 0; i < count; i += SW_BUCKET_SLOTS) {
            qsort(slots + i, SW_BUCKET_SLOTS, sizeof(*slots), by_m);
        }
    }
    int held = 0;
    for (int i = 0; i < count; i++) {
        held += slots[i].m != UINT32_MAX;
    }
    return held;
}

/* Sorted, distinct, half of them in narrow runs. Returns how many. */
static int make_keys(struct random *random, uint32_t *m, int count)
{
    uint32_t run = (uint32_t)random_next(random);
    struct sw_slot_s64 drawn[SLOTS];
    for (int i = 0; i < count; i++) {
        run = random_below(random, 16) == 0 ? (uint32_t)random_next(random) : run;
        drawn[i].m = i % 2 == 0 ? (uint32_t)random_next(random)
                                : run + (uint32_t)random_below(random, 1U << 26);
    }
    qsort(drawn, (size_t)count, sizeof(drawn[0]), by_m);
    int distinct = 0;
    for (int i = 0; i < count; i++) {
        if (drawn[i].m != UINT32_MAX && (distinct == 0 || m[distinct - 1] != drawn[i].m)) {
            m[distinct++] = drawn[i].m;
        }
    }
    return distinct;
}

/* Removes random entries of a table whose stash is empty: a slot of a full bucket becomes a hole,
 * unless that is bucket 0. Returns how many of the keys m are left. */
static int leave_holes(struct random *random, struct arrays *arrays, uint32_t *m, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        uint64_t probes = 0;
        uint32_t value = 0;
        struct sw_slot_s64 *slot = sw_find_s64(&arrays->table.main, m[i], &value, &probes);
        const uint64_t b = (uint64_t)(slot - arrays->main) / SW_BUCKET_SLOTS;
        struct sw_slot_s64 held[SW_BUCKET_SLOTS];
        struct sw_slot_s64 top;
        sw_bucket_load_s64(sw_bucket_s64(&arrays->table.main, b), held);
        sw_bucket_max_s64(held, &top);
        if (random_below(random, 2) == 0 || (b == 0 && top.m != UINT32_MAX)) {
            m[left++] = m[i];
            continue;
        }
        *slot = top.m == UINT32_MAX ? top : (struct sw_slot_s64){0};
        arrays->state.holes += top.m != UINT32_MAX;
        arrays->state.occupied--;
    }
    return left;
}

static void one_rebuild(struct random *random, struct arrays *from, struct arrays *to,
                        struct arrays *expected, bool holes)
{
    uint32_t m[SLOTS]; /* 64 buckets, 9 keys for 8 slots: 288 at most */
    prepare(from, 1 + random_below(random, BUCKETS_MAX), random_below(random, CAP_MAX));
    prepare(to, 1 + random_below(random, BUCKETS_MAX), random_below(random, CAP_MAX));
    *expected = *to;
    int most = (int)random_below(random, from->table.main.buckets * SW_BUCKET_SLOTS * 9 / 8 + 1);
    int count = make_keys(random, m, most);
    int start = count > 0 ? (int)random_below(random, (uint64_t)count) : 0;
    for (int i = 0; i < count; i++) {
        insert(from, m[(start + i * 7919LL) % count]); /* a prime: in another order */
    }
    if (holes && from->state.stash_occupied == 0) {
        count = leave_holes(random, from, m, count);
    }
    from->state.side_present = 1;
    from->state.side_value = 77;
    uint64_t outside = lay_out(expected, m, count);
    if (outside > 0) {
        cr_assert_not(sw_rebuild_s64(&from->table, &to->table, outside - 1));
        struct sw_view_s64 main = to->table.main;
        prepare(to, main.buckets, main.max_probe);
    }
    cr_assert(sw_rebuild_s64(&from->table, &to->table, outside));
    cr_assert_eq(to->state.stash_occupied, outside);
    cr_assert_eq(to->state.occupied, (uint64_t)count);
    cr_assert_eq(to->state.holes, 0);
    cr_assert(to->state.side_present == 1 && to->state.side_value == 77);
    int held = normalise(to->main, SLOTS, false);
    normalise(expected->main, SLOTS, false);
    cr_assert_arr_eq(to->main, expected->main, sizeof(to->main));
    cr_assert_eq(held + normalise(to->stash, 2 * SLOTS, true), count);
    for (uint64_t i = 1; i < outside; i++) {
        cr_assert_lt(to->stash[i - 1].m, to->stash[i].m);
    }
}

Test(rebuild, random_sizes)
{
    struct random random = random_of(0);
    struct arrays *arrays = malloc(3 * sizeof(*arrays));
    cr_assert_not_null(arrays);
    for (int round = 0; round < 20000; round++) {
        one_rebuild(&random, &arrays[0], &arrays[1], &arrays[2], round % 2 == 0);
    }
    free(arrays);
}
