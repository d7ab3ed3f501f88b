/* SPDX-License-Identifier: MIT
 *
 * hints.inl - displacement hints: the bucket where a look-up starts. Included by robin_hood.h once
 * per width, after rebuild.inl.
 *
 * lead(h) is the number of buckets from h on that are full and hold only entries of homes before h.
 * Such a bucket has neither an entry of home h nor room for one. So get and insert may start at h +
 * lead(h), the start of h. Inserts only make buckets fuller and their entries smaller, so a hint
 * stays valid until entries are removed. See table/robin_hood/README.md, "Displacement hints".
 *
 * Phases (rule 5): lead_from, hint_pair and hint_start may run in parallel with find. hint_start
 * may also run in parallel with insert_absent; hint_forget in parallel with hint_forget and
 * removals.
 */

/* Returns the exact lead of home h, which is at least `known`. Returns SW_HINT_REACH if the lead is
 * at least that and `known` is less. */
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

/* Returns the exact hint of homes 2g and 2g + 1, computed from a valid hint. 2g is a home; 2g + 1
 * may be past the last home. */
SW_HD static inline uint8_t RH(hint_pair)(const struct RH(view) * view, uint64_t g, uint8_t old)
{
    uint32_t even = RH(lead_from)(view, 2 * g, sw_hint_lead(old, false));
    uint32_t odd = even > 0 ? even - 1 : 0; /* lead(2g + 1) >= lead(2g) - 1 */
    if (2 * g + 1 < view->buckets) {
        uint32_t known = sw_hint_lead(old, true);
        odd = RH(lead_from)(view, 2 * g + 1, odd > known ? odd : known);
    }
    return sw_hint_encode(even, odd);
}

/* Returns the first bucket to read for m (not all ones): its home or a later bucket. `hints` may be
 * NULL. */
SW_HD static inline uint64_t RH(hint_start)(const struct RH(view) * view, const uint8_t *hints,
                                            RH_WORD m)
{
    uint64_t h = RH(home)(view, m);
    return hints == NULL ? h : h + sw_hint_lead(hints[h / 2], h % 2 != 0);
}

/* Clears every hint that may be wrong after buckets [first, end) lost entries or moved them to the
 * left. `first` is at or before the bucket of the first hole; `end` is after the last bucket that
 * lost an entry. `parts` threads call it together; `part` is the number of this thread. Each thread
 * loads whole words of hints, most of them already 0. Threads that remove other entries may run in
 * parallel, even if they clear the same byte. `hints`, in whole words (sw_hint_bytes), may be NULL.
 *
 * A hint covers only the buckets from a home to its start. So two kinds of hints cover no changed
 * bucket: those of homes before `first` whose start is not past `first`, and those of homes from
 * `end` on. A start is at most SW_HINT_REACH past its pair's even home. So the function reads all
 * pairs in this distance, and no word before them. */
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
            uint32_t which = sw_hints_after(held[i], g, first);
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
