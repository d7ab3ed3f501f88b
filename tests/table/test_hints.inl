/* SPDX-License-Identifier: MIT
 *
 * test_hints.inl - what test_hints.c checks, once per width.
 */

/* A table, its twin that never uses hints, the hints, and the keys offered to both. */
struct RH(bed) {
    struct random random;
    struct RH(view) view;
    struct RH(view) twin;
    uint8_t *hints;
    struct RH(slot) * entries; /* distinct, in random order */
    size_t entry_count;
    size_t offered; /* the first of them */
};

static struct RH(slot) * RH(new_slots)(const struct RH(view) * view)
{
    size_t bytes = view->buckets_total * SW_BUCKET_SLOTS * sizeof(struct RH(slot));
    struct RH(slot) *slots = aligned_alloc(sizeof(struct RH(slot)), bytes);
    cr_assert_not_null(slots);
    memset(slots, 0xFF, bytes);
    return slots;
}

static int RH(by_m)(const void *a, const void *b)
{
    const struct RH(slot) *x = a;
    const struct RH(slot) *y = b;
    return x->m < y->m ? -1 : x->m > y->m;
}

/* `wanted` random entries, less those drawn twice; one of `dense_every` in a sixteenth of the
 * range, which makes long runs. */
static void RH(make_entries)(struct RH(bed) * bed, size_t wanted, uint64_t dense_every)
{
    RH_WORD dense = (RH_WORD)random_next(&bed->random);
    bed->entries = malloc((wanted + 1) * sizeof(*bed->entries));
    cr_assert_not_null(bed->entries);
    for (size_t i = 0; i < wanted; i++) {
        RH_WORD m = (RH_WORD)random_next(&bed->random);
        m = i % dense_every == 0 ? (RH_WORD)((m >> 4) + dense) : m;
        bed->entries[i].m = m == RH_EMPTY ? 0 : m;
        bed->entries[i].value = (RH_WORD)random_next(&bed->random);
    }
    qsort(bed->entries, wanted, sizeof(*bed->entries), RH(by_m));
    bed->entry_count = 0;
    for (size_t i = 0; i < wanted; i++) {
        if (i == 0 || bed->entries[i].m != bed->entries[bed->entry_count - 1].m) {
            bed->entries[bed->entry_count++] = bed->entries[i];
        }
    }
    for (size_t i = bed->entry_count; i > 1; i--) {
        size_t k = (size_t)random_below(&bed->random, i);
        struct RH(slot) entry = bed->entries[i - 1];
        bed->entries[i - 1] = bed->entries[k];
        bed->entries[k] = entry;
    }
}

static void RH(bed_start)(struct RH(bed) * bed, uint64_t seed, uint64_t buckets_max)
{
    memset(bed, 0, sizeof(*bed));
    bed->random = random_of(seed);
    uint64_t buckets = 1 + random_below(&bed->random, buckets_max);
    uint64_t cap = random_below(&bed->random, 3) == 0 ? random_below(&bed->random, 20) : 400;
    uint64_t load = 50 + random_below(&bed->random, 51); /* percent */
    bed->view = (struct RH(view)){NULL, buckets, buckets + cap, cap, NULL, 0};
    bed->twin = bed->view;
    bed->view.slots = RH(new_slots)(&bed->view);
    bed->twin.slots = RH(new_slots)(&bed->view);
    bed->hints = calloc(sw_hint_bytes(buckets), 1); /* no more: ASan sees a byte too far */
    cr_assert_not_null(bed->hints);
    RH(make_entries)
    (bed, (size_t)(buckets * SW_BUCKET_SLOTS * load / 100), 2 + random_below(&bed->random, 40));
}

static void RH(bed_end)(struct RH(bed) * bed)
{
    free(bed->view.slots);
    free(bed->twin.slots);
    free(bed->hints);
    free(bed->entries);
}

/* Offers entries up to `until` to the table, from where the hints say, and to its twin, from their
 * homes: both must end the same, slot by slot. */
static void RH(offer)(struct RH(bed) * bed, size_t until)
{
    uint64_t probes = 0;
    uint64_t value_probes = 0;
    for (; bed->offered < until && bed->offered < bed->entry_count; bed->offered++) {
        struct RH(slot) a = bed->entries[bed->offered];
        struct RH(slot) b = a;
        uint64_t start = RH(hint_start)(&bed->view, bed->hints, a.m);
        cr_assert_geq(start, RH(home)(&bed->view, a.m));
        bool fits = RH(insert_absent_from)(&bed->view, &a, start, &probes);
        cr_assert_eq(fits, RH(insert_absent)(&bed->twin, &b, &value_probes));
        cr_assert(RH(slot_same)(a, b));
    }
    cr_assert_leq(probes, value_probes);
    size_t bytes = bed->view.buckets_total * SW_BUCKET_SLOTS * sizeof(struct RH(slot));
    cr_assert_eq(memcmp(bed->view.slots, bed->twin.slots, bytes), 0);
}

/* lead(h) by its definition. */
static uint64_t RH(true_lead)(const struct RH(view) * view, uint64_t h)
{
    for (uint64_t b = h; b < view->buckets_total; b++) {
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            RH_WORD m = view->slots[b * SW_BUCKET_SLOTS + (uint64_t)i].m;
            if (m == RH_EMPTY || RH(home)(view, m) >= h) {
                return b - h;
            }
        }
    }
    return view->buckets_total - h;
}

/* No hint says more than is true; if `exact`, none says less than its bits can. */
static void RH(check_leads)(const struct RH(bed) * bed, bool exact)
{
    for (uint64_t h = 0; h < bed->view.buckets; h++) {
        uint64_t lead = RH(true_lead)(&bed->view, h);
        uint64_t said = sw_hint_lead(bed->hints[h / 2], h % 2 != 0);
        cr_assert_leq(said, lead, "home %d of %d: hint %d, lead %d", (int)h, (int)bed->view.buckets,
                      (int)said, (int)lead);
        if (exact) {
            uint64_t even = bed->hints[h / 2] & SW_HINT_LEAD_MAX;
            uint64_t most = h % 2 == 0 ? SW_HINT_LEAD_MAX : even + 2;
            cr_assert_eq(said, lead < most ? lead : most, "home %d", (int)h);
        }
    }
}

static void RH(check_find)(const struct RH(bed) * bed, RH_WORD m, int *hits)
{
    RH_WORD a = 0;
    RH_WORD b = 0;
    uint64_t probes = 0;
    uint64_t hinted_probes = 0;
    if (m == RH_EMPTY) {
        return;
    }
    uint64_t start = RH(hint_start)(&bed->view, bed->hints, m);
    struct RH(slot) *found = RH(find_from)(&bed->view, m, start, &a, &hinted_probes);
    cr_assert(found == RH(find)(&bed->view, m, &b, &probes));
    cr_assert_eq(a, b);
    cr_assert_eq(RH(hint_start)(&bed->view, NULL, m), RH(home)(&bed->view, m));
    *hits += found != NULL;
}

/* Every key held, its neighbours, and the first and the last key of every home. */
static void RH(check_finds)(const struct RH(bed) * bed)
{
    int hits = 0;
    int held = 0;
    int others = 0;
    for (uint64_t i = 0; i < bed->view.buckets_total * SW_BUCKET_SLOTS; i++) {
        RH_WORD m = bed->view.slots[i].m;
        if (m != RH_EMPTY) {
            held++;
            RH(check_find)(bed, m, &hits);
            RH(check_find)(bed, m - 1, &others);
            RH(check_find)(bed, m + 1, &others);
        }
    }
    cr_assert_eq(hits, held);
    for (uint64_t h = 0; h < bed->view.buckets; h++) {
        RH_WORD step = RH_EMPTY / (RH_WORD)bed->view.buckets;
        RH(check_find)(bed, (RH_WORD)h * step + (RH_WORD)h, &others);
        RH(check_find)(bed, (RH_WORD)h * step + step, &others);
    }
}

/* Refreshes the hints of some pairs, or of all; a refresh from any valid hint must give the exact
 * one, that from 0. Hints of different ages may then stand side by side. */
static void RH(refresh)(struct RH(bed) * bed, bool all)
{
    for (uint64_t g = 0; g < sw_hint_count(bed->view.buckets); g++) {
        if (all || random_below(&bed->random, 4) == 0) {
            uint8_t hint = RH(hint_pair)(&bed->view, g, bed->hints[g]);
            cr_assert_eq(hint, RH(hint_pair)(&bed->view, g, 0));
            bed->hints[g] = hint;
        }
    }
    RH(check_leads)(bed, all);
}

/* The first bucket behind b that the removal of an entry of b leaves as it is. Before that. */
static uint64_t RH(changed_end)(const struct RH(view) * view, uint64_t b)
{
    uint64_t end = b + 1;
    while (!RH(is_boundary)(view, end)) {
        end++;
    }
    return end;
}

/* Splits the work as `parts` threads do. */
static void RH(forget_in_parts)(const struct RH(view) * view, uint8_t *hints, uint64_t first,
                                uint64_t end, uint32_t parts)
{
    for (uint32_t part = parts; part-- > 0;) {
        RH(hint_forget)(view, hints, first, end, part, parts);
    }
}

/* Takes one entry out of the table and of its twin. */
static void RH(remove_one)(struct RH(bed) * bed, RH_WORD m)
{
    RH_WORD value;
    uint64_t probes = 0;
    uint64_t start = RH(hint_start)(&bed->view, bed->hints, m);
    struct RH(slot) *at = RH(find_from)(&bed->view, m, start, &value, &probes);
    if (at == NULL) {
        return; /* left over, or removed before */
    }
    uint64_t first = (uint64_t)(at - bed->view.slots) / SW_BUCKET_SLOTS;
    uint64_t end = RH(changed_end)(&bed->view, first);
    RH(remove_at)(&bed->view, at, &probes);
    RH(forget_in_parts)
    (&bed->view, bed->hints, first, end, 1 + (uint32_t)random_below(&bed->random, 16));
    RH(remove_at)(&bed->twin, RH(find)(&bed->twin, m, &value, &probes), &probes);
}

static void RH(one_round)(uint64_t seed, uint64_t buckets_max, struct seen *seen)
{
    struct RH(bed) bed;
    RH(bed_start)(&bed, seed, buckets_max);
    RH(offer)(&bed, bed.entry_count / 2);
    RH(refresh)(&bed, true);
    RH(check_finds)(&bed);
    RH(offer)(&bed, bed.entry_count * 3 / 4); /* with stale hints */
    RH(check_leads)(&bed, false);
    RH(check_finds)(&bed);
    RH(refresh)(&bed, false);
    RH(offer)(&bed, bed.entry_count * 9 / 10);
    RH(check_finds)(&bed);
    RH(refresh)(&bed, true);
    for (uint64_t g = 0; g < sw_hint_count(bed.view.buckets); g++) {
        seen->largest |= (bed.hints[g] & SW_HINT_LEAD_MAX) == SW_HINT_LEAD_MAX;
        seen->steps |= 1U << (bed.hints[g] >> 6);
    }
    for (int i = 0; i < 40 && bed.offered > 0; i++) {
        RH(remove_one)(&bed, bed.entries[random_below(&bed.random, bed.offered)].m);
        RH(check_leads)(&bed, false);
        if (i == 20) {
            RH(refresh)(&bed, false);
        }
    }
    RH(check_finds)(&bed);
    RH(refresh)(&bed, true);
    for (size_t part = 0; part < 4; part++) {
        for (size_t i = part; i < bed.offered; i += 7) {
            RH(remove_one)(&bed, bed.entries[i].m);
        }
        RH(check_leads)(&bed, false);
        RH(check_finds)(&bed);
    }
    for (uint64_t g = 0; g < sw_hint_count(bed.view.buckets); g++) {
        seen->kept += bed.hints[g] != 0;
    }
    RH(offer)(&bed, bed.entry_count); /* with what the deletes left of the hints */
    RH(check_finds)(&bed);
    RH(refresh)(&bed, true);
    RH(bed_end)(&bed);
}

/* Clears the hints that speak of a bucket that changed, and no others: any hints, any buckets. */
static void RH(forget)(uint64_t seed)
{
    struct random random = random_of(seed);
    uint64_t buckets = 1 + random_below(&random, 300);
    struct RH(view) view = {NULL, buckets, buckets + 80, 80, NULL, 0};
    uint8_t before[152];
    uint8_t after[152];
    for (uint64_t g = 0; g < sizeof(before); g++) {
        uint8_t hint = (uint8_t)random_next(&random);
        before[g] = random_below(&random, 4) == 0 ? 0 : random_below(&random, 4) == 0 ? 255 : hint;
    }
    memcpy(after, before, sizeof(after));
    uint64_t first = random_below(&random, view.buckets_total);
    uint64_t end = first + 1 + random_below(&random, view.buckets_total - first);
    RH(forget_in_parts)(&view, after, first, end, 1 + (uint32_t)random_below(&random, 20));
    for (uint64_t g = 0; g < sizeof(before); g++) {
        uint64_t even = 2 * g + sw_hint_lead(before[g], false);
        uint64_t odd = 2 * g + 1 + sw_hint_lead(before[g], true);
        bool speaks = 2 * g >= first || even > first || odd > first;
        bool cleared = g < sw_hint_count(buckets) && 2 * g < end && speaks;
        cr_assert_eq(after[g], cleared ? 0 : before[g], "seed %d, pair %d", (int)seed, (int)g);
    }
}

/* Homes 0, 2, 4 and 6 with five buckets of entries each. Their contents are known, and so are the
 * hints that a delete keeps: those that end at its hole, also beside a hint that was cleared
 * before. */
static void RH(runs)(void)
{
    enum { HOMES = 16, TOTAL = 32 };
    struct RH(slot) slots[TOTAL * SW_BUCKET_SLOTS];
    struct RH(view) view = {slots, HOMES, TOTAL, TOTAL - HOMES, NULL, 0};
    RH_WORD step = RH_EMPTY / HOMES + 1;
    uint8_t hints[HOMES / 2];
    uint64_t probes = 0;
    memset(slots, 0xFF, sizeof(slots));
    for (RH_WORD home = 0, count = 0; home < 8; home += 2) {
        for (count = 0; count < 5 * SW_BUCKET_SLOTS; count++) {
            struct RH(slot) hand = {.value = 1, .m = home * step + count};
            cr_assert(RH(insert_absent)(&view, &hand, &probes));
        }
    }
    for (uint64_t g = 0; g < HOMES / 2; g++) {
        hints[g] = RH(hint_pair)(&view, g, 0);
    }
    cr_assert_eq(RH(hint_start)(&view, hints, 2 * step), 5);
    cr_assert_eq(RH(hint_start)(&view, hints, 4 * step), 10);
    cr_assert_eq(RH(hint_start)(&view, hints, 5 * step), 13); /* of 15: the step is at most 3 */
    uint64_t end = RH(changed_end)(&view, 10);
    RH(remove_at)(&view, slots + 10 * SW_BUCKET_SLOTS, &probes); /* one of home 4's */
    RH(forget_in_parts)(&view, hints, 10, end, 2);
    cr_assert_eq(hints[2], 0);
    cr_assert_eq(hints[3], 0);
    cr_assert_eq(RH(hint_start)(&view, hints, 3 * step), 8);
    end = RH(changed_end)(&view, 7);
    RH(remove_at)(&view, slots + 7 * SW_BUCKET_SLOTS, &probes); /* one of home 2's */
    RH(forget_in_parts)(&view, hints, 7, end, 1);
    cr_assert_eq(hints[1], 0);
    cr_assert_neq(hints[0], 0);
    cr_assert_eq(RH(hint_start)(&view, hints, step), 3);
}
