/* SPDX-License-Identifier: MIT
 *
 * segment.cuh - a block brings the entries of one segment in order, in shared memory.
 *
 * A counting sort by the next bits of m, then by comparing the few of equal bits. Of repeated keys
 * the last of the batch stays, or their combination; the others leave holes in the order, which
 * count for nothing.
 */
#ifndef SHERWOOD_TABLE_CUDA_SEGMENT_CUH
#define SHERWOOD_TABLE_CUDA_SEGMENT_CUH

#include <cub/block/block_scan.cuh>

#include "table/cuda/look_back.cuh"

#define SW_SEGMENT_BLOCK SW_CUDA_REBUILD_BLOCK
#define SW_SEGMENT_ITEMS (SW_CUDA_REBUILD_ENTRIES / SW_SEGMENT_BLOCK)
/* The counting sort's bins: about one entry each in a full segment. */
#define SW_SEGMENT_BIN_BITS 11
#define SW_SEGMENT_BINS (1 << SW_SEGMENT_BIN_BITS)
#define SW_SEGMENT_BINS_PER_THREAD (SW_SEGMENT_BINS / SW_SEGMENT_BLOCK)
/* Entries of one bin, each of which looks at each. With more, keys repeat very often or were made
 * to meet: the pass fails. */
#define SW_SEGMENT_BIN_MAX 128
/* Buckets of the old table a thread has on their way at once: all of a segment's, unless the table
 * shrinks. */
#define SW_SEGMENT_OLD_IN_FLIGHT (SW_CUDA_SEGMENT_BUCKETS / SW_SEGMENT_BLOCK + 1)
static_assert(SW_CUDA_REBUILD_ENTRIES % SW_SEGMENT_BLOCK == 0, "whole rounds");
static_assert(SW_SEGMENT_BINS % SW_SEGMENT_BLOCK == 0, "whole rounds");
static_assert(SW_CUDA_REBUILD_ENTRIES < 1 << 13, "n of a segment fits its status word");

/* Where operations combine, the values by bin follow it. */
template <int BITS> struct sw_segment_memory {
    typedef typename sw_width<BITS>::word word;
    typename sw_width<BITS>::slot slots[SW_CUDA_REBUILD_ENTRIES]; /* old; in order; to write */
    word m[SW_CUDA_REBUILD_ENTRIES];                              /* by bin */
    uint16_t index[SW_CUDA_REBUILD_ENTRIES];                      /* by bin: place before */
    uint32_t bins[SW_SEGMENT_BINS + 1];                           /* counts, then offsets */
    uint8_t leads[SW_CUDA_SEGMENT_BUCKETS + 2];                   /* of its home buckets */
    union {
        typename cub::BlockScan<uint32_t, SW_SEGMENT_BLOCK>::TempStorage sum;
        typename cub::BlockScan<sw_run, SW_SEGMENT_BLOCK>::TempStorage runs;
    } scan;
    uint32_t old_count;
};

/* Copies the old table's entries with m in [low, high] to shared memory; counts them even where
 * they do not fit. */
template <int BITS>
static __device__ inline void
sw_segment_gather_old(const typename sw_width<BITS>::view *old, typename sw_width<BITS>::word low,
                      typename sw_width<BITS>::word high, sw_segment_memory<BITS> *memory)
{
    typedef sw_width<BITS> W;
    uint64_t last_home = W::home(old, high);
    for (uint64_t b = W::home(old, low) + threadIdx.x;;
         b += SW_SEGMENT_OLD_IN_FLIGHT * SW_SEGMENT_BLOCK) {
        typename W::slot held[SW_SEGMENT_OLD_IN_FLIGHT][SW_BUCKET_SLOTS];
        uint32_t wanted = 0;
        bool done = b + (SW_SEGMENT_OLD_IN_FLIGHT - 1) * SW_SEGMENT_BLOCK >= old->buckets_total;
#pragma unroll
        for (int j = 0; j < SW_SEGMENT_OLD_IN_FLIGHT; j++) {
            if (b + j * SW_SEGMENT_BLOCK < old->buckets_total) {
                W::bucket_read(old, b + j * SW_SEGMENT_BLOCK, held[j]);
            } else {
                for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
                    held[j][i].m = W::empty;
                    held[j][i].value = W::empty;
                }
            }
        }
#pragma unroll
        for (int j = 0; j < SW_SEGMENT_OLD_IN_FLIGHT; j++) {
#pragma unroll
            for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
                bool empty = held[j][i].m == W::empty;
                wanted += !empty && held[j][i].m >= low && held[j][i].m <= high;
                /* what follows this bucket is larger, or starts after it; of a tombstone neither
                 * is known */
                done |= empty ? held[j][i].value == W::empty && b + j * SW_SEGMENT_BLOCK > last_home
                              : held[j][i].m > high;
            }
        }
        uint32_t at = wanted > 0 ? atomicAdd(&memory->old_count, wanted) : 0;
#pragma unroll
        for (int j = 0; j < SW_SEGMENT_OLD_IN_FLIGHT; j++) {
#pragma unroll
            for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
                typename W::slot entry = held[j][i];
                if (entry.m != W::empty && entry.m >= low && entry.m <= high) {
                    if (at < SW_CUDA_REBUILD_ENTRIES) {
                        memory->slots[at] = entry;
                    }
                    at++;
                }
            }
        }
        if (__syncthreads_or(done)) {
            return;
        }
    }
}
/* Operations on the key without a slot, in order; at most one block has any. By one thread. */
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
            W::decide(rebuild.op, present, value, rebuild.values[i], &value);
            present = true;
            any = true;
        }
    }
    if (any) {
        control->side_effect = state->side_present != 0 ? SW_NET_UPDATE : SW_NET_INSERT;
        control->side_value = value;
    }
}

/* What a block knows of its segment. */
template <int BITS> struct sw_segment {
    typename sw_width<BITS>::word low; /* smallest and largest m */
    typename sw_width<BITS>::word high;
    uint64_t home;      /* of low: buckets and slots are counted from there */
    uint32_t homes;     /* buckets up to that of high */
    uint32_t first;     /* in the batch */
    uint32_t old_count; /* entries of the old table; those of the batch come after */
    uint32_t count;     /* of both */
};

/* An entry in a thread's hands. */
template <int BITS> struct sw_item {
    typename sw_width<BITS>::word m; /* EMPTY: none */
    typename sw_width<BITS>::word value;
    int32_t at; /* bin and place in it; then the slot */
};

/* Finds out what belongs to segment `number`; the old entries are in slots[] after. *batch_count is
 * how many operations of the batch do. False if there are too many of both: then count is 0. */
template <int BITS>
static __device__ inline bool sw_segment_open(const struct sw_cuda_rebuild<BITS> &rebuild,
                                              uint32_t number, sw_segment_memory<BITS> *memory,
                                              sw_segment<BITS> *own, uint32_t *batch_count)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    const typename W::view *view = &rebuild.table.main;
    for (uint32_t b = threadIdx.x; b < SW_SEGMENT_BINS; b += SW_SEGMENT_BLOCK) {
        memory->bins[b] = 0;
    }
    if (threadIdx.x == 0) {
        memory->old_count = 0;
    }
    __syncthreads();
    own->low = (word)number << rebuild.shift;
    own->high = own->low | (((word)1 << rebuild.shift) - 1);
    own->home = W::home(view, own->low);
    own->homes = (uint32_t)(W::home(view, own->high) - own->home) + 1;
    if (rebuild.old.slots != NULL) {
        sw_segment_gather_old<BITS>(&rebuild.old, own->low, own->high, memory);
    }
    own->old_count = memory->old_count;
    own->first = rebuild.offsets != NULL ? rebuild.offsets[number] : 0;
    *batch_count = rebuild.offsets != NULL ? rebuild.offsets[number + 1] - own->first : 0;
    bool fits = own->old_count + (uint64_t)*batch_count <= SW_CUDA_REBUILD_ENTRIES;
    own->count = fits ? own->old_count + *batch_count : 0;
    return fits;
}

/* Loads the entries of a segment and counts the bins. */
template <int BITS>
static __device__ inline void
sw_segment_load(const struct sw_cuda_rebuild<BITS> &rebuild, const sw_segment<BITS> &own,
                sw_segment_memory<BITS> *memory, sw_item<BITS> items[SW_SEGMENT_ITEMS])
{
    typedef sw_width<BITS> W;
    bool has_side = false;
#pragma unroll
    for (int k = 0; k < SW_SEGMENT_ITEMS; k++) { /* all on their way before one is looked at */
        uint32_t i = k * SW_SEGMENT_BLOCK + threadIdx.x;
        bool is_batch = i >= own.old_count && i < own.count;
        uint64_t from = (uint64_t)own.first + i - own.old_count;
        items[k].m = is_batch ? __ldcs(rebuild.m + from) : W::empty;
        items[k].value = is_batch ? __ldcs(rebuild.values + from) : 0;
        has_side |= is_batch && items[k].m == W::empty;
    }
#pragma unroll
    for (int k = 0; k < SW_SEGMENT_ITEMS; k++) {
        uint32_t i = k * SW_SEGMENT_BLOCK + threadIdx.x;
        if (i < own.old_count && i < own.count) {
            items[k].m = memory->slots[i].m;
            items[k].value = memory->slots[i].value;
        }
        if (items[k].m != W::empty) {
            uint32_t bin = (uint32_t)((items[k].m - own.low) >> rebuild.bin_shift);
            items[k].at = (int32_t)(bin << 16 | atomicAdd(&memory->bins[bin], 1U));
        }
    }
    if (__syncthreads_or(has_side) && threadIdx.x == 0) {
        sw_segment_fold_side<BITS>(rebuild, own.first, own.count - own.old_count);
    }
}

/* From counts to offsets. False if a bin is too large. */
template <int BITS>
static __device__ inline bool sw_segment_sum_bins(sw_segment_memory<BITS> *memory)
{
    uint32_t counts[SW_SEGMENT_BINS_PER_THREAD];
    uint32_t total = 0;
    bool fits = true;
#pragma unroll
    for (int j = 0; j < SW_SEGMENT_BINS_PER_THREAD; j++) {
        counts[j] = memory->bins[threadIdx.x * SW_SEGMENT_BINS_PER_THREAD + j];
        fits &= counts[j] <= SW_SEGMENT_BIN_MAX;
    }
    cub::BlockScan<uint32_t, SW_SEGMENT_BLOCK>(memory->scan.sum)
        .ExclusiveSum(counts, counts, total);
#pragma unroll
    for (int j = 0; j < SW_SEGMENT_BINS_PER_THREAD; j++) {
        memory->bins[threadIdx.x * SW_SEGMENT_BINS_PER_THREAD + j] = counts[j];
    }
    if (threadIdx.x == 0) {
        memory->bins[SW_SEGMENT_BINS] = total;
    }
    return __syncthreads_and(fits);
}

/* Brings the entries in order, into slots[]: holes for those a later operation stands for. Returns
 * how many places that takes. */
template <int BITS, bool COMBINE>
static __device__ inline uint32_t sw_segment_order(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                   sw_segment_memory<BITS> *memory,
                                                   sw_item<BITS> items[SW_SEGMENT_ITEMS])
{
    typedef sw_width<BITS> W;
    typename W::word *values = (typename W::word *)(memory + 1);
#pragma unroll
    for (int k = 0; k < SW_SEGMENT_ITEMS; k++) {
        if (items[k].m != W::empty) {
            uint32_t g = memory->bins[items[k].at >> 16] + (items[k].at & 0xFFFF);
            memory->m[g] = items[k].m;
            memory->index[g] = (uint16_t)(k * SW_SEGMENT_BLOCK + threadIdx.x);
            if (COMBINE) {
                values[g] = items[k].value;
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SW_SEGMENT_ITEMS; k++) {
        if (items[k].m == W::empty) {
            continue;
        }
        typename W::word m = items[k].m;
        uint32_t i = k * SW_SEGMENT_BLOCK + threadIdx.x;
        uint32_t begin = memory->bins[items[k].at >> 16];
        uint32_t end = memory->bins[(items[k].at >> 16) + 1];
        uint32_t rank = begin;
        bool stays = true;
#pragma unroll 1
        for (uint32_t g = begin; g < end; g++) {
            typename W::word other = memory->m[g];
            rank += other < m;
            if (other == m && memory->index[g] != i) {
                bool later = memory->index[g] > i;
                stays &= !later;
                rank += !later;
                if (COMBINE) {
                    W::decide(rebuild.op, true, items[k].value, values[g], &items[k].value);
                }
            }
        }
        memory->slots[rank].m = stays ? m : W::empty;
        memory->slots[rank].value = items[k].value;
    }
    __syncthreads();
    return memory->bins[SW_SEGMENT_BINS];
}

/* Takes the thread's entries in order. Returns them as a run. */
template <int BITS>
static __device__ inline sw_run
sw_segment_take(const struct sw_cuda_rebuild<BITS> &rebuild, const sw_segment<BITS> &own,
                const sw_segment_memory<BITS> *memory, uint32_t count,
                sw_item<BITS> items[SW_SEGMENT_ITEMS])
{
    typedef sw_width<BITS> W;
    sw_run all = {0, SW_NOWHERE, -1};
#pragma unroll
    for (int k = 0; k < SW_SEGMENT_ITEMS; k++) {
        uint32_t i = threadIdx.x * SW_SEGMENT_ITEMS + k;
        items[k].m = W::empty;
        if (i < count) {
            items[k].m = memory->slots[i].m;
            items[k].value = memory->slots[i].value;
        }
        if (items[k].m != W::empty) {
            int32_t home = (int32_t)(W::home(&rebuild.table.main, items[k].m) - own.home);
            items[k].at = home;
            all.n++;
            all.e = max(all.e, home * SW_BUCKET_SLOTS) + 1;
            all.home = home;
        }
    }
    return all;
}

#endif
