/* SPDX-License-Identifier: MIT
 *
 * get.inl - look-ups of integers, a block of 64 keys at a time. Included by get.c once per width,
 * and by sets.c.
 *
 * A look-up waits for memory at most twice, and both waits overlap with other look-ups. The first
 * pass over a block prefetches the home buckets SW_CPU_AHEAD keys ahead, and searches them. Where a
 * key may be in a later bucket, the pass prefetches the next one and leaves the key to the second
 * pass, which follows when the first pass of the next block is done. Neither pass branches on what
 * the home bucket holds.
 */

/* The keys of a block, between its two passes. */
struct RH(block) {
    uint64_t word; /* of `found` */
    uint32_t begin;
    uint32_t later_count;
    RH_WORD later[SW_CPU_BLOCK];     /* mixed keys of the second pass */
    uint32_t later_at[SW_CPU_BLOCK]; /* their indexes in the batch */
};

struct RH(lookups) {
    const struct RH(table) * table;
    const RH_WORD *keys;
    RH_WORD *previous;               /* NULL: not wanted */
    RH_WORD ahead[2 * SW_CPU_BLOCK]; /* mixed keys whose home buckets are prefetched */
    uint64_t *found;                 /* NULL: not wanted */
    uint32_t end;                    /* of all blocks */
    bool stash;                      /* absent keys may be in the stash */
    uint64_t probes;
};

static inline void RH(look_ahead)(struct RH(lookups) * lookups, uint32_t i)
{
    const RH_WORD m = RH(mix)(lookups->table, SW_LOAD_ONCE(lookups->keys + i));
    lookups->ahead[i % (2 * SW_CPU_BLOCK)] = m;
    RH(prefetch)(lookups->table, m);
}

static inline void RH(put_previous)(const struct RH(lookups) * lookups, uint32_t i, RH_WORD value)
{
    if (lookups->previous != NULL) {
        lookups->previous[i] = value;
    }
}

/* Searches the home buckets of the keys [from, to) of a block, and leaves those that may be
 * elsewhere to the second pass. With `ahead` it prefetches for the keys SW_CPU_AHEAD further on,
 * which must exist. Always inlined, since `ahead` is constant. */
__attribute__((always_inline)) static inline void RH(look_homes)(struct RH(lookups) * lookups,
                                                                 struct RH(block) * block,
                                                                 uint32_t from, uint32_t to,
                                                                 bool ahead)
{
    const struct RH(view) main = lookups->table->main;
    const uint32_t absent = lookups->stash ? 0 : ~0U; /* a larger slot proves that m is absent */
    uint64_t word = block->word;
    uint32_t count = block->later_count;
    for (uint32_t i = from; i < to; i++) {
        const RH_WORD m = lookups->ahead[i % (2 * SW_CPU_BLOCK)];
        const struct RH(slot) *bucket = RH(bucket)(&main, RH(home)(&main, m));
        if (ahead) {
            RH(look_ahead)(lookups, i + SW_CPU_AHEAD);
        }
        const struct RH(match) match = RH(search)(bucket, m);
        const uint32_t same = m == RH_EMPTY ? 0 : match.same;
        const RH_WORD value = RH(slot_value)(RH(slot_load)(bucket + sw_first_slot(same)));
        const uint32_t later = (same | (match.larger & absent)) == 0;
        RH(put_previous)(lookups, i, value & (0 - (RH_WORD)(same != 0)));
        word = word >> 1 | (uint64_t)(same != 0) << (SW_CPU_BLOCK - 1);
        block->later[count] = m;
        block->later_at[count] = i;
        count += later;
        __builtin_prefetch(bucket + later * SW_BUCKET_SLOTS, 0, 3);
    }
    block->word = word;
    block->later_count = count;
}

/* The first pass over the block that begins at `begin`. Prefetches the home buckets of the first
 * keys of the next block. */
static inline void RH(look_home_block)(struct RH(lookups) * lookups, struct RH(block) * block,
                                       uint32_t begin)
{
    const uint32_t left = lookups->end - begin;
    const uint32_t count = left < SW_CPU_BLOCK ? left : SW_CPU_BLOCK;
    uint32_t ahead = left > SW_CPU_AHEAD ? left - SW_CPU_AHEAD : 0;
    ahead = ahead < count ? ahead : count;
    block->word = 0;
    block->begin = begin;
    block->later_count = 0;
    RH(look_homes)(lookups, block, begin, begin + ahead, true);
    RH(look_homes)(lookups, block, begin + ahead, begin + count, false);
    block->word >>= SW_CPU_BLOCK - count;
    lookups->probes += count - block->later_count;
}

/* The second pass over a block. Returns the number of keys found. */
static inline uint64_t RH(look_later)(struct RH(lookups) * lookups, const struct RH(block) * block)
{
    uint64_t word = block->word;
    for (uint32_t k = 0; k < block->later_count; k++) {
        const struct RH(place) place =
            RH(locate_next)(lookups->table, block->later[k], lookups->stash, &lookups->probes);
        RH(put_previous)(lookups, block->later_at[k], place.value);
        word |= (uint64_t)place.found << (block->later_at[k] % SW_CPU_BLOCK);
    }
    if (lookups->found != NULL) {
        lookups->found[block->begin / SW_CPU_BLOCK] = word;
    }
    return (uint64_t)__builtin_popcountll(word);
}

void RH(get_range)(const struct RH(table) * table, const struct RH(work) * work, uint32_t begin,
                   uint32_t end, struct sw_counters *counters)
{
    struct sw_op_counters *count = &counters->by_class[SW_CLASS_GET];
    struct RH(lookups) lookups;
    struct RH(block) blocks[2];
    uint64_t hits = 0;
    struct RH(block) *now = &blocks[0], *before = &blocks[1];
    lookups.table = table;
    lookups.keys = work->keys;
    lookups.previous = work->previous;
    lookups.found = work->found;
    lookups.end = end;
    lookups.stash = table->state->stash_occupied != 0;
    lookups.probes = 0;
    for (uint32_t i = begin; i < end && i - begin < SW_CPU_AHEAD; i++) {
        RH(look_ahead)(&lookups, i);
    }
    for (uint32_t at = begin; at < end; at += SW_CPU_BLOCK) {
        RH(look_home_block)(&lookups, now, at);
        if (at > begin) {
            hits += RH(look_later)(&lookups, before);
        }
        struct RH(block) *swap = before;
        before = now;
        now = swap;
    }
    if (begin < end) {
        hits += RH(look_later)(&lookups, before);
    }
    count->operations += end - begin;
    count->probes += lookups.probes;
    count->hits += hits;
    count->misses += end - begin - hits;
}
