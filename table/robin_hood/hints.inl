/* SPDX-License-Identifier: MIT
 *
 * hints.inl - displacement hints: where to start looking for a key. Included by robin_hood.h once
 * per width, after rebuild.inl.
 *
 * lead(h) is the number of buckets from h on that are full and hold only entries of homes before h.
 * Such a bucket has no room for an entry of home h and holds none, so get and insert may start at h
 * + lead(h), the start of h. Inserts only make buckets fuller and their entries smaller: a hint
 * stays valid until entries are removed. table/robin_hood/README.md, "Displacement hints".
 *
 * Phases (rule 5): lead_from, hint_pair and hint_start run beside find; hint_start also beside
 * insert_absent; hint_forget beside hint_forget and removals.
 */

/* The exact lead of home h, given that it is at least `known`; SW_HINT_REACH if it is at least that
 * and `known` is not. */
SW_HD static inline uint32_t RH(lead_from)(const struct RH(view) * view, uint64_t h, uint32_t known)
{
    uint32_t lead = known;
    for (; lead < SW_HINT_REACH && h + lead < view->buckets_total; lead++) {
        struct RH(slot) held[SW_BUCKET_SLOTS];
        struct RH(slot) top;
        RH(bucket_read)(RH(bucket)(view, h + lead), held);
        RH(bucket_max)(held, &top);
        if (top.m == RH_EMPTY || RH(home)(view, top.m) >= h) {
            break;
        }
    }
    return lead;
}

/* The exact hint of homes 2g and 2g + 1, given a valid one. 2g is a home; 2g + 1 may not be one. */
SW_HD static inline uint8_t RH(hint_pair)(const struct RH(view) * view, uint64_t g, uint8_t old)
{
    uint32_t even = RH(lead_from)(view, 2 * g, sw_hint_lead(old, false));
    uint32_t odd = even > 0 ? even - 1 : 0; /* a bucket that leads from 2g leads from 2g + 1 too */
    if (2 * g + 1 < view->buckets) {
        uint32_t known = sw_hint_lead(old, true);
        odd = RH(lead_from)(view, 2 * g + 1, odd > known ? odd : known);
    }
    return sw_hint_encode(even, odd);
}

/* The first bucket to look at for m (not all ones): its home, or later. `hints` may be NULL. */
SW_HD static inline uint64_t RH(hint_start)(const struct RH(view) * view, const uint8_t *hints,
                                            RH_WORD m)
{
    uint64_t h = RH(home)(view, m);
    return hints == NULL ? h : h + sw_hint_lead(hints[h / 2], h % 2 != 0);
}

/* Clears every hint that may be wrong after buckets [first, end) lost entries or moved them to the
 * left: `first` is at or before the bucket of the first hole, `end` at or after the one behind the
 * last bucket that lost an entry. Called by `parts` threads, of which this is number `part`; each
 * loads whole words of hints, most of which are 0 already. Threads that remove other entries may
 * run beside it, even where they clear the same byte. `hints`, in whole words (sw_hint_bytes), may
 * be NULL.
 *
 * A hint covers the buckets from a home to its start only. So hints of homes before `first` whose
 * start is not past `first`, and hints of homes from `end` on, cover no bucket that changed. No
 * start is more than SW_HINT_REACH past its pair's even home, so all pairs that close are looked
 * at, and none before their word. */
SW_HD static inline void RH(hint_forget)(const struct RH(view) * view, uint8_t *hints,
                                         uint64_t first, uint64_t end, uint32_t part,
                                         uint32_t parts)
{
    const uint64_t homes = end < view->buckets ? end : view->buckets;
    const uint64_t nearest = first > SW_HINT_REACH ? (first - SW_HINT_REACH) / 2 : 0;
    if (hints == NULL) {
        return;
    }
    for (uint64_t word = nearest / SW_HINT_WORD + part; 2 * SW_HINT_WORD * word < homes;
         word += (uint64_t)SW_HINT_AHEAD * parts) {
        uint32_t held[SW_HINT_AHEAD];
        for (uint32_t i = 0; i < SW_HINT_AHEAD; i++) {
            const uint64_t g = SW_HINT_WORD * (word + i * parts);
            held[i] = 2 * g < homes ? sw_hint_load_word(hints + g) : 0;
        }
        for (uint32_t i = 0; i < SW_HINT_AHEAD; i++) {
            const uint64_t g = SW_HINT_WORD * (word + i * parts);
            uint32_t which = sw_hint_speaking(held[i], g, first);
            if (2 * (g + SW_HINT_WORD) > homes + 1) { /* the last pairs may belong to homes from
                                                         `end` on */
                which &= (1U << (homes > 2 * g ? (homes - 2 * g + 1) / 2 * 8 : 0)) - 1;
            }
            if (which != 0) {
                sw_hint_clear(hints + g, which);
            }
        }
    }
}
