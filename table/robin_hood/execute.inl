/* SPDX-License-Identifier: MIT
 *
 * execute.inl - carries out operations on a table, and undoes them. Included by robin_hood.h once
 * per width, after robin_hood.inl.
 *
 * execute_in_order applies any batch, one operation after the other, and must run exclusively; it
 * defines the semantics of a batch. Other code (cpu/get.c, cpu/parallel.c, cuda/) uses locate and
 * decide in phases of its own, and must return the same results.
 */

struct RH(table) {
    struct RH(view) main;
    struct RH(view) stash; /* slots is NULL if leftovers are returned to the caller */
    struct sw_state *state;
    uint64_t occupied_max; /* entries at which an insert is refused */
    uint64_t stash_max;    /* entries of the stash above which a batch's inserts are refused */
    uint64_t seed;
};

/* A batch's arrays (sw_batch, with their types) and its scratch. Others may change keys and values
 * meanwhile, so each element is loaded once, with SW_LOAD_ONCE. */
struct RH(work) {
    const uint8_t *ops; /* NULL: all are `op` */
    uint32_t op;
    uint32_t count;
    const RH_WORD *keys;
    const RH_WORD *values;
    const RH_WORD *expected; /* NULL: no operation is of SW_OPS_PAIR; others do not change it */
    RH_WORD *previous;
    uint64_t *found;
    uint32_t group_count; /* at least 1 */
    const uint32_t *group_ends;
    uint8_t *group_refused;
    struct RH(undo) * undo;      /* [largest group]; needed only if a group may be refused */
    struct RH(slot) * leftovers; /* [count], entries as stored; NULL if the table has a stash */
    uint32_t leftover_count;     /* they count as entries of the table until the work ends */
    bool stash_full;             /* execute_in_order sets it: inserts are refused */
};

struct RH(undo) {
    RH_WORD m;
    RH_WORD old;
    uint8_t found;
    uint8_t effect;
};

/* The place of a key. */
struct RH(place) {
    struct RH(slot) * slot; /* NULL if absent, or in the side cell */
    bool found;
    bool in_stash;
    bool left_over; /* in the leftovers of the work */
    RH_WORD value;  /* 0 if absent */
};

SW_HD static inline RH_WORD RH(mix)(const struct RH(table) * table, RH_WORD key)
{
#if RH_BITS == 64
    return sw_mix_32(key, table->seed);
#else
    return sw_mix_64(key, table->seed);
#endif
}

SW_HD static inline RH_WORD RH(unmix)(const struct RH(table) * table, RH_WORD m)
{
#if RH_BITS == 64
    return sw_unmix_32(m, table->seed);
#else
    return sw_unmix_64(m, table->seed);
#endif
}

/* Does the same as locate, but starts at bucket b of the main array: the home of m, or the start
 * given by its hint. */
SW_HD static inline struct RH(place)
    RH(locate_from)(const struct RH(table) * table, RH_WORD m, uint64_t b, uint64_t *probes)
{
    struct RH(place) place;
    place.slot = NULL;
    place.found = false;
    place.in_stash = false;
    place.left_over = false;
    place.value = 0;
    if (m == RH_EMPTY) {
        place.found = table->state->side_present != 0;
        place.value = place.found ? (RH_WORD)table->state->side_value : 0;
        return place;
    }
    place.slot = RH(find_from)(&table->main, m, b, &place.value, probes);
    if (place.slot == NULL && table->state->stash_occupied != 0) {
        place.slot = RH(find)(&table->stash, m, &place.value, probes);
        place.in_stash = place.slot != NULL;
    }
    place.found = place.slot != NULL;
    return place;
}

SW_HD static inline struct RH(place)
    RH(locate)(const struct RH(table) * table, RH_WORD m, uint64_t *probes)
{
    return RH(locate_from)(table, m, RH(home)(&table->main, m), probes);
}

/* Looks up a key, which the table does not contain, in the leftovers. A linear search: the list is
 * empty unless an entry met the cap in this work. */
SW_HD static inline void RH(locate_left_over)(const struct RH(work) * work, RH_WORD m,
                                              struct RH(place) * place)
{
    for (uint32_t k = 0; k < work->leftover_count; k++) {
        if (work->leftovers[k].m == m) {
            place->slot = &work->leftovers[k];
            place->found = true;
            place->left_over = true;
            place->value = RH(slot_value)(work->leftovers[k]);
            return;
        }
    }
}

/* Writes the value of a present key; nothing moves. */
SW_HD static inline void RH(write_at)(const struct RH(table) * table,
                                      const struct RH(place) * place, RH_WORD m, RH_WORD value)
{
    if (m == RH_EMPTY) {
        table->state->side_value = value;
        return;
    }
    SW_KEEP(&table->main, place->slot); /* the stash has the same guard; leftovers have no guard */
    RH(slot_store)(place->slot, RH(slot_of)(m, value));
}

/* Removes a present key. The thread runs exclusively. */
SW_HD static inline void RH(remove)(const struct RH(table) * table, struct RH(work) * work,
                                    const struct RH(place) * place, RH_WORD m, uint64_t *probes)
{
    table->state->occupied--;
    if (m == RH_EMPTY) {
        table->state->side_present = 0;
        return;
    }
    if (place->left_over) {
        *place->slot = work->leftovers[--work->leftover_count];
        return;
    }
    if (place->in_stash) {
        table->state->stash_occupied--;
    }
    RH(remove_at)(place->in_stash ? &table->stash : &table->main, place->slot, probes);
}

/* Inserts an absent key. The entry that meets the cap goes to the stash or to the leftovers. */
SW_HD static inline void RH(insert)(const struct RH(table) * table, struct RH(work) * work,
                                    RH_WORD m, RH_WORD value, uint64_t *probes)
{
    table->state->occupied++;
    if (m == RH_EMPTY) {
        table->state->side_present = 1;
        table->state->side_value = value;
        return;
    }
    struct RH(slot) carried = RH(slot_of)(m, value);
    if (RH(insert_absent)(&table->main, &carried, probes)) {
        return;
    }
    if (table->stash.slots != NULL) {
        table->state->stash_occupied++;
        RH(insert_absent)(&table->stash, &carried, probes);
    } else {
        work->leftovers[work->leftover_count++] = carried;
    }
}

/* Returns the effect of operation i on its key, and the value after it. */
SW_HD static inline enum sw_effect RH(decide_at)(const struct RH(work) * work, uint32_t i,
                                                 uint32_t op, bool found, RH_WORD old,
                                                 RH_WORD operand, RH_WORD *out)
{
#ifdef __CUDACC__ /* the branch of the host would change the kernels */
    return work->expected != NULL && SW_OPS_HAS(SW_OPS_PAIR, op)
               ? RH(decide_pair)(found, old, work->expected[i], operand, out)
               : RH(decide)(op, found, old, operand, out);
#else
    return RH(decide_any)(op, found, old, operand, work->expected, i, out);
#endif
}

/* Applies operation i. Returns false, with nothing changed, if occupied_max or a full stash rejects
 * the insert. */
SW_HD static inline bool RH(apply)(const struct RH(table) * table, struct RH(work) * work,
                                   uint32_t i, uint32_t op, RH_WORD m, struct RH(undo) * undo,
                                   bool *found, struct sw_counters *counters)
{
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(op)];
    struct RH(place) place = RH(locate)(table, m, &count->probes);
    if (!place.found && work->leftover_count != 0) {
        RH(locate_left_over)(work, m, &place);
    }
    RH_WORD out = 0;
    RH_WORD operand = work->values != NULL ? SW_LOAD_ONCE(work->values + i) : 0;
    enum sw_effect effect = RH(decide_at)(work, i, op, place.found, place.value, operand, &out);

    if (effect == SW_EFFECT_REMOVE) {
        RH(remove)(table, work, &place, m, &count->probes);
        counters->deleted++;
    } else if (effect == SW_EFFECT_WRITE && place.found) {
        RH(write_at)(table, &place, m, out);
        counters->updated++;
    } else if (effect == SW_EFFECT_WRITE) {
        if (table->state->occupied >= table->occupied_max || work->stash_full) {
            return false;
        }
        uint64_t outside = table->state->stash_occupied + work->leftover_count;
        RH(insert)(table, work, m, out, &count->probes);
        counters->failures += table->state->stash_occupied + work->leftover_count - outside;
        counters->inserted++;
    }
    if (undo != NULL) {
        undo->m = m;
        undo->old = place.value;
        undo->found = place.found;
        undo->effect = (uint8_t)effect;
    }
    if (work->previous != NULL) {
        work->previous[i] = place.value;
    }
    *found = place.found;
    count->operations++;
    count->hits += place.found;
    count->misses += !place.found;
    return true;
}

/* Undoes the first `count` operations of a group, last first. The layout depends only on the
 * contents, so this restores it. Entries that stay in the stash or in the leftovers are the
 * exception. */
SW_HD static inline void RH(undo_group)(const struct RH(table) * table, struct RH(work) * work,
                                        uint32_t count)
{
    uint64_t probes = 0;
    while (count-- > 0) {
        const struct RH(undo) *undo = &work->undo[count];
        if (undo->effect == SW_EFFECT_NONE) {
            continue;
        }
        struct RH(place) place = RH(locate)(table, undo->m, &probes);
        if (!place.found) {
            RH(locate_left_over)(work, undo->m, &place);
        }
        if (undo->effect == SW_EFFECT_REMOVE) {
            RH(insert)(table, work, undo->m, undo->old, &probes);
        } else if (undo->found) {
            RH(write_at)(table, &place, undo->m, undo->old);
        } else {
            RH(remove)(table, work, &place, undo->m, &probes);
        }
    }
}

/* Ends the work. Leftovers that now fit, because later operations deleted entries or were undone,
 * return to the table. The remaining ones no longer count as entries. */
SW_HD static inline void RH(hand_back_leftovers)(const struct RH(table) * table,
                                                 struct RH(work) * work)
{
    uint64_t probes = 0;
    uint32_t rest = 0;
    for (uint32_t k = 0; k < work->leftover_count; k++) {
        struct RH(slot) carried = work->leftovers[k];
        if (!RH(insert_absent)(&table->main, &carried, &probes)) {
            work->leftovers[rest++] = carried;
        }
    }
    work->leftover_count = rest;
    table->state->occupied -= rest;
}

SW_HD static inline void RH(prefetch)(const struct RH(table) * table, RH_WORD m)
{
#if defined(__CUDA_ARCH__)
    (void)table;
    (void)m;
#else
    __builtin_prefetch(RH(bucket)(&table->main, RH(home)(&table->main, m)), 0, 3);
#endif
}

/* Prefetches the bucket after the home of m, if m can only be there or later. The home bucket must
 * have come by an earlier prefetch. Same phases as locate. */
SW_HD static inline void RH(prefetch_next)(const struct RH(table) * table, RH_WORD m)
{
#if defined(__CUDA_ARCH__)
    (void)table;
    (void)m;
#else
    const struct RH(slot) *bucket = RH(bucket)(&table->main, RH(home)(&table->main, m));
    RH_WORD top = 0;
    SW_UNROLL_BUCKET
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        const RH_WORD held = RH(slot_load)(bucket + i).m;
        top = held > top ? held : top;
    }
    __builtin_prefetch(bucket + (top < m ? SW_BUCKET_SLOTS : 0), 0, 3);
#endif
}

/* Distances, in operations, at which home buckets and the buckets after them are prefetched. */
#define RH_AHEAD 16
#define RH_NEAR 6

SW_HD static inline void RH(add_counters)(struct sw_counters *to, const struct sw_counters *from)
{
    for (int c = 0; c < SW_CLASS_COUNT; c++) {
        to->by_class[c].operations += from->by_class[c].operations;
        to->by_class[c].probes += from->by_class[c].probes;
        to->by_class[c].hits += from->by_class[c].hits;
        to->by_class[c].misses += from->by_class[c].misses;
    }
    to->inserted += from->inserted;
    to->updated += from->updated;
    to->deleted += from->deleted;
    to->failures += from->failures;
    to->refused += from->refused;
}

/* Adds the answer of operation i to a word of `found`; the last operation is end - 1. Stores each
 * word when it is complete, so memory that others may write is never read back (rule 9). */
SW_HD static inline void RH(answer)(const struct RH(work) * work, uint32_t i, uint32_t end,
                                    bool found, uint64_t *word)
{
    *word |= (uint64_t)found << (i % 64);
    if (i % 64 == 63 || i + 1 == end) {
        if (work->found != NULL) {
            work->found[i / 64] = *word;
        }
        *word = 0;
    }
}

/* Applies the whole work in order. Returns true if no group was refused. */
SW_HD static inline bool RH(execute_in_order)(const struct RH(table) * table,
                                              struct RH(work) * work, struct sw_counters *counters)
{
    RH_WORD ahead[RH_AHEAD];
    uint64_t word = 0;
    bool all = true;
    uint32_t i = 0;
    work->stash_full = table->state->stash_occupied > table->stash_max;
    for (; i < work->count && i < RH_AHEAD; i++) {
        ahead[i] = RH(mix)(table, SW_LOAD_ONCE(work->keys + i));
        RH(prefetch)(table, ahead[i]);
    }
    i = 0;
    for (uint32_t g = 0; g < work->group_count; g++) {
        uint32_t end = work->group_count == 1 ? work->count : work->group_ends[g];
        uint32_t first = i;
        struct sw_counters group;
        bool admitted = true;
        memset(&group, 0, sizeof(group));
        for (; i < end; i++) {
            RH_WORD m = ahead[i % RH_AHEAD];
            bool found = false;
            if (work->count - i > RH_AHEAD) {
                ahead[i % RH_AHEAD] = RH(mix)(table, SW_LOAD_ONCE(work->keys + i + RH_AHEAD));
                RH(prefetch)(table, ahead[i % RH_AHEAD]);
            }
            if (work->count - i > RH_NEAR) {
                RH(prefetch_next)(table, ahead[(i + RH_NEAR) % RH_AHEAD]);
            }
            if (admitted &&
                !RH(apply)(table, work, i, work->ops != NULL ? work->ops[i] : work->op, m,
                           work->undo != NULL ? &work->undo[i - first] : NULL, &found, &group)) {
                RH(undo_group)(table, work, i - first);
                admitted = false;
            }
            RH(answer)(work, i, work->count, found, &word);
        }
        if (!admitted) {
            counters->refused += end - first;
            all = false;
        } else {
            RH(add_counters)(counters, &group);
        }
        if (work->group_refused != NULL) {
            work->group_refused[g] = !admitted;
        }
    }
    RH(hand_back_leftovers)(table, work);
    return all;
}

#undef RH_AHEAD
#undef RH_NEAR
