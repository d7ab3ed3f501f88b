/* SPDX-License-Identifier: MIT
 *
 * merge.cuh - a block merges a batch's operations with the old entries of one segment.
 *
 * The operations are far fewer than the entries. A counting sort orders them by the next bits of m;
 * then operations of equal bits are compared. If a key is repeated, its last operation stays, or
 * the combination of all. Then each operation searches for its key among the old entries. It
 * changes the value there, or it becomes a new entry and gets a place among all entries. If answers
 * are wanted, the first operation on a key found it if there is an old entry; the later operations
 * always found it.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_MERGE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_MERGE_CUH

#include "table/robin_hood/cuda/rebuild/segment.cuh"

/* Records that operation i, counted in the order of segments, found its key. M6: other blocks set
 * other bits of the word. */
template <int BITS>
static __device__ inline void sw_segment_set_found(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                   uint32_t i)
{
    const uint32_t operation = rebuild.index[i];
    atomicOr(rebuild.found + operation / 32, 1U << operation % 32);
}

/* Folds the operations on the side cell's key in order. Called by one thread. At most one block has
 * such operations (M8). */
template <int BITS>
static __device__ inline void sw_segment_fold_side(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                   uint32_t first, uint32_t count)
{
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = rebuild.control;
    const struct sw_state *state = rebuild.table.state;
    bool present = state->side_present != 0;
    typename W::word value = (typename W::word)state->side_value;
    bool any = false;
    for (uint32_t i = first; i < first + count; i++) {
        if (rebuild.m[i] == W::empty) {
            if (present && rebuild.found != NULL) {
                sw_segment_set_found<BITS>(rebuild, i);
            }
            if constexpr (!W::is_set) {
                W::decide(rebuild.op, present, value, rebuild.values[i], &value);
            }
            present = true;
            any = true;
        }
    }
    if (any) {
        control->side_effect = state->side_present != 0 ? SW_NET_UPDATE : SW_NET_INSERT;
        control->side_value = value;
    }
}

/* Loads the remaining operations of a segment and counts the bins. Returns whether this thread has
 * an operation on the side cell's key. */
template <int BITS, int ITEMS>
static __device__ inline bool
sw_segment_load(const struct sw_cuda_rebuild<BITS> &rebuild, const sw_segment<BITS> &own,
                sw_segment_work<BITS, ITEMS> *memory, sw_item<BITS> items[ITEMS])
{
    bool has_side = false;
#pragma unroll
    for (int k = 1; k < ITEMS; k++) { /* issues all loads before it uses the first value */
        items[k].m = sw_width<BITS>::empty;
        if (k * SW_SEGMENT_BLOCK < own.count) {
            sw_segment_load_item<BITS>(rebuild, own, k, &items[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (k * SW_SEGMENT_BLOCK >= own.count) {
            break;
        }
        if (items[k].m != sw_width<BITS>::empty) {
            uint32_t bin = (uint32_t)((items[k].m - own.low) >> own.bin_shift);
            /* M6: the count before the addition is the entry's rank in the bin */
            items[k].at = bin << 16 | atomicAdd(&memory->bins[bin], 1U);
        } else {
            has_side |= k * SW_SEGMENT_BLOCK + threadIdx.x < own.count;
        }
    }
    return has_side;
}

/* Turns the bins' counts into offsets. The offset past the last bin is the total. Returns false if
 * a bin is too large. Begins and ends with a barrier. */
template <int BITS, int ITEMS>
static __device__ inline bool sw_segment_sum_bins(const sw_segment<BITS> &own,
                                                  sw_segment_work<BITS, ITEMS> *memory)
{
    uint32_t *bins = memory->bins + threadIdx.x * own.bins_per_thread;
    uint32_t sum = 0;
    uint32_t all = 0;
    bool fits = true;
    __syncthreads(); /* M2: the bins are counted */
    for (uint32_t j = 0; j < own.bins_per_thread; j++) {
        fits &= bins[j] <= SW_SEGMENT_BIN_MAX;
        sum += bins[j];
    }
    uint32_t to_here = sw_sum_lanes(sum);
    uint32_t of_warp = __shfl_sync(SW_WARP_ALL, to_here, 31);
    uint32_t offset = sw_sum_warps(memory->warps[0], of_warp, &all) + to_here - sum;
    for (uint32_t j = 0; j < own.bins_per_thread; j++) {
        uint32_t count = bins[j];
        bins[j] = offset;
        offset += count;
    }
    if (threadIdx.x == 0) {
        memory->bins[own.bins_per_thread * SW_SEGMENT_BLOCK] = all;
    }
    return __syncthreads_and(fits); /* M2: the bins are offsets */
}

/* Writes the operations to slots[] after the old entries, in order of m. An operation that a later
 * one overwrites leaves a hole. Returns the number of places, holes included. With `answers`,
 * index[] has the first operation on the key of each place that is not a hole. Ends with a
 * barrier. */
template <int BITS, bool COMBINE, int ITEMS>
static __device__ inline uint32_t
sw_segment_order(const struct sw_cuda_rebuild<BITS> &rebuild, const sw_segment<BITS> &own,
                 sw_segment_work<BITS, ITEMS> *memory, sw_item<BITS> items[ITEMS], bool answers)
{
    typedef sw_width<BITS> W;
    typename W::word *values = (typename W::word *)(memory + 1);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (k * SW_SEGMENT_BLOCK >= own.count) {
            break;
        }
        if (items[k].m != W::empty) {
            uint32_t g = memory->bins[items[k].at >> 16] + (items[k].at & 0xFFFF);
            memory->m[g] = items[k].m;
            memory->index[g] = (uint16_t)(k * SW_SEGMENT_BLOCK + threadIdx.x);
            if (COMBINE) {
                values[g] = items[k].value;
            }
        }
    }
    __syncthreads(); /* M2: m, index and values of all */
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        if (k * SW_SEGMENT_BLOCK >= own.count) {
            break;
        }
        if (items[k].m == W::empty) {
            continue;
        }
        typename W::word m = items[k].m;
        uint32_t i = k * SW_SEGMENT_BLOCK + threadIdx.x;
        uint32_t begin = memory->bins[items[k].at >> 16];
        uint32_t end = memory->bins[(items[k].at >> 16) + 1];
        uint32_t rank = begin;
        uint32_t first = i;
        bool stays = true;
#pragma unroll 1
        for (uint32_t g = begin; g < end; g++) {
            typename W::word other = memory->m[g];
            rank += other < m;
            if (other == m && memory->index[g] != i) {
                bool later = memory->index[g] > i;
                stays &= !later;
                rank += !later;
                first = min(first, (uint32_t)memory->index[g]);
                if (COMBINE) {
                    W::decide(rebuild.op, true, items[k].value, values[g], &items[k].value);
                }
            }
        }
        memory->slots[own.old_count + rank].m = stays ? m : W::empty;
        W::put_value(&memory->slots[own.old_count + rank], items[k].value);
        items[k].at = stays ? rank << 16 | first : UINT32_MAX;
        if (answers && first != i) {
            sw_segment_set_found<BITS>(rebuild, own.first + i);
        }
    }
    __syncthreads(); /* M2: slots[] of all; the bins are free */
    if (answers) {   /* the bins are free now */
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (k * SW_SEGMENT_BLOCK < own.count && items[k].m != W::empty &&
                items[k].at != UINT32_MAX) {
                memory->index[items[k].at >> 16] = (uint16_t)items[k].at;
            }
        }
        __syncthreads(); /* M2: index[] of all */
    }
    return memory->bins[own.bins_per_thread * SW_SEGMENT_BLOCK];
}

/* Returns how many of the first `count` old entries are smaller than m. */
template <int BITS>
static __device__ inline uint32_t sw_segment_rank(const sw_segment_memory<BITS> *memory,
                                                  uint32_t count, typename sw_width<BITS>::word m)
{
    uint32_t first = 0;
    while (count > 0) {
        uint32_t half = count / 2;
        bool right = memory->slots[first + half].m < m;
        first = right ? first + half + 1 : first;
        count = right ? count - half - 1 : half;
    }
    return first;
}

/* Updates the old entries that the operations refer to. The other operations are new entries:
 * compacts them, in order, after the old ones, and returns their number. Ends with a barrier. */
template <int BITS, bool COMBINE, int ITEMS>
static __device__ inline uint32_t
sw_segment_match(const struct sw_cuda_rebuild<BITS> &rebuild, const sw_segment<BITS> &own,
                 sw_segment_work<BITS, ITEMS> *memory, uint32_t count, bool answers)
{
    typedef sw_width<BITS> W;
    typename W::slot *slots = memory->slots;
    uint32_t fresh = 0;
    for (uint32_t from = 0; from < count; from += SW_SEGMENT_BLOCK) {
        uint32_t i = from + threadIdx.x;
        uint32_t rank = 0;
        uint32_t all = 0;
        typename W::slot entry;
        entry.m = W::empty;
        if (i < count) {
            entry = slots[own.old_count + i];
        }
        bool is_new = entry.m != W::empty;
        if (is_new) {
            rank = sw_segment_rank<BITS>(memory, own.old_count, entry.m);
            /* volatile: loads m alone. Another thread may write the value of this slot. */
            const volatile typename W::word *m = &slots[rank].m;
            is_new = rank == own.old_count || *m != entry.m;
            if (answers && !is_new) {
                sw_segment_set_found<BITS>(rebuild, own.first + memory->index[i]);
            }
            if constexpr (COMBINE) {
                if (!is_new) {
                    W::decide(rebuild.op, true, slots[rank].value, entry.value, &slots[rank].value);
                }
            } else if (!is_new) {
                W::put_value(&slots[rank], W::value(entry));
            }
        }
        uint32_t lanes = __ballot_sync(SW_WARP_ALL, is_new);
        uint32_t at =
            fresh + (uint32_t)__popc(lanes & ((1U << threadIdx.x % 32) - 1)) +
            sw_sum_warps(memory->warps[from / SW_SEGMENT_BLOCK % 2], (uint32_t)__popc(lanes), &all);
        if (is_new) { /* at <= i: no thread will read this place again */
            slots[own.old_count + at] = entry;
            memory->index[at] = (uint16_t)(rank + at);
        }
        fresh += all;
    }
    __syncthreads(); /* M2: slots[] and index[] of all */
    return fresh;
}

#endif
