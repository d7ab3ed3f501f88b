/* SPDX-License-Identifier: MIT
 *
 * get.inl - look-ups of integers, a block of 64 keys at a time. Included by get.c once per width,
 * and by sets.c.
 *
 * A look-up waits for memory at most twice, and both waits overlap with other look-ups. The first
 * pass prefetches the home buckets SW_CPU_AHEAD keys ahead, and searches them. Where a key must be
 * in a later bucket, the pass prefetches the next one and leaves the key to the second pass.
 */

/* A block of look-ups. */
struct RH(lookups) {
    const struct RH(table) * table;
    const RH_WORD *keys;
    RH_WORD *previous;               /* NULL: not wanted */
    RH_WORD ahead[SW_CPU_AHEAD];     /* mixed keys whose home buckets are prefetched */
    RH_WORD later[SW_CPU_BLOCK];     /* mixed keys of the second pass */
    uint32_t later_at[SW_CPU_BLOCK]; /* their indexes in the batch */
    uint32_t later_count;
    uint32_t end; /* of all blocks */
    uint64_t probes;
};

static inline void RH(look_ahead)(struct RH(lookups) * lookups, uint32_t i)
{
    const RH_WORD m = RH(mix)(lookups->table, SW_LOAD_ONCE(lookups->keys + i));
    lookups->ahead[i % SW_CPU_AHEAD] = m;
    RH(prefetch)(lookups->table, m);
}

static inline void RH(put_previous)(const struct RH(lookups) * lookups, uint32_t i, RH_WORD value)
{
    if (lookups->previous != NULL) {
        lookups->previous[i] = value;
    }
}

/* Looks up key i in its home bucket. Returns whether it is there; if it may be elsewhere, leaves it
 * to the second pass. */
static inline bool RH(look_home)(struct RH(lookups) * lookups, uint32_t i, RH_WORD m)
{
    const struct RH(table) *table = lookups->table;
    const struct RH(slot) *bucket = RH(bucket)(&table->main, RH(home)(&table->main, m));
    struct RH(slot) held[SW_BUCKET_SLOTS];
    RH_WORD value = 0;
    RH(bucket_read)(bucket, held);
    const int at = m == RH_EMPTY ? SW_PROBE_NEXT : RH(probe)(held, m, &value);
    RH(put_previous)(lookups, i, value);
    if (at == SW_PROBE_NEXT || (at == SW_PROBE_ABSENT && table->state->stash_occupied != 0)) {
        __builtin_prefetch(bucket + SW_BUCKET_SLOTS, 0, 3);
        lookups->later[lookups->later_count] = m;
        lookups->later_at[lookups->later_count++] = i;
        return false;
    }
    lookups->probes++;
    return at >= 0;
}

/* Looks up the keys that the first pass left. Returns their bits of the word of `found`. */
static uint64_t RH(look_later)(struct RH(lookups) * lookups)
{
    uint64_t word = 0;
    for (uint32_t k = 0; k < lookups->later_count; k++) {
        const struct RH(place) place =
            RH(locate)(lookups->table, lookups->later[k], &lookups->probes);
        RH(put_previous)(lookups, lookups->later_at[k], place.value);
        word |= (uint64_t)place.found << (lookups->later_at[k] % SW_CPU_BLOCK);
    }
    lookups->later_count = 0;
    return word;
}

/* Answers the reads of a block, and prefetches the first ones of the next. */
static uint64_t RH(look_up_block)(struct RH(lookups) * lookups, uint32_t begin, uint32_t end)
{
    uint64_t word = 0;
    for (uint32_t i = begin; i < end; i++) {
        const RH_WORD m = lookups->ahead[i % SW_CPU_AHEAD];
        if (lookups->end - i > SW_CPU_AHEAD) {
            RH(look_ahead)(lookups, i + SW_CPU_AHEAD);
        }
        word |= (uint64_t)RH(look_home)(lookups, i, m) << (i % SW_CPU_BLOCK);
    }
    return word | RH(look_later)(lookups);
}

void RH(get_range)(const struct RH(table) * table, const struct RH(work) * work, uint32_t begin,
                   uint32_t end, struct sw_counters *counters)
{
    struct sw_op_counters *count = &counters->by_class[SW_CLASS_GET];
    struct RH(lookups) lookups;
    uint64_t hits = 0;
    lookups.table = table;
    lookups.keys = work->keys;
    lookups.previous = work->previous;
    lookups.later_count = 0;
    lookups.end = end;
    lookups.probes = 0;
    for (uint32_t i = begin; i < end && i < begin + SW_CPU_AHEAD; i++) {
        RH(look_ahead)(&lookups, i);
    }
    for (uint32_t at = begin; at < end; at += SW_CPU_BLOCK) {
        const uint64_t word =
            RH(look_up_block)(&lookups, at, end - at < SW_CPU_BLOCK ? end : at + SW_CPU_BLOCK);
        hits += (uint64_t)__builtin_popcountll(word);
        if (work->found != NULL) {
            work->found[at / SW_CPU_BLOCK] = word;
        }
    }
    count->operations += end - begin;
    count->probes += lookups.probes;
    count->hits += hits;
    count->misses += end - begin - hits;
}
