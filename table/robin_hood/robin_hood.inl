/* SPDX-License-Identifier: MIT
 *
 * robin_hood.inl - find, insert and remove on an ordered Robin Hood table.
 *
 * Entries are ordered by their mixed key m across buckets: x in bucket a and y in bucket b > a
 * means x < y. Each bucket holds the smallest entries that ever reached it, so the layout depends
 * only on the contents. table/robin_hood/README.md has the rules (which slot is the victim, which
 * values are compared, how the cap counts) and their reasons.
 *
 * Removals may leave holes (hole_at): slots that count as full and hold no entry. Only look-ups
 * (find_gap) and the passes of rebuild.inl understand them. All other functions need an array
 * without holes.
 *
 * Phases: several find calls may run in parallel. Several insert_absent calls, of distinct absent
 * keys, may run in parallel. The two never run at the same time. remove_at runs exclusively; CUDA
 * has parallel removals of its own (cuda/displacement/displace.cu).
 */

/* A run of buckets. Plain data: passed by value to kernels. */
struct RH(view) {
    struct RH(slot) * slots;
    uint64_t buckets;       /* home buckets */
    uint64_t buckets_total; /* with the tail for displaced entries */
    uint64_t max_probe;     /* largest displacement, in buckets */
#ifndef __cplusplus
    struct sw_cow_guard *guard; /* keeps data that an image still reads; NULL: none. Not on CUDA */
#endif
    uint64_t no_jumps; /* 0; all ones: look-ups do not jump, because slots may be holes. A mask, so
                          that the look-ups of a GPU need no further register */
};

/* Returns the home of m. It is monotone in m: homes follow the order of the entries. */
SW_HD static inline uint64_t RH(home)(const struct RH(view) * view, RH_WORD m)
{
#if RH_BITS == 64
    return ((uint64_t)m * view->buckets) >> 32;
#elif defined(__CUDA_ARCH__)
    return __umul64hi(m, view->buckets);
#else
    return (uint64_t)(((sw_u128)m * view->buckets) >> 64);
#endif
}

/* Returns the bucket after the last one where an entry with this home may lie. */
SW_HD static inline uint64_t RH(reach)(const struct RH(view) * view, uint64_t home)
{
    uint64_t end = home + view->max_probe + 1;
    return end < view->buckets_total ? end : view->buckets_total;
}

SW_HD static inline struct RH(slot) * RH(bucket)(const struct RH(view) * view, uint64_t bucket)
{
    return view->slots + bucket * SW_BUCKET_SLOTS;
}

/* Loads each slot, relaxed, in any phase. */
SW_HD static inline void RH(bucket_load)(const struct RH(slot) * bucket,
                                         struct RH(slot) out[SW_BUCKET_SLOTS])
{
    SW_UNROLL_BUCKET
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        out[i] = RH(slot_load)(bucket + i);
    }
}

/* Does the same as bucket_load, for a phase without writers. On a GPU it loads 16 bytes at a
 * time. */
SW_HD static inline void RH(bucket_read)(const struct RH(slot) * bucket,
                                         struct RH(slot) out[SW_BUCKET_SLOTS])
{
#if defined(__CUDA_ARCH__) && defined(SW_WIDTH_SET) && RH_BITS == 64 && SW_BUCKET_SLOTS == 2
    uint2 both = *(const uint2 *)bucket;
    out[0].m = both.x;
    out[1].m = both.y;
#elif defined(__CUDA_ARCH__) && defined(SW_WIDTH_SET) && RH_BITS == 64
    for (int i = 0; i < SW_BUCKET_SLOTS; i += 4) {
        uint4 four = *(const uint4 *)(bucket + i);
        out[i].m = four.x;
        out[i + 1].m = four.y;
        out[i + 2].m = four.z;
        out[i + 3].m = four.w;
    }
#elif defined(__CUDA_ARCH__) && defined(SW_WIDTH_SET)
    for (int i = 0; i < SW_BUCKET_SLOTS; i += 2) {
        ulonglong2 both = *(const ulonglong2 *)(bucket + i);
        out[i].m = both.x;
        out[i + 1].m = both.y;
    }
#elif defined(__CUDA_ARCH__) && RH_BITS == 64
    for (int i = 0; i < SW_BUCKET_SLOTS; i += 2) {
        uint4 pair = *(const uint4 *)(bucket + i);
        out[i].value = pair.x;
        out[i].m = pair.y;
        out[i + 1].value = pair.z;
        out[i + 1].m = pair.w;
    }
#elif defined(__CUDA_ARCH__)
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        ulonglong2 slot = *(const ulonglong2 *)(bucket + i);
        out[i].value = slot.x;
        out[i].m = slot.y;
    }
#else
    RH(bucket_load)(bucket, out);
#endif
}

/* Searches a bucket for m (not all ones). Returns the index of its slot (and sets *value),
 * SW_PROBE_ABSENT or SW_PROBE_NEXT. A slot larger than m (EMPTY is the largest) proves that m is
 * absent. */
SW_HD static inline int RH(probe)(const struct RH(slot) held[SW_BUCKET_SLOTS], RH_WORD m,
                                  RH_WORD *value)
{
#ifdef __CUDACC__
    bool larger = false;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (held[i].m == m) {
            *value = RH(slot_value)(held[i]);
            return i;
        }
        larger |= held[i].m > m;
    }
    return larger ? SW_PROBE_ABSENT : SW_PROBE_NEXT;
#else
    /* The host selects instead of branching: a branch on the slot would be mispredicted, and would
     * delay the loads of the following keys. */
    int at = SW_PROBE_NEXT;
    RH_WORD held_value = *value;
    RH_WORD top = 0;
    SW_UNROLL_BUCKET
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        at = held[i].m == m ? i : at;
        held_value = held[i].m == m ? RH(slot_value)(held[i]) : held_value;
        top = held[i].m > top ? held[i].m : top;
    }
    *value = held_value;
    return at != SW_PROBE_NEXT ? at : top > m ? SW_PROBE_ABSENT : SW_PROBE_NEXT;
#endif
}

/* Returns the index of the slot with the largest m; among EMPTY slots the lowest index (m is
 * otherwise unique). *top is that slot. The code selects instead of indexing, so that a GPU keeps
 * `held` in registers. */
SW_HD static inline int RH(bucket_max)(const struct RH(slot) held[SW_BUCKET_SLOTS],
                                       struct RH(slot) * top)
{
    int max = 0;
    *top = held[0];
    SW_UNROLL_BUCKET
    for (int i = 1; i < SW_BUCKET_SLOTS; i++) {
        if (held[i].m > top->m) {
            max = i;
            *top = held[i];
        }
    }
    return max;
}

/* Returns the index of the occupied slot with the smallest m; -1 if the bucket is empty. */
SW_HD static inline int RH(bucket_min)(const struct RH(slot) held[SW_BUCKET_SLOTS])
{
    int min = -1;
    RH_WORD low = RH_EMPTY;
    SW_UNROLL_BUCKET
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (held[i].m < low) {
            min = i;
            low = held[i].m;
        }
    }
    return min;
}

/* Returns whether a slot of bucket b with this m is a hole. The entry with m = 0 has the first home
 * and is smaller than all others, so it lies in bucket 0. In later buckets m = 0 marks a hole, and
 * bucket 0 never has one. A hole is smaller than every entry: a look-up that meets one continues,
 * as it did before the removal. */
SW_HD static inline bool RH(hole_at)(uint64_t b, RH_WORD m)
{
    return m == 0 && b != 0;
}

/* Returns the smallest m of a bucket; all ones if the bucket is empty. */
SW_HD static inline RH_WORD RH(bucket_low)(const struct RH(slot) held[SW_BUCKET_SLOTS])
{
    RH_WORD low = held[0].m;
    SW_UNROLL_BUCKET
    for (int i = 1; i < SW_BUCKET_SLOTS; i++) {
        low = held[i].m < low ? held[i].m : low;
    }
    return low;
}

/* Returns the number of buckets to step to the left, at most `most`, from a bucket whose smallest
 * entry `smallest` is larger than m. */
SW_HD static inline uint64_t RH(step_back)(const struct RH(view) * view, RH_WORD m,
                                           RH_WORD smallest, uint64_t most)
{
    uint64_t step = most / 2; /* an empty bucket gives no estimate: halve the remaining range */
    if (smallest != RH_EMPTY) {
        step = RH(home)(view, smallest) - RH(home)(view, m);
    }
    return step < 1 ? 1 : step > most ? most : step;
}

/* Returns the lowest EMPTY slot of a bucket, or NULL. `held` is what the bucket holds. */
SW_HD static inline struct RH(slot) *
    RH(bucket_gap)(struct RH(slot) * bucket, const struct RH(slot) held[SW_BUCKET_SLOTS])
{
    struct RH(slot) top;
    const int max = RH(bucket_max)(held, &top);
    return top.m == RH_EMPTY ? bucket + max : NULL;
}

/* Finds m (not all ones), which lies in bucket b or later if it is present; b is at or after its
 * home. Returns its slot, or NULL. Sets *value on a hit; adds the buckets read to *probes. For
 * phases without writers (rule 5). If m is absent and belongs in the last bucket read, *gap is an
 * EMPTY slot of that bucket; otherwise it is NULL. fill_gap allows writers beside the search.
 *
 * Entries are ordered across buckets and are about as dense as their homes. So a bucket full of
 * entries whose homes lie far before the home of m indicates how far ahead m may be. The search
 * jumps that distance, and steps back if the bucket there holds only larger entries. In a nearly
 * full table it reads a few buckets, while a linear search reads hundreds. A hole indicates
 * nothing, so in an array with holes the search does not jump. */
SW_WITHOUT_GAP SW_HD static inline struct RH(slot) *
    RH(find_gap)(const struct RH(view) * view, RH_WORD m, uint64_t b, RH_WORD *value,
                 uint64_t *probes, struct RH(slot) * *gap)
{
    uint64_t home = RH(home)(view, m);
    uint64_t end = RH(reach)(view, home); /* m is in no bucket from here on */
    uint64_t low = b;                     /* m is in no bucket before this */
    *gap = NULL;
    while (b < end) {
        struct RH(slot) *bucket = RH(bucket)(view, b);
        struct RH(slot) held[SW_BUCKET_SLOTS];
        RH(bucket_read)(bucket, held);
        ++*probes;
        int at = RH(probe)(held, m, value);
        if (at >= 0) {
            return bucket + at;
        }
        if (at == SW_PROBE_NEXT) {
            struct RH(slot) top;
            RH(bucket_max)(held, &top);
            uint64_t ahead = (home - RH(home)(view, top.m)) & ~view->no_jumps;
            low = b + 1;
            b += ahead < SW_JUMP_MIN ? 1 : ahead;
            b = b >= end && low < end ? end - 1 : b;
            continue;
        }
        RH_WORD smallest = RH(bucket_low)(held);
        if (b == low || smallest < m) {
            *gap = RH(bucket_gap)(bucket, held);
            return NULL; /* m would be in this bucket */
        }
        end = b;
        b -= RH(step_back)(view, m, smallest, b - low);
    }
    return NULL;
}

/* Same as find_gap, without the gap. */
SW_HD static inline struct RH(slot) * RH(find_from)(const struct RH(view) * view, RH_WORD m,
                                                    uint64_t b, RH_WORD *value, uint64_t *probes)
{
    struct RH(slot) *gap = NULL;
    return RH(find_gap)(view, m, b, value, probes, &gap);
}

SW_HD static inline struct RH(slot) *
    RH(find)(const struct RH(view) * view, RH_WORD m, RH_WORD *value, uint64_t *probes)
{
    return RH(find_from)(view, m, RH(home)(view, m), value, probes);
}

/* Inserts an entry whose key is absent and unique among the inserts of this phase. Every bucket
 * from its home to before b is full of smaller entries. Accesses no bucket from `limit` on. Returns
 * true if every entry found a place. Otherwise *carried is the entry, usually an older one, that
 * met the cap or the limit and is no longer in the table.
 *
 * In parallel with other inserts, an entry is at any moment either in one slot or carried by one
 * thread, since one compare-and-swap exchanges the two (rules 1 and 3). */
SW_HD static inline bool RH(insert_absent_before)(const struct RH(view) * view,
                                                  struct RH(slot) * carried, uint64_t b,
                                                  uint64_t limit, uint64_t *probes)
{
    while (b < limit && b < RH(reach)(view, RH(home)(view, carried->m))) {
        struct RH(slot) *bucket = RH(bucket)(view, b);
        struct RH(slot) held[SW_BUCKET_SLOTS];
        RH(bucket_load)(bucket, held);
        ++*probes;
        for (;;) {
            struct RH(slot) top;
            int max = RH(bucket_max)(held, &top);
            if (top.m <= carried->m) {
                break; /* full of smaller entries; it stays so, since m only decreases in an insert
                          phase */
            }
            SW_KEEP(view, bucket + max);
            struct RH(slot) was = RH(slot_cas)(bucket + max, top, *carried);
            if (!RH(slot_same)(was, top)) {
                for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
                    held[i] = i == max ? was : held[i]; /* another insert was faster, and wrote an
                                                           entry smaller than `top` */
                }
                continue;
            }
            if (was.m == RH_EMPTY) {
                return true;
            }
            *carried = was;
            break;
        }
        b++;
    }
    return false;
}

/* Same as insert_absent_before, with the end of the buckets as the limit. */
SW_HD static inline bool RH(insert_absent_from)(const struct RH(view) * view,
                                                struct RH(slot) * carried, uint64_t b,
                                                uint64_t *probes)
{
    return RH(insert_absent_before)(view, carried, b, view->buckets_total, probes);
}

/* Same as insert_absent_from, from the entry's home on. */
SW_HD static inline bool RH(insert_absent)(const struct RH(view) * view, struct RH(slot) * carried,
                                           uint64_t *probes)
{
    return RH(insert_absent_from)(view, carried, RH(home)(view, carried->m), probes);
}

/* Inserts an absent entry into the gap that find_gap returned for it. Returns false if another
 * insert was faster.
 *
 * Other threads may do the same for other keys since the search began, and look keys up: no entry
 * moves or leaves. So the buckets from the entry's home to before the gap stay full of smaller
 * entries, even if the search saw older contents. The compare-and-swap proves that the bucket still
 * had an EMPTY slot. Then no entry behind it has its home at or before it (I4), so I1 to I4 hold
 * after each store. */
SW_HD static inline bool RH(fill_gap)(const struct RH(view) * view, struct RH(slot) * gap,
                                      struct RH(slot) entry)
{
    (void)view; /* the CPU backend uses it */
    SW_KEEP(view, gap);
    const struct RH(slot) was = RH(slot_cas)(gap, RH(slot_empty)(), entry);
    return RH(slot_same)(was, RH(slot_empty)());
}

/* Removes the entry in `slot` of an otherwise canonical table and closes the gap: each following
 * bucket passes its smallest entry to the left, as long as that entry was displaced past the hole.
 * The thread runs exclusively. */
SW_HD static inline void RH(remove_at)(const struct RH(view) * view, struct RH(slot) * slot,
                                       uint64_t *probes)
{
    struct RH(slot) *hole = slot;
    uint64_t b = (uint64_t)(slot - view->slots) / SW_BUCKET_SLOTS;
    SW_KEEP(view, slot);
    RH(slot_store)(slot, RH(slot_empty)());
    for (; b + 1 < view->buckets_total; b++) {
        struct RH(slot) *next = RH(bucket)(view, b + 1);
        struct RH(slot) held[SW_BUCKET_SLOTS];
        RH(bucket_load)(next, held);
        ++*probes;
        int min = RH(bucket_min)(held);
        if (min < 0 || RH(home)(view, held[min].m) > b) {
            return;
        }
        RH(slot_store)(hole, held[min]);
        hole = next + min;
        SW_KEEP(view, hole);
        RH(slot_store)(hole, RH(slot_empty)());
    }
}

/* Returns true if no entry in bucket b or later has its home before b. Removals of other entries
 * never move an entry across such a boundary. */
SW_HD static inline bool RH(is_boundary)(const struct RH(view) * view, uint64_t b)
{
    struct RH(slot) held[SW_BUCKET_SLOTS];
    if (b == 0 || b >= view->buckets_total) {
        return true;
    }
    RH(bucket_load)(RH(bucket)(view, b), held);
    const RH_WORD low = RH(bucket_low)(held);
    return low == RH_EMPTY || RH(home)(view, low) >= b;
}
