/* SPDX-License-Identifier: MIT
 *
 * get.inl - look-ups of integers, a block of 64 keys at a time. Included by get.c once per width,
 * and by sets.c.
 *
 * A look-up waits for memory at most three times, except at high loads, and each wait overlaps with
 * other look-ups. The first pass over a block prefetches the home buckets SW_CPU_AHEAD keys ahead,
 * and searches them. Where a key may be in a later bucket, the pass prefetches the next one and
 * leaves the key to the second pass. That pass follows when the first pass over the next block is
 * done, and in the same way leaves keys to the third pass, another block later. The first two
 * passes do not branch on what a bucket holds.
 */

/* The keys of a block, between its passes. */
struct RH(block) {
    uint64_t word; /* of `found` */
    uint32_t begin;
    uint32_t later_count;
    RH_WORD later[SW_CPU_BLOCK];     /* mixed keys of the next pass */
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

/* Searches a bucket for key i. Returns whether it is there, as 0 or 1. If it may be in a later
 * bucket, appends it to the `count` keys that the block leaves to the next pass. `absent` is ~0 if
 * a larger slot proves that a key is absent, otherwise 0. */
__attribute__((always_inline)) static inline uint32_t
RH(look_in)(const struct RH(lookups) * lookups, struct RH(block) * block,
            const struct RH(slot) * bucket, RH_WORD m, uint32_t i, uint32_t absent, uint32_t *count)
{
    const struct RH(match) match = RH(search)(bucket, m);
    const uint32_t same = m == RH_EMPTY ? 0 : match.same;
    const RH_WORD value = RH(slot_value)(RH(slot_load)(bucket + sw_first_slot(same)));
    const uint32_t later = (same | (match.larger & absent)) == 0;
    RH(put_previous)(lookups, i, value & (0 - (RH_WORD)(same != 0)));
    block->later[*count] = m;
    block->later_at[*count] = i;
    *count += later;
    __builtin_prefetch(bucket + later * SW_BUCKET_SLOTS, 0, 3);
    return same != 0;
}

/* Searches the home buckets of the keys [from, to) of a block. With `ahead` it prefetches for the
 * keys SW_CPU_AHEAD further on, which must exist. Always inlined, since `ahead` is constant. */
__attribute__((always_inline)) static inline void RH(look_homes)(struct RH(lookups) * lookups,
                                                                 struct RH(block) * block,
                                                                 uint32_t from, uint32_t to,
                                                                 bool ahead)
{
    const struct RH(view) main = lookups->table->main;
    const uint32_t absent = lookups->stash ? 0 : ~0U;
    uint64_t word = block->word;
    uint32_t count = block->later_count;
    for (uint32_t i = from; i < to; i++) {
        const RH_WORD m = lookups->ahead[i % (2 * SW_CPU_BLOCK)];
        const struct RH(slot) *bucket = RH(bucket)(&main, RH(home)(&main, m));
        if (ahead) {
            RH(look_ahead)(lookups, i + SW_CPU_AHEAD);
        }
        const uint64_t found = RH(look_in)(lookups, block, bucket, m, i, absent, &count);
        word = word >> 1 | found << (SW_CPU_BLOCK - 1);
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
    block->word >>= (SW_CPU_BLOCK - count) % SW_CPU_BLOCK;
    lookups->probes += count - block->later_count;
}

/* The second pass over a block. */
__attribute__((noinline)) static void RH(look_next_block)(struct RH(lookups) * lookups,
                                                          struct RH(block) * block)
{
    const struct RH(view) main = lookups->table->main;
    const uint32_t absent = lookups->stash ? 0 : ~0U;
    const uint32_t looked_up = block->later_count;
    uint64_t word = block->word;
    uint32_t count = 0;
    for (uint32_t k = 0; k < looked_up; k++) {
        const RH_WORD m = block->later[k];
        const uint32_t i = block->later_at[k];
        const struct RH(slot) *bucket = RH(bucket)(&main, RH(home)(&main, m) + 1);
        const uint64_t found = RH(look_in)(lookups, block, bucket, m, i, absent, &count);
        word |= found << (i % SW_CPU_BLOCK);
    }
    block->word = word;
    block->later_count = count;
    lookups->probes += 2 * (uint64_t)(looked_up - count);
}

/* The third pass over a block. Returns the number of keys found. */
__attribute__((noinline)) static uint64_t RH(look_on)(struct RH(lookups) * lookups,
                                                      const struct RH(block) * block)
{
    uint64_t word = block->word;
    for (uint32_t k = 0; k < block->later_count; k++) {
        const struct RH(place) place =
            RH(locate)(lookups->table, block->later[k], &lookups->probes);
        RH(put_previous)(lookups, block->later_at[k], place.value);
        word |= (uint64_t)place.found << (block->later_at[k] % SW_CPU_BLOCK);
    }
    if (lookups->found != NULL) {
        lookups->found[block->begin / SW_CPU_BLOCK] = word;
    }
    return (uint64_t)__builtin_popcountll(word);
}

/* Looks up a single key, for which passes cost more than they save. Returns whether it is there. */
static bool RH(look_up_one)(const struct RH(table) * table, const struct RH(work) * work,
                            uint32_t i, uint64_t *probes)
{
    const RH_WORD m = RH(mix)(table, SW_LOAD_ONCE(work->keys + i));
    const struct RH(place) place = RH(locate)(table, m, probes);
    if (work->previous != NULL) {
        work->previous[i] = place.value;
    }
    if (work->found != NULL) {
        work->found[i / SW_CPU_BLOCK] = place.found;
    }
    return place.found;
}

/* Looks up several keys. Returns the number of keys found. */
static uint64_t RH(look_up_blocks)(const struct RH(table) * table, const struct RH(work) * work,
                                   uint32_t begin, uint32_t end, uint64_t *probes)
{
    struct RH(lookups) lookups;
    struct RH(block) blocks[3]; /* each in another pass */
    const uint32_t count = (end - begin + SW_CPU_BLOCK - 1) / SW_CPU_BLOCK;
    uint64_t hits = 0;
    assert(table->main.max_probe > 0); /* the second pass reads the bucket after any home */
    assert(table->state->holes == 0);
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
    for (uint32_t b = 0; b < count + 2; b++) {
        if (b < count) {
            RH(look_home_block)(&lookups, &blocks[b % 3], begin + b * SW_CPU_BLOCK);
        }
        if (b > 0 && b <= count) {
            RH(look_next_block)(&lookups, &blocks[(b - 1) % 3]);
        }
        if (b > 1) {
            hits += RH(look_on)(&lookups, &blocks[(b - 2) % 3]);
        }
    }
    *probes += lookups.probes;
    return hits;
}

void RH(get_range)(const struct RH(table) * table, const struct RH(work) * work, uint32_t begin,
                   uint32_t end, struct sw_counters *counters)
{
    struct sw_op_counters *count = &counters->by_class[SW_CLASS_GET];
    const uint64_t hits = end - begin == 1
                              ? RH(look_up_one)(table, work, begin, &count->probes)
                              : RH(look_up_blocks)(table, work, begin, end, &count->probes);
    count->operations += end - begin;
    count->hits += hits;
    count->misses += end - begin - hits;
}
