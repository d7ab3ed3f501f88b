/* SPDX-License-Identifier: MIT
 *
 * engine.inl - the operations of table.h on a cuckoo table: locate, apply, undo. engine.h includes
 * it once per width, after cuckoo.inl.
 *
 * get_range executes reads; several threads may run it at once. execute_in_order applies any batch,
 * one operation after the other, and must run alone. It defines the result of a batch; the phases
 * of the CUDA backend must produce the same result.
 */

struct CK(table) {
    struct CK(view) view;
    struct CK(cell) * stash; /* entries that met the chain bound, in no order; it has
                                state->stash_occupied entries and room for geometry.stash_room */
    struct sw_state *state;
    uint64_t occupied_max; /* at this number of entries inserts are refused */
    uint64_t stash_max;    /* entries of the stash above which a batch's inserts are refused */
    /* entries of the stash above which groups that might insert are refused */
    uint64_t stash_most;
};

struct CK(undo) {
    CK_WORD key;
    CK_WORD old;
    uint8_t found;
    uint8_t effect;
};

/* A batch's arrays (sw_batch, with their types) and its scratch. Other threads may change keys and
 * values at any time, so each element is loaded once, with SW_LOAD_ONCE. */
struct CK(work) {
    const uint8_t *ops; /* NULL: all are `op` */
    uint32_t op;
    uint32_t count;
    const CK_WORD *keys;
    const CK_WORD *values;
    const CK_WORD *expected; /* 0: no operation is of SW_OPS_PAIR; others do not change it */
    CK_WORD *previous;
    uint64_t *found;
    uint32_t group_count; /* at least 1 */
    const uint32_t *group_ends;
    uint8_t *group_refused;
    struct CK(undo) * undo; /* [largest group] */
    bool stash_full;        /* execute_in_order sets it: inserts are refused */
    bool stash_brimful;     /* groups that might insert are also refused */
};

/* The place of a key. */
struct CK(place) {
    struct CK(cell) * cell; /* NULL: the key is absent, or is the key of all ones */
    bool found;
    bool in_stash;
    CK_WORD value; /* 0 if absent */
};

/* Looks up a key in the stash; the key is in no array. The stash is empty or nearly empty, except
 * in a table too small for its hash functions. */
SW_CUCKOO_INLINE void CK(locate_in_stash)(const struct CK(table) * table, CK_WORD key,
                                          struct CK(place) * place, uint64_t *probes)
{
    for (uint64_t s = 0; s < table->state->stash_occupied; s++) {
        ++*probes;
        if (table->stash[s].key == key) {
            place->cell = table->stash + s;
            place->in_stash = true;
            return;
        }
    }
}

/* The same as locate, for a caller that knows the key's cell in the first array. */
SW_CUCKOO_INLINE struct CK(place) CK(locate_from)(const struct CK(table) * table, CK_WORD key,
                                                  struct CK(cell) * cell, uint64_t *probes)
{
    struct CK(place) place;
    place.cell = 0;
    place.found = false;
    place.in_stash = false;
    place.value = 0;
    if (key == CK_ONES) {
        place.found = table->state->side_present != 0;
        place.value = place.found ? (CK_WORD)table->state->side_value : 0;
        return place;
    }
    for (uint32_t i = 0; i < table->view.shape.functions && place.cell == 0; i++) {
        cell = i == 0 ? cell : CK(cell_at)(&table->view, key, i);
        ++*probes;
        place.cell = CK(cell_read)(cell).key == key ? cell : 0;
    }
    if (place.cell == 0 && table->state->stash_occupied != 0) {
        CK(locate_in_stash)(table, key, &place, probes);
    }
    place.found = place.cell != 0;
    place.value = place.found ? place.cell->value : 0;
    return place;
}

SW_CUCKOO_INLINE struct CK(place)
    CK(locate)(const struct CK(table) * table, CK_WORD key, uint64_t *probes)
{
    return CK(locate_from)(table, key, CK(cell_at)(&table->view, key, 0), probes);
}

/* Writes the value of a present key in place. */
SW_CUCKOO_INLINE void CK(write_at)(const struct CK(table) * table, const struct CK(place) * place,
                                   CK_WORD key, CK_WORD value)
{
    if (key == CK_ONES) {
        table->state->side_value = value;
        return;
    }
    *place->cell = CK(cell_of)(key, value);
}

/* Removes a present key. No other thread may use the table. */
SW_CUCKOO_INLINE void CK(remove)(const struct CK(table) * table, const struct CK(place) * place,
                                 CK_WORD key)
{
    table->state->occupied--;
    if (key == CK_ONES) {
        table->state->side_present = 0;
    } else if (place->in_stash) {
        *place->cell = table->stash[--table->state->stash_occupied];
    } else {
        *place->cell = CK(cell_of)(CK_ONES, CK_ONES);
    }
}

/* Inserts an absent key. No other thread may use the table. An entry that reaches the chain bound
 * goes to the stash. */
SW_CUCKOO_INLINE void CK(add)(const struct CK(table) * table, CK_WORD key, CK_WORD value)
{
    struct CK(cell) carried = CK(cell_of)(key, value);
    table->state->occupied++;
    if (key == CK_ONES) {
        table->state->side_present = 1;
        table->state->side_value = value;
    } else if (CK(insert_from)(&table->view, &carried, 1, 0, 1, table->view.shape.functions) != 0) {
        table->stash[table->state->stash_occupied++] = carried;
    }
}

/* Returns the effect of operation i on its key, and the value after it. */
SW_CUCKOO_INLINE enum sw_effect CK(decide_at)(const struct CK(work) * work, uint32_t i, uint32_t op,
                                              bool found, CK_WORD old, CK_WORD operand,
                                              CK_WORD *out)
{
#ifdef __CUDACC__ /* the branch of the host would change the kernels */
    return work->expected != 0 && SW_OPS_HAS(SW_OPS_PAIR, op)
               ? CK(decide_pair)(found, old, work->expected[i], operand, out)
               : CK(decide)(op, found, old, operand, out);
#else
    return CK(decide_any)(op, found, old, operand, work->expected, i, out);
#endif
}

/* Applies operation i. Returns false if it is refused; then nothing has changed. */
SW_CUCKOO_INLINE bool CK(apply)(const struct CK(table) * table, struct CK(work) * work, uint32_t i,
                                struct CK(undo) * undo, bool *found, struct sw_counters *counters)
{
    uint32_t op = work->ops != 0 ? work->ops[i] : work->op;
    CK_WORD key = SW_LOAD_ONCE(work->keys + i);
    struct sw_op_counters *count = &counters->by_class[sw_op_class_of(op)];
    struct CK(place) place = CK(locate)(table, key, &count->probes);
    CK_WORD out = 0;
    CK_WORD operand = work->values != 0 ? SW_LOAD_ONCE(work->values + i) : 0;
    enum sw_effect effect = CK(decide_at)(work, i, op, place.found, place.value, operand, &out);

    if (effect == SW_EFFECT_REMOVE) {
        CK(remove)(table, &place, key);
        counters->deleted++;
    } else if (effect == SW_EFFECT_WRITE && place.found) {
        CK(write_at)(table, &place, key, out);
        counters->updated++;
    } else if (effect == SW_EFFECT_WRITE) {
        if (table->state->occupied >= table->occupied_max || work->stash_full) {
            return false;
        }
        uint64_t stashed = table->state->stash_occupied;
        CK(add)(table, key, out);
        counters->failures += table->state->stash_occupied - stashed;
        counters->inserted++;
    }
    undo->key = key;
    undo->old = place.value;
    undo->found = place.found;
    undo->effect = (uint8_t)effect;
    if (work->previous != 0) {
        work->previous[i] = place.value;
    }
    *found = place.found;
    count->operations++;
    count->hits += place.found;
    count->misses += !place.found;
    return true;
}

/* Undoes the first `count` operations of a group, last first. Afterwards the table has the same
 * entries as before, perhaps in other cells. */
SW_CUCKOO_INLINE void CK(undo_group)(const struct CK(table) * table, struct CK(work) * work,
                                     uint32_t count)
{
    uint64_t probes = 0;
    while (count-- > 0) {
        const struct CK(undo) *undo = &work->undo[count];
        if (undo->effect == SW_EFFECT_NONE) {
            continue;
        }
        struct CK(place) place = CK(locate)(table, undo->key, &probes);
        if (undo->effect == SW_EFFECT_REMOVE) {
            CK(add)(table, undo->key, undo->old);
        } else if (undo->found) {
            CK(write_at)(table, &place, undo->key, undo->old);
        } else {
            CK(remove)(table, &place, undo->key);
        }
    }
}

/* Adds the answer of operation i to a word of `found`; the last operation is end - 1. Stores the
 * word once it is complete, so that it never reads back memory that others may write. */
SW_CUCKOO_INLINE void CK(answer)(const struct CK(work) * work, uint32_t i, uint32_t end, bool found,
                                 uint64_t *word)
{
    *word |= (uint64_t)found << (i % 64);
    if (i % 64 == 63 || i + 1 == end) {
        if (work->found != 0) {
            work->found[i / 64] = *word;
        }
        *word = 0;
    }
}

/* A key to look up later, and its prefetched cell of the first array. */
struct CK(ahead) {
    CK_WORD key;
    struct CK(cell) * cell;
};

SW_CUCKOO_INLINE struct CK(ahead)
    CK(look_ahead)(const struct CK(table) * table, const struct CK(work) * work, uint32_t i)
{
    struct CK(ahead) ahead;
    ahead.key = SW_LOAD_ONCE(work->keys + i);
    ahead.cell = CK(cell_at)(&table->view, ahead.key, 0);
#ifndef __CUDA_ARCH__
    __builtin_prefetch(ahead.cell, 0, 3);
#endif
    return ahead;
}

/* Executes the reads [begin, end) of the work; begin is a multiple of 64. Updates only the counters
 * of GET. */
SW_CUCKOO_INLINE void CK(get_range)(const struct CK(table) * table, struct CK(work) * work,
                                    uint32_t begin, uint32_t end, struct sw_counters *counters)
{
    struct sw_op_counters *count = &counters->by_class[SW_CLASS_GET];
    struct CK(ahead) ahead[SW_CUCKOO_AHEAD];
    uint64_t word = 0;
    for (uint32_t i = begin; i < end && i < begin + SW_CUCKOO_AHEAD; i++) {
        ahead[i % SW_CUCKOO_AHEAD] = CK(look_ahead)(table, work, i);
    }
    for (uint32_t i = begin; i < end; i++) {
        struct CK(ahead) at = ahead[i % SW_CUCKOO_AHEAD];
        if (end - i > SW_CUCKOO_AHEAD) {
            ahead[i % SW_CUCKOO_AHEAD] = CK(look_ahead)(table, work, i + SW_CUCKOO_AHEAD);
        }
        struct CK(place) place = CK(locate_from)(table, at.key, at.cell, &count->probes);
        if (work->previous != 0) {
            work->previous[i] = place.value;
        }
        CK(answer)(work, i, end, place.found, &word);
        count->hits += place.found;
        count->misses += !place.found;
    }
    count->operations += end - begin;
}

/* Returns whether some operation of [first, end) might insert. */
SW_CUCKOO_INLINE bool CK(may_insert)(const struct CK(work) * work, uint32_t first, uint32_t end)
{
    if (work->ops == 0) {
        return sw_cuckoo_may_insert(work->op);
    }
    for (uint32_t i = first; i < end; i++) {
        if (sw_cuckoo_may_insert(work->ops[i])) {
            return true;
        }
    }
    return false;
}

/* Applies a group, the operations [first, end). Returns false if the group was refused; then none
 * of its operations took effect. If the stash has no room for undone deletes, refuses a group that
 * might insert before its first operation. *word: the bits of `found` that are not stored yet. */
SW_CUCKOO_INLINE bool CK(execute_group)(const struct CK(table) * table, struct CK(work) * work,
                                        uint32_t first, uint32_t end, uint64_t *word,
                                        struct sw_counters *counters)
{
    bool admitted = !(work->stash_brimful && CK(may_insert)(work, first, end));
    for (uint32_t i = first; i < end; i++) {
        bool found = false;
        if (admitted && !CK(apply)(table, work, i, &work->undo[i - first], &found, counters)) {
            CK(undo_group)(table, work, i - first);
            admitted = false;
        }
        CK(answer)(work, i, work->count, found, word);
    }
    return admitted;
}

/* Applies the whole work in order. Returns true if no group was refused. */
SW_CUCKOO_INLINE bool CK(execute_in_order)(const struct CK(table) * table, struct CK(work) * work,
                                           struct sw_counters *counters)
{
    bool all = true;
    uint32_t first = 0;
    uint64_t word = 0;
    work->stash_full = table->state->stash_occupied > table->stash_max;
    work->stash_brimful = table->state->stash_occupied > table->stash_most;
    for (uint32_t g = 0; g < work->group_count; g++) {
        uint32_t end = work->group_count == 1 ? work->count : work->group_ends[g];
        struct sw_counters group;
        memset(&group, 0, sizeof(group));
        bool admitted = CK(execute_group)(table, work, first, end, &word, &group);
        if (admitted) {
            sw_cuckoo_add_counters(counters, &group);
        } else {
            counters->refused += end - first;
            all = false;
        }
        if (work->group_refused != 0) {
            work->group_refused[g] = !admitted;
        }
        first = end;
    }
    return all;
}
