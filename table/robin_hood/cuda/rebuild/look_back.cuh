/* SPDX-License-Identifier: MIT
 *
 * look_back.cuh - where the segments before this one end: a scan over all blocks of a rebuild.
 *
 * Entries in order of m take the places p(i) = max(p(i-1) + 1, home(m_i) * S). Over a run of
 * entries that is a function of the position x before it, x -> max(x + n, e), and such functions
 * compose. Each block publishes that of its segment, then looks back at those before it until one
 * of them knows where it ends (decoupled look-back: Merrill and Garland, "Single-pass Parallel
 * Prefix Scan with Decoupled Look-back", 2016).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_LOOK_BACK_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_REBUILD_LOOK_BACK_CUH

#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/rebuild/rebuild.cuh"

/* x -> max(x + n, e): where the entries of a run end, if those before it end at x. */
struct sw_run {
    int32_t n;
    int32_t e; /* slots, counted from the segment's first home */
};
#define SW_NOWHERE (-(1 << 30))

/* A segment's status word: 0, its own n and e, or where it ends; later also whether its entries
 * have been read. Blocks store and load it by volatile accesses without a fence: the word is the
 * whole message (M6).
 *
 * READ is the one exception, as it permits another block to overwrite what this one has read. It is
 * stored after a barrier behind which every value loaded has been used, so the loads are complete,
 * and a store that depends on READ cannot reach them. */
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

/* A slot of the table, counted from `origin`, clamped to 32 bits. */
static __device__ inline int32_t sw_slot_from(int64_t slot, int64_t origin)
{
    return (int32_t)min(max(slot - origin, (int64_t)SW_NOWHERE), (int64_t)-SW_NOWHERE);
}

/* The sum over the lanes up to this one. */
template <typename WORD> static __device__ inline WORD sw_sum_lanes(WORD x)
{
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        WORD before = __shfl_up_sync(SW_WARP_ALL, x, distance);
        x += threadIdx.x % 32 >= distance ? before : 0;
    }
    return x;
}

/* What several segments make together; a constant if the end of one of them is known. */
struct sw_look_back_run {
    int32_t n;
    int32_t e; /* counted from the origin */
    bool ends;
};

/* Joins the runs of the lanes, nearer ones first. Lanes beyond the nearest one that ends do not
 * count. */
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

/* Where the segments before this one end, counted from its first slot; SW_NOWHERE if there are
 * none. Every thread of the block must call it. */
static __device__ inline int32_t sw_look_back(const unsigned long long *status, uint32_t segment,
                                              int64_t origin)
{
    __shared__ sw_look_back_run warps[SW_CUDA_REBUILD_BLOCK / 32];
    __shared__ sw_look_back_run joined;
    int32_t x = SW_NOWHERE;
    int32_t nearer = 0; /* entries of the segments looked at */
    /* a thread a segment: a round sees about half of those that are ever resident */
    int64_t at = (int64_t)segment - 1 - (int64_t)threadIdx.x;
    for (bool found = false; !found; at -= SW_CUDA_REBUILD_BLOCK) {
        unsigned long long word = SW_STATUS_END << SW_STATUS_KIND; /* before the first of them */
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
        if (threadIdx.x < 32) { /* the warps' runs, nearer ones first, by the lanes of one */
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

/* Publishes this segment, and finds out where the segments before it end, counted from the
 * segment's first slot. Spins on words of blocks with lower numbers, which began earlier, so it
 * ends. */
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

/* The same once all ends are known. */
static __device__ inline int32_t sw_look_back_known(const unsigned long long *status,
                                                    uint32_t number, int64_t origin)
{
    return number == 0
               ? SW_NOWHERE
               : sw_slot_from((int64_t)(sw_status_load(status + number - 1) & SW_STATUS_E_MASK),
                              origin);
}

#endif
