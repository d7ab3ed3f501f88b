/* SPDX-License-Identifier: MIT
 *
 * range_direct.cuh - one range of inserts or of removals, all of one kind. The block carries out at
 * once what moves no other entry, and lists the rest for displacement/.
 *
 * The batch only upserts or only removes, and one thread has each key. So entries only come or only
 * leave, and a look-up of another thread stays correct (fill_gap, clear_direct, holes.cuh).
 *
 * A block reserves its places in the list of all blocks by one atomic. One atomic per warp, on one
 * address, would cost about 100 us for 2^20 operations on an H200.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_DIRECT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_RANGE_DIRECT_CUH

#include "table/robin_hood/cuda/writes/fold.cuh"
#include "table/robin_hood/cuda/writes/holes.cuh"

enum direct_kind { DIRECT_INSERTS, DIRECT_REMOVALS, DIRECT_HOLES };

/* Stores the number of a slot beside a key to be removed, in two parts: a word of 64-bit slots has
 * 32 bits. No thread reads the entry's operand and operation after that. */
template <int BITS>
static __device__ inline void keep_slot(struct fold<BITS> *fold, uint32_t e, uint64_t slot)
{
    if constexpr (sw_width<BITS>::is_set) { /* nor whether the entry is alive */
        fold->replaced_by[e] = (uint16_t)(slot >> 32);
        fold->operation[e] = (uint32_t)slot;
    } else {
        fold->entries[e].value = (typename sw_width<BITS>::word)slot;
        fold->operation[e] = (uint32_t)(slot >> 32);
    }
}

template <int BITS>
static __device__ inline uint64_t kept_slot(const struct fold<BITS> *fold, uint32_t e)
{
    if constexpr (sw_width<BITS>::is_set) {
        return (uint64_t)fold->replaced_by[e] << 32 | fold->operation[e];
    } else {
        const uint64_t low = fold->entries[e].value;
        return BITS == 64 ? (uint64_t)fold->operation[e] << 32 | low : low;
    }
}

/* Looks a key up. *gap: the EMPTY slot that fill_gap can take, or NULL. */
template <int BITS>
static __device__ inline typename sw_width<BITS>::place
locate_gap(const struct sw_cuda_device<BITS> &device, typename sw_width<BITS>::word m,
           typename sw_width<BITS>::slot **gap, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::table *table = &device.table;
    typename W::place place = {};
    *gap = NULL;
    if (m == W::empty) {
        return W::locate(table, m, probes);
    }
    place.slot = W::find_gap(&table->main, m, W::hint_start(&table->main, device.hints, m),
                             &place.value, probes, gap);
    if (place.slot == NULL && table->state->stash_occupied != 0) {
        place.slot =
            W::find_from(&table->stash, m, W::home(&table->stash, m), &place.value, probes);
        place.in_stash = place.slot != NULL;
    }
    place.found = place.slot != NULL;
    return place;
}

/* Removes the entry in a slot, without moving others. Returns false if the next bucket has an entry
 * that was displaced past it, or if the slot belongs to the stash. Other threads do the same for
 * other keys, and look keys up. So entries only leave. "No entry from bucket b + 1 on has its home
 * at or before b" stays true, and a look-up that passes b is not cut short. Only this thread stores
 * the slot (M8). */
template <int BITS>
static __device__ inline bool clear_direct(const struct sw_cuda_device<BITS> &device, uint64_t slot,
                                           uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = &device.table.main;
    const uint64_t next = slot / SW_BUCKET_SLOTS + 1;
    ++*probes;
    if (next > view->buckets_total || !W::is_boundary(view, next)) {
        return false;
    }
    W::clear_slot(view->slots + slot);
    return true;
}

/* Counts of one thread. */
struct direct_counts {
    uint64_t probes;
    uint64_t holes;
    uint32_t done; /* inserts or removals that need no displacement */
};

/* Writes one key. Returns whether it is absent and must be inserted by displacement/. */
template <int BITS>
static __device__ inline bool upsert_direct(const struct sw_cuda_device<BITS> &device,
                                            struct fold<BITS> *fold, uint32_t op, uint32_t e,
                                            bool answers, struct direct_counts *counts)
{
    typedef sw_width<BITS> W;
    typename W::slot entry = fold->entries[e];
    typename W::slot *gap = NULL;
    const typename W::place place = locate_gap<BITS>(device, entry.m, &gap, &counts->probes);
    typename W::word value = W::value(entry);
    W::decide(op, place.found, place.value, value, &value);
    W::put_value(&entry, value);
    if (answers && place.found) {
        set_found<BITS>(device, fold->operation[e]);
    }
    if (!write_one<BITS>(device, place, entry)) {
        return false;
    }
    if (gap != NULL && W::fill_gap(&device.table.main, gap, entry)) {
        counts->done++;
        return false;
    }
    W::put_value(&fold->entries[e], W::value(entry));
    return true;
}

/* Removes one key. Returns whether displacement/ must remove it. */
template <int BITS, bool HOLES>
static __device__ inline bool remove_direct(const struct sw_cuda_device<BITS> &device,
                                            struct fold<BITS> *fold, uint32_t e, bool answers,
                                            struct direct_counts *counts)
{
    struct sw_cuda_removal<BITS> removal;
    bool found = false;
    const bool leaves =
        remove_one<BITS>(device, fold->entries[e].m, &removal, &found, &counts->probes);
    if (answers && found) {
        set_found<BITS>(device, fold->operation[e]);
    }
    if (!leaves) {
        return false;
    }
    if (HOLES && device.control->stash_before == 0) {
        counts->holes += leave_hole<BITS>(device, removal.slot);
        counts->done++;
        return false;
    }
    if (!HOLES && clear_direct<BITS>(device, removal.slot, &counts->probes)) {
        counts->done++;
        return false;
    }
    keep_slot<BITS>(fold, e, removal.slot);
    return true;
}

/* Appends the block's `rest` entries, whose numbers are in fold->key_slots, to the list of all
 * blocks. All threads of the block must call it. */
template <int BITS, int THREADS, bool REMOVES>
static __device__ inline void append_rest(const struct sw_cuda_device<BITS> &device,
                                          const struct fold<BITS> *fold, uint32_t rest)
{
    const struct sw_cuda_scratch<BITS> *scratch = &device.scratch;
    __shared__ uint32_t first;
    if (threadIdx.x == 0) { /* M6: a count */
        first = atomicAdd(REMOVES ? &device.control->deletes : &device.control->inserts, rest);
    }
    __syncthreads(); /* M2: `first` */
    for (uint32_t p = threadIdx.x; p < rest; p += THREADS) {
        const uint32_t e = fold->key_slots[p];
        if (REMOVES) {
            scratch->deletes[first + p].slot = kept_slot<BITS>(fold, e);
            scratch->deletes[first + p].m = fold->entries[e].m;
        } else {
            *sw_listed_insert<BITS>(*scratch, first + p) = fold->entries[e];
        }
    }
}

/* Carries out the operations of a range. All threads of the block must call it. */
template <int BITS, int THREADS, enum direct_kind KIND>
static __device__ inline void
write_range_direct(const struct sw_cuda_device<BITS> &device, struct fold<BITS> *fold, uint32_t op,
                   bool answers, const struct sw_cuda_moved<BITS> *moved, uint32_t count)
{
    constexpr bool REMOVES = KIND != DIRECT_INSERTS;
    __shared__ uint32_t rest;
    struct direct_counts counts = {};
    if (threadIdx.x == 0) {
        rest = 0;
    }
    fold_range<BITS, THREADS>(device, fold, op, answers, moved, count);
    /* no thread reads the key slots any more: they become the list of the rest */
    for (uint32_t from = 0; from < count; from += THREADS) {
        const uint32_t e = from + threadIdx.x;
        bool rests = false;
        if (e < count && fold->replaced_by[e] == ALIVE) {
            rests = REMOVES ? remove_direct<BITS, KIND == DIRECT_HOLES>(device, fold, e, answers,
                                                                        &counts)
                            : upsert_direct<BITS>(device, fold, op, e, answers, &counts);
        }
        const uint32_t at = sw_list_append(&rest, rests);
        if (rests) {
            fold->key_slots[at] = e;
        }
    }
    __syncthreads(); /* M2: the rest of all warps */
    append_rest<BITS, THREADS, REMOVES>(device, fold, rest);
    struct sw_cuda_control *control = device.control;
    sw_block_add(&control->counters.by_class[sw_op_class_of(op)].probes, counts.probes);
    sw_block_add(REMOVES ? &control->direct_removals : &control->direct_inserts, counts.done);
    if (KIND == DIRECT_HOLES) {
        sw_block_add(&device.table.state->holes, counts.holes);
    }
}

#endif
