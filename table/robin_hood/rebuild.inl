/* SPDX-License-Identifier: MIT
 *
 * rebuild.inl - moves the entries of a table to a table of another size, in one pass over both
 * tables. Included by robin_hood.h once per width, after execute.inl.
 *
 * Entries are sorted by m across buckets. So, once each bucket is sorted, the table is a sorted
 * stream, and so is its stash. The rebuild merges the two streams and lays them out from left to
 * right: each entry takes the first free slot at or after its home. That is the canonical layout of
 * these contents at any size. An entry that meets the cap goes to the stash, as it would in a table
 * created at that size.
 */

/* Sorts one bucket by m, EMPTY last: an odd-even network for any number of slots. */
SW_HD static inline void RH(bucket_sort)(struct RH(slot) held[SW_BUCKET_SLOTS])
{
    for (int round = 0; round < SW_BUCKET_SLOTS; round++) {
        for (int i = round & 1; i + 1 < SW_BUCKET_SLOTS; i += 2) {
            struct RH(slot) a = held[i];
            struct RH(slot) b = held[i + 1];
            bool swap = b.m < a.m;
            held[i] = swap ? b : a;
            held[i + 1] = swap ? a : b;
        }
    }
}

/* Returns the slot of an entry whose predecessor in order of m took the slot before `next`. If the
 * entry meets the cap, the result lies at or after the end of its reach. */
SW_HD static inline uint64_t RH(slot_after)(const struct RH(view) * view, uint64_t next, RH_WORD m)
{
    uint64_t first = RH(home)(view, m) * SW_BUCKET_SLOTS;
    return first > next ? first : next;
}

/* Appends an entry, larger than all before it, to an array that is EMPTY from slot *next on.
 * Returns false, with nothing changed, if the entry meets the cap. */
SW_HD static inline bool RH(append)(const struct RH(view) * view, uint64_t *next,
                                    struct RH(slot) entry)
{
    uint64_t at = RH(slot_after)(view, *next, entry.m);
    if (at / SW_BUCKET_SLOTS >= RH(reach)(view, RH(home)(view, entry.m))) {
        return false;
    }
    RH(slot_store)(view->slots + at, entry);
    *next = at + 1;
    return true;
}

/* Iterates over the entries of an array in order of m. */
struct RH(source) {
    const struct RH(view) * view;
    uint64_t bucket;                       /* the bucket to read next */
    struct RH(slot) held[SW_BUCKET_SLOTS]; /* the last bucket read, sorted */
    int at;                                /* the next entry of `held` */
};

/* Returns the source's next entry; EMPTY at the end. Skips holes, which the sort puts first. */
SW_HD static inline struct RH(slot) RH(source_next)(struct RH(source) * source)
{
    while (source->at == SW_BUCKET_SLOTS || source->held[source->at].m == RH_EMPTY) {
        if (source->bucket == source->view->buckets_total) {
            return RH(slot_empty)();
        }
        RH(bucket_read)(RH(bucket)(source->view, source->bucket), source->held);
        RH(bucket_sort)(source->held);
        source->at = 0;
        while (source->at < SW_BUCKET_SLOTS &&
               RH(hole_at)(source->bucket, source->held[source->at].m)) {
            source->at++;
        }
        source->bucket++;
    }
    return source->held[source->at++];
}

/* Starts a source. `any` is false if the array has no entries; then the source ends immediately. */
SW_HD static inline void RH(source_start)(struct RH(source) * source, const struct RH(view) * view,
                                          bool any)
{
    source->view = view;
    source->bucket = any ? 0 : view->buckets_total;
    source->at = SW_BUCKET_SLOTS;
}

/* Writes the entries of `from` to `to`, whose arrays are EMPTY, and sets the state of `to`. Returns
 * false, with `to` partly written, if more than stash_limit entries meet the cap. The stash of `to`
 * must have room for stash_limit entries; stash_limit must be 0 if `to` has no stash. `from` is
 * only read. Runs on one thread, exclusively. */
SW_HD static inline bool RH(rebuild)(const struct RH(table) * from, const struct RH(table) * to,
                                     uint64_t stash_limit)
{
    struct RH(source) main;
    struct RH(source) stash;
    uint64_t next = 0;
    uint64_t stash_next = 0;
    uint64_t outside = 0;
    RH(source_start)(&main, &from->main, true);
    RH(source_start)(&stash, &from->stash, from->state->stash_occupied != 0);
    struct RH(slot) a = RH(source_next)(&main);
    struct RH(slot) b = RH(source_next)(&stash);
    while (a.m != RH_EMPTY || b.m != RH_EMPTY) {
        struct RH(slot) entry = a.m < b.m ? a : b;
        if (a.m < b.m) {
            a = RH(source_next)(&main);
        } else {
            b = RH(source_next)(&stash);
        }
        if (RH(append)(&to->main, &next, entry)) {
            continue;
        }
        if (outside == stash_limit || !RH(append)(&to->stash, &stash_next, entry)) {
            return false;
        }
        outside++;
    }
    *to->state = *from->state;
    to->state->stash_occupied = outside;
    to->state->holes = 0;
    return true;
}
