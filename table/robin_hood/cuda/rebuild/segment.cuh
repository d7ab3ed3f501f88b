/* SPDX-License-Identifier: MIT
 *
 * segment.cuh - a block sorts the entries of one segment in shared memory. The old table's entries
 * are nearly sorted: each thread sorts its buckets, and the block closes the gaps. A batch's
 * operations are merged afterwards (merge.cuh).
 *
 * Memory order: M2 throughout. The old slots are read plainly: no other block writes them before
 * this block has published that it has read them (look_back.cuh), or they belong to other arrays.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_SEGMENT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_SEGMENT_CUH

#include "table/robin_hood/cuda/rebuild/look_back.cuh"

#define SW_SEGMENT_BLOCK SW_CUDA_REBUILD_BLOCK
#define SW_SEGMENT_WARPS (SW_SEGMENT_BLOCK / 32)
/* Most operations of the batch per thread: in a single pass to other or empty arrays (BUILT), and
 * in a merge in place (MERGED). With fewer operations more blocks fit a multiprocessor. */
#define SW_SEGMENT_BUILT (SW_CUDA_REBUILD_ENTRIES / SW_SEGMENT_BLOCK)
#define SW_SEGMENT_MERGED (SW_CUDA_MERGE_OPS / SW_SEGMENT_BLOCK)
/* Most operations of a bin; all operations of a bin are compared with each other. A bin has more
 * only if keys are repeated very often or were chosen to collide. Then the rebuild fails. */
#define SW_SEGMENT_BIN_MAX 128
/* Buckets of the old table that a block loads at once (a chunk): SW_SEGMENT_ROUNDS per thread, and
 * 32 more for the last warp. Those 32 have entries displaced past the segment's last home. */
#define SW_SEGMENT_ROUNDS (SW_CUDA_SEGMENT_BUCKETS / SW_SEGMENT_BLOCK)
#define SW_SEGMENT_CHUNK (SW_CUDA_SEGMENT_BUCKETS + 32)
static_assert(SW_CUDA_REBUILD_ENTRIES % SW_SEGMENT_BLOCK == 0, "whole rounds");
static_assert(SW_CUDA_SEGMENT_BUCKETS % SW_SEGMENT_BLOCK == 0, "whole rounds");
static_assert(SW_CUDA_REBUILD_ENTRIES < 1 << 13, "n of a segment fits its status word");

/* A field of this word counts the entries of a warp in one round. */
#if SW_BUCKET_SLOTS == 2
typedef uint64_t sw_round_counts;
#else
typedef uint32_t sw_round_counts;
#endif
#define SW_ROUND_BITS ((int)sizeof(sw_round_counts) * 8 / (SW_SEGMENT_ROUNDS + 1))
static_assert(32 * SW_BUCKET_SLOTS < 1 << SW_ROUND_BITS, "a warp's entries fit the field");

template <int BITS> struct sw_segment_memory {
    typedef typename sw_width<BITS>::word word;
    /* the old entries in order, then the batch's; in the end the slots to be written */
    typename sw_width<BITS>::slot slots[SW_CUDA_REBUILD_ENTRIES];
    int32_t starts[SW_CUDA_SEGMENT_BUCKETS + 2]; /* per home: where the entries before it end */
    int32_t warps[2][SW_SEGMENT_WARPS];
};

/* The memory of a segment with a batch of ITEMS operations per thread. If the operations combine,
 * their values, sorted by bin, follow in memory. */
template <int BITS, int ITEMS> struct sw_segment_work : sw_segment_memory<BITS> {
    typedef typename sw_width<BITS>::word word;
    static constexpr uint32_t room = ITEMS * SW_SEGMENT_BLOCK;
    static constexpr uint32_t bins_max = ITEMS > 4 ? 2048 : 1024; /* at least one per operation */
    uint32_t bins[bins_max + 1];                                  /* counts, then offsets */
    word m[room];                                                 /* by bin */
    uint16_t index[room]; /* by bin: the operation; later per new entry: its place among all
                             entries */
};

/* A block's segment. */
template <int BITS> struct sw_segment {
    typename sw_width<BITS>::word low; /* smallest and largest m */
    typename sw_width<BITS>::word high;
    uint64_t home;      /* home of `low`: buckets and slots are counted from it */
    uint32_t homes;     /* number of buckets up to the home of `high` */
    uint32_t old_count; /* entries of the old table, even if they do not fit */
    uint32_t first;     /* first operation of the batch */
    uint32_t count;
    uint32_t bins_per_thread;
    uint32_t bin_shift; /* m - low >> bin_shift is the bin */
};

/* An operation of the batch in a thread's registers. */
template <int BITS> struct sw_item {
    typename sw_width<BITS>::word m; /* EMPTY: none */
    typename sw_width<BITS>::word value;
    uint32_t at; /* bin and place in it */
};

/* Neighbouring entries of a segment in a thread's registers: at most RUN. RUN is odd, so that the
 * threads of a warp read from different banks of shared memory. */
template <int BITS, int RUN> struct sw_taken {
    typename sw_width<BITS>::slot slots[RUN];
    int32_t at[RUN]; /* first the first slot of the entry's home, later the entry's slot */
    int32_t first;   /* number of the first entry in the segment */
    int32_t count;   /* RUN, or less in the last threads */
    int32_t most;    /* the largest `at` minus the entry's number, or SW_NOWHERE */
};

/* Returns the sum of `own` over the warps before this one; *all is the sum over all warps. Every
 * thread must call it. A barrier must come before the next use of the same `warps`. */
static __device__ inline uint32_t sw_sum_warps(int32_t warps[SW_SEGMENT_WARPS], uint32_t own,
                                               uint32_t *all)
{
    uint32_t lane = threadIdx.x % 32;
    if (lane == 0) {
        warps[threadIdx.x / 32] = (int32_t)own;
    }
    __syncthreads(); /* M2: all warps have written */
    uint32_t other = lane < SW_SEGMENT_WARPS ? (uint32_t)warps[lane] : 0;
    *all = sw_reduce_add(other);
    return sw_reduce_add(lane < threadIdx.x / 32 ? other : 0);
}

/* Returns this thread's bucket of a chunk in a round. */
static __device__ inline uint32_t sw_segment_bucket(int round)
{
    uint32_t warp = threadIdx.x / 32;
    return (round < SW_SEGMENT_ROUNDS ? (warp * SW_SEGMENT_ROUNDS + (uint32_t)round) * 32
                                      : (uint32_t)SW_CUDA_SEGMENT_BUCKETS) +
           threadIdx.x % 32;
}

/* Returns whether this thread has a bucket in a round. Only the last warp has one in the last
 * round. */
static __device__ inline bool sw_segment_has_round(int round)
{
    return round < SW_SEGMENT_ROUNDS || threadIdx.x / 32 == SW_SEGMENT_WARPS - 1;
}

/* Reads this thread's buckets of [base, end). */
template <int BITS>
static __device__ inline void
sw_segment_read(const typename sw_width<BITS>::view *old, uint64_t base, uint64_t end,
                typename sw_width<BITS>::slot held[SW_SEGMENT_ROUNDS + 1][SW_BUCKET_SLOTS])
{
    typedef sw_width<BITS> W;
#pragma unroll
    for (int r = 0; r <= SW_SEGMENT_ROUNDS; r++) {
        uint64_t b = base + sw_segment_bucket(r);
        if (sw_segment_has_round(r) && b < end) {
            W::bucket_read(old, b, held[r]);
        }
    }
}

/* Sorts a bucket, and makes holes and slots of other segments EMPTY. Returns the number of entries.
 * Sets *done if all entries after this bucket are larger than the segment's. */
template <int BITS>
static __device__ inline uint32_t
sw_segment_sort_bucket(const sw_segment<BITS> &own, uint64_t b, uint64_t last_home,
                       typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS], bool *done)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    const word low = own.low == 0 && b != 0 ? 1 : own.low; /* in the first segment m = 0 is a hole,
                                                              except in bucket 0 */
    const word span = own.high - low - (own.high == W::empty ? 1 : 0);
    uint32_t count = 0;
    if (b >= last_home) { /* buckets before it have no entry larger than the segment's */
#pragma unroll
        for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
            /* neither a tombstone nor a hole tells whether its entry was larger */
            *done |= held[i].m == W::empty ? sw_is_empty<BITS>(held[i]) && b > last_home
                                           : held[i].m > own.high;
        }
    }
#pragma unroll
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        bool wanted = (word)(held[i].m - low) <= span;
        held[i].m = wanted ? held[i].m : W::empty;
        count += wanted;
    }
    W::bucket_sort(held);
    return count;
}

/* Copies a chunk's entries to shared memory, in order, after those of earlier chunks. `counts` has
 * the number of this thread's entries, one field per round. */
template <int BITS>
static __device__ inline void sw_segment_close_up(
    sw_segment_memory<BITS> *memory, sw_segment<BITS> *own, sw_round_counts counts,
    const typename sw_width<BITS>::slot held[SW_SEGMENT_ROUNDS + 1][SW_BUCKET_SLOTS])
{
    const sw_round_counts mask = ((sw_round_counts)1 << SW_ROUND_BITS) - 1;
    const sw_round_counts to_here = sw_sum_lanes(counts);
    const sw_round_counts warp = __shfl_sync(SW_WARP_ALL, to_here, 31);
    uint32_t of_warp = 0;
    uint32_t all = 0;
#pragma unroll
    for (int r = 0; r <= SW_SEGMENT_ROUNDS; r++) {
        of_warp += (uint32_t)(warp >> (r * SW_ROUND_BITS) & mask);
    }
    uint32_t round_start = own->old_count + sw_sum_warps(memory->warps[0], of_warp, &all);
    own->old_count += all;
    if (own->old_count > SW_CUDA_REBUILD_ENTRIES) {
        return; /* then the entries are not used */
    }
#pragma unroll
    for (int r = 0; r <= SW_SEGMENT_ROUNDS; r++) {
        if (sw_segment_has_round(r)) {
            uint32_t mine = (uint32_t)(counts >> (r * SW_ROUND_BITS) & mask);
            typename sw_width<BITS>::slot *to = memory->slots + round_start +
                                                (uint32_t)(to_here >> (r * SW_ROUND_BITS) & mask) -
                                                mine;
#pragma unroll
            for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
                if (i < (int)mine) {
                    to[i] = held[r][i];
                }
            }
            round_start += (uint32_t)(warp >> (r * SW_ROUND_BITS) & mask);
        }
    }
}

/* Loads this thread's operation of the k-th round, or EMPTY if there is none. */
template <int BITS>
static __device__ inline void sw_segment_load_item(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                   const sw_segment<BITS> &own, int k,
                                                   sw_item<BITS> *item)
{
    uint32_t i = (uint32_t)k * SW_SEGMENT_BLOCK + threadIdx.x;
    item->m = i < own.count ? __ldcs(rebuild.m + own.first + i) : sw_width<BITS>::empty;
    item->value = 0;
    if constexpr (!sw_width<BITS>::is_set) {
        item->value = i < own.count ? __ldcs(rebuild.values + own.first + i) : 0;
    }
}

/* Writes the old table's entries of the segment to slots[], sorted, and counts them. Meanwhile
 * loads the thread's first operation. Ends with a barrier. */
template <int BITS, bool BATCH>
static __device__ inline void sw_segment_gather(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                sw_segment_memory<BITS> *memory,
                                                sw_segment<BITS> *own, sw_item<BITS> *item)
{
    typedef sw_width<BITS> W;
    const typename W::view *old = &rebuild.old;
    const uint64_t last_home = W::home(old, own->high);
    uint64_t base = W::home(old, own->low);
    bool is_first = true;
    bool done = false;
    while (!done) {
        typename W::slot held[SW_SEGMENT_ROUNDS + 1][SW_BUCKET_SLOTS];
        sw_round_counts counts = 0;
        uint64_t end = base + SW_SEGMENT_CHUNK;
        end = base <= last_home ? min(end, last_home + 33) : end;
        end = min(end, old->buckets_total);
        sw_segment_read<BITS>(old, base, end, held);
        if (BATCH && is_first) {
            sw_segment_load_item<BITS>(rebuild, *own, 0, item);
        }
        done = end == old->buckets_total;
#pragma unroll
        for (int r = 0; r <= SW_SEGMENT_ROUNDS; r++) {
            uint64_t b = base + sw_segment_bucket(r);
            if (sw_segment_has_round(r) && b < end) {
                counts |= (sw_round_counts)sw_segment_sort_bucket<BITS>(*own, b, last_home, held[r],
                                                                        &done)
                          << (r * SW_ROUND_BITS);
            }
        }
        sw_segment_close_up<BITS>(memory, own, counts, held);
        is_first = false;
        base = end;
        done = __syncthreads_or(done) != 0; /* M2: slots[] of this round */
    }
}

/* Returns the bounds of segment `number` in m, in the table and in the batch. Zeroes the bins; they
 * are valid after the next barrier. */
template <int BITS, bool BATCH, int ITEMS>
static __device__ inline sw_segment<BITS>
sw_segment_open(const struct sw_cuda_rebuild<BITS> &rebuild, uint32_t number,
                sw_segment_work<BITS, ITEMS> *memory)
{
    typedef sw_width<BITS> W;
    typedef typename W::word word;
    sw_segment<BITS> own;
    own.low = (word)number << rebuild.shift;
    own.high = own.low | (((word)1 << rebuild.shift) - 1);
    own.home = W::home(&rebuild.table.main, own.low);
    own.homes = (uint32_t)(W::home(&rebuild.table.main, own.high) - own.home) + 1;
    own.old_count = 0;
    own.first = 0;
    own.count = 0;
    if (BATCH) {
        uint32_t bits = 8; /* at least one bin per thread */
        own.first = rebuild.offsets[number];
        own.count = rebuild.offsets[number + 1] - own.first;
        while (1U << bits < own.count && 1U << bits < memory->bins_max) {
            bits++;
        }
        own.bins_per_thread = (1U << bits) / SW_SEGMENT_BLOCK;
        own.bin_shift = rebuild.shift > bits ? rebuild.shift - bits : 0;
        for (uint32_t b = threadIdx.x; b < 1U << bits; b += SW_SEGMENT_BLOCK) {
            memory->bins[b] = 0;
        }
    }
    return own;
}
static_assert(SW_SEGMENT_BLOCK == 1 << 8, "8 bits number a bin a thread");

/* Returns the home of m, relative to the segment's first home. The distance is small, so 32-bit
 * arithmetic is enough. */
template <int BITS>
static __device__ inline uint32_t sw_segment_home(const typename sw_width<BITS>::view *view,
                                                  const sw_segment<BITS> &own,
                                                  typename sw_width<BITS>::word m)
{
    uint32_t home = BITS < 128 ? __umulhi((uint32_t)m, (uint32_t)view->buckets) +
                                     (uint32_t)m * (uint32_t)(view->buckets >> 32)
                               : (uint32_t)sw_width<BITS>::home(view, m);
    return home - (uint32_t)own.home;
}

template <int BITS, bool BATCH, bool FULL, int RUN, int ITEMS>
static __device__ inline void sw_segment_take_run(const struct sw_cuda_rebuild<BITS> &rebuild,
                                                  const sw_segment<BITS> &own, uint32_t fresh,
                                                  const sw_segment_work<BITS, ITEMS> *memory,
                                                  sw_taken<BITS, RUN> *taken)
{
    const uint32_t first = (uint32_t)taken->first;
    uint32_t q = 0; /* new entries before this entry; also the number of the next new entry */
    if (BATCH) {
        for (uint32_t left = fresh; left > 0;) {
            uint32_t half = left / 2;
            bool right = memory->index[q + half] < first;
            q = right ? q + half + 1 : q;
            left = right ? left - half - 1 : half;
        }
    }
    uint32_t next = BATCH && q < fresh ? memory->index[q] : UINT32_MAX;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        if (FULL || k < taken->count) {
            uint32_t at = first + k;
            if (BATCH) {
                bool is_new = at == next;
                at = is_new ? own.old_count + q : at - q;
                q += is_new;
                if (is_new) {
                    next = q < fresh ? memory->index[q] : UINT32_MAX;
                }
            }
            taken->slots[k] = memory->slots[at];
            taken->at[k] =
                (int32_t)(sw_segment_home<BITS>(&rebuild.table.main, own, taken->slots[k].m) *
                          SW_BUCKET_SLOTS);
            taken->most = max(taken->most, taken->at[k] - taken->first - k);
        }
    }
}

/* Loads the thread's entries, in order, from old_count old and `fresh` new ones. */
template <int BITS, bool BATCH, int RUN, int ITEMS>
static __device__ inline void sw_segment_take(const struct sw_cuda_rebuild<BITS> &rebuild,
                                              const sw_segment<BITS> &own, uint32_t fresh,
                                              const sw_segment_work<BITS, ITEMS> *memory,
                                              sw_taken<BITS, RUN> *taken)
{
    const int32_t count = (int32_t)(own.old_count + fresh);
    taken->first = (int32_t)threadIdx.x * RUN;
    taken->count = min(max(count - taken->first, 0), RUN);
    taken->most = SW_NOWHERE;
    if (taken->count == RUN) {
        sw_segment_take_run<BITS, BATCH, true>(rebuild, own, fresh, memory, taken);
    } else if (taken->count > 0) {
        sw_segment_take_run<BITS, BATCH, false>(rebuild, own, fresh, memory, taken);
    }
}

#endif
