/* SPDX-License-Identifier: MIT
 *
 * look_back.cuh - a scan over all blocks of a rebuild: computes where the segments before this one
 * end.
 *
 * Entries in order of m get the slots p(i) = max(p(i-1) + 1, home(m_i) * S). For a run of entries
 * this is a function of the position x before the run, x -> max(x + n, e). Such functions compose.
 * Each block publishes the function of its segment. Then it looks back at the segments before it,
 * until it finds one whose end is known (decoupled look-back: Merrill and Garland, "Single-pass
 * Parallel Prefix Scan with Decoupled Look-back", 2016).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_LOOK_BACK_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_LOOK_BACK_CUH

#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"

/* The function x -> max(x + n, e): where the entries of a run end if the entries before it end at
 * x. */
struct sw_run {
    int32_t n;
    int32_t e; /* slots, counted from the segment's first home */
};
#define SW_NOWHERE (-(1 << 30))

/* A segment's status word: 0, the segment's own n and e, or its end. Later it also records whether
 * the segment's entries have been read. Blocks store and load it by volatile accesses without a
 * fence: the word is the whole message (M6).
 *
 * READ is the exception: it permits another block to overwrite the entries that this block has
 * read. A block stores READ after a barrier. Every loaded value has been used before that barrier,
 * so the loads are complete. A store that depends on READ cannot affect them. */
#define SW_STATUS_KIND 62
#define SW_STATUS_OWN 1ULL
#define SW_STATUS_END 2ULL
#define SW_STATUS_READ 3ULL
#define SW_STATUS_N 48
#define SW_STATUS_E_MASK ((1ULL << SW_STATUS_N) - 1)

static __device__ inline unsigned long long sw_status_load(const unsigned long long *status)
{
    return *(const volatile unsigned long long *)status;
}

static __device__ inline void sw_status_store(unsigned long long *status, unsigned long long word)
{
    *(volatile unsigned long long *)status = word;
}

/* Returns a slot of the table relative to `origin`, clamped to [SW_NOWHERE, -SW_NOWHERE]. */
static __device__ inline int32_t sw_slot_from(int64_t slot, int64_t origin)
{
    return (int32_t)min(max(slot - origin, (int64_t)SW_NOWHERE), (int64_t)-SW_NOWHERE);
}

/* Returns the sum over the lanes up to this one. */
template <typename WORD> static __device__ inline WORD sw_sum_lanes(WORD x)
{
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        WORD before = __shfl_up_sync(SW_WARP_ALL, x, distance);
        x += threadIdx.x % 32 >= distance ? before : 0;
    }
    return x;
}

/* The joined function of several segments. If the end of one of them is known, the function is a
 * constant. */
struct sw_look_back_run {
    int32_t n;
    int32_t e; /* counted from the origin */
    bool ends;
};

/* Joins the runs of the lanes, nearer runs first. Ignores the lanes beyond the nearest run with a
 * known end. */
static __device__ inline sw_look_back_run sw_look_back_join(int32_t n, int32_t e, bool ends)
{
    uint32_t ended = __ballot_sync(SW_WARP_ALL, ends);
    bool counts = (ended & ((1U << threadIdx.x % 32) - 1)) == 0;
    sw_look_back_run all;
    n = counts ? n : 0;
    int32_t nearer = sw_sum_lanes(n) - n;
    all.n = (int32_t)sw_reduce_add((uint32_t)n);
    all.e = sw_reduce_max(counts ? e + nearer : SW_NOWHERE);
    all.ends = ended != 0;
    return all;
}

/* Returns where the segments before this one end, relative to its first slot, or SW_NOWHERE for the
 * first segment. Every thread of the block must call it. */
static __device__ inline int32_t sw_look_back(const unsigned long long *status, uint32_t segment,
                                              int64_t origin)
{
    __shared__ sw_look_back_run warps[SW_CUDA_REBUILD_BLOCK / 32];
    __shared__ sw_look_back_run joined;
    int32_t x = SW_NOWHERE;
    int32_t nearer = 0; /* entries of the segments already joined */
    /* one thread per segment: a round covers about half of the segments that are ever resident */
    int64_t at = (int64_t)segment - 1 - (int64_t)threadIdx.x;
    for (bool found = false; !found; at -= SW_CUDA_REBUILD_BLOCK) {
        unsigned long long word = SW_STATUS_END << SW_STATUS_KIND; /* stands for the position before
                                                                      the first segment */
        while (at >= 0 && (word = sw_status_load(status + at)) >> SW_STATUS_KIND == 0) {
        }
        bool ends = word >> SW_STATUS_KIND == SW_STATUS_END;
        sw_look_back_run own =
            sw_look_back_join(ends ? 0 : (int32_t)(word >> SW_STATUS_N & 0x3FFF),
                              sw_slot_from((int64_t)(word & SW_STATUS_E_MASK), origin), ends);
        if (threadIdx.x % 32 == 0) {
            warps[threadIdx.x / 32] = own;
        }
        __syncthreads();        /* M2: the runs of all warps */
        if (threadIdx.x < 32) { /* one warp joins the runs of all warps, nearer runs first */
            own.n = 0;
            own.e = SW_NOWHERE;
            own.ends = false;
            if (threadIdx.x < SW_CUDA_REBUILD_BLOCK / 32) {
                own = warps[threadIdx.x];
            }
            own = sw_look_back_join(own.n, own.e, own.ends);
            if (threadIdx.x == 0) {
                joined = own;
            }
        }
        __syncthreads(); /* M2: `joined`; and `warps` may be written again */
        own = joined;
        x = max(x, own.e + nearer);
        nearer += own.n;
        found = own.ends;
    }
    return segment == 0 ? SW_NOWHERE : x;
}

/* Publishes this segment, and returns where the segments before it end, relative to this segment's
 * first slot. It spins only on words of blocks with lower numbers, which started earlier, so it
 * terminates. */
static __device__ inline int32_t sw_look_back_chain(unsigned long long *status, uint32_t number,
                                                    int64_t origin, sw_run whole)
{
    if (threadIdx.x == 0 && number > 0) {
        uint64_t e = whole.e < 0 ? 0 : (uint64_t)(origin + whole.e);
        sw_status_store(status + number,
                        SW_STATUS_OWN << SW_STATUS_KIND | (uint64_t)whole.n << SW_STATUS_N | e);
    }
    const int32_t x = sw_look_back(status, number, origin);
    if (threadIdx.x == 0) {
        int64_t end = max(origin + max(x + whole.n, whole.e), (int64_t)0);
        sw_status_store(status + number, SW_STATUS_END << SW_STATUS_KIND | (unsigned long long)end);
    }
    return x;
}

/* Returns the same when all ends are known. */
static __device__ inline int32_t sw_look_back_known(const unsigned long long *status,
                                                    uint32_t number, int64_t origin)
{
    return number == 0
               ? SW_NOWHERE
               : sw_slot_from((int64_t)(sw_status_load(status + number - 1) & SW_STATUS_E_MASK),
                              origin);
}

#endif
