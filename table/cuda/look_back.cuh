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
#ifndef SHERWOOD_TABLE_CUDA_LOOK_BACK_CUH
#define SHERWOOD_TABLE_CUDA_LOOK_BACK_CUH

#include "table/cuda/rebuild.cuh"
#include "table/cuda/reduce.cuh"

/* x -> max(x + n, e): where the entries of a run end, if those before it end at x. */
struct sw_run {
    int32_t n;
    int32_t e;    /* slots, counted from the segment's first home */
    int32_t home; /* of the last entry, counted likewise; -1 if there is none */
};
#define SW_NOWHERE (-(1 << 30))

struct sw_compose {
    __device__ sw_run operator()(const sw_run &first, const sw_run &second) const
    {
        sw_run both;
        both.n = first.n + second.n;
        both.e = max(first.e + second.n, second.e);
        both.home = max(first.home, second.home);
        return both;
    }
};

/* A segment's status word: nothing yet, its own n and e, or where it ends. */
#define SW_STATUS_KIND 62
#define SW_STATUS_OWN 1ULL
#define SW_STATUS_END 2ULL
#define SW_STATUS_N 48
#define SW_STATUS_E_MASK ((1ULL << SW_STATUS_N) - 1)
#define SW_FAR_BEFORE (-((int64_t)1 << 60))

static __device__ inline unsigned long long sw_status_load(const unsigned long long *status)
{
    return *(const volatile unsigned long long *)status;
}

static __device__ inline void sw_status_store(unsigned long long *status, unsigned long long word)
{
    *(volatile unsigned long long *)status = word;
}

/* A run over segments, in slots of the table. A constant is a run whose n is SW_FAR_BEFORE. */
struct sw_far_run {
    int64_t n;
    int64_t e;
};

static __device__ inline sw_far_run sw_far_run_follow(sw_far_run first, sw_far_run second)
{
    sw_far_run both;
    both.n = max(first.n + second.n, SW_FAR_BEFORE);
    both.e = max(first.e + second.n, second.e);
    return both;
}

static __device__ inline sw_far_run sw_far_run_shuffle_down(sw_far_run x, int distance)
{
    sw_far_run other;
    other.n = __shfl_down_sync(SW_WARP_ALL, x.n, distance);
    other.e = __shfl_down_sync(SW_WARP_ALL, x.e, distance);
    return other;
}

/* Segment `at`, as a run; *ends if its end is known, and then those before it do not count. Waits
 * until it has told something. Before the first segment nothing ends. */
static __device__ inline sw_far_run sw_look_back_run(const unsigned long long *status, int64_t at,
                                                     bool *ends)
{
    sw_far_run one = {SW_FAR_BEFORE, SW_FAR_BEFORE};
    unsigned long long word = 0;
    *ends = at < 0;
    if (*ends) {
        return one;
    }
    while ((word = sw_status_load(status + at)) >> SW_STATUS_KIND == 0) {
    }
    *ends = word >> SW_STATUS_KIND == SW_STATUS_END;
    one.n = *ends ? SW_FAR_BEFORE : (int64_t)(word >> SW_STATUS_N & 0x3FFF);
    one.e = (int64_t)(*ends ? word & ~(SW_STATUS_END << SW_STATUS_KIND) : word & SW_STATUS_E_MASK);
    return one;
}

/* Combines the runs of a warp's lanes, farther ones first; valid in lane 0. Past the first lane
 * that ends, lanes do not count. */
static __device__ inline sw_far_run sw_look_back_warp(sw_far_run own, bool ends, bool *any_ends)
{
    uint32_t lane = threadIdx.x % 32;
    uint32_t ended = __ballot_sync(SW_WARP_ALL, ends);
    *any_ends = ended != 0;
    if (ended != 0 && lane >= (uint32_t)__ffs((int)ended)) {
        own.n = 0;
        own.e = SW_FAR_BEFORE;
    }
    for (int distance = 1; distance < 32; distance *= 2) {
        sw_far_run before = sw_far_run_shuffle_down(own, distance);
        if (lane + distance < 32) {
            own = sw_far_run_follow(before, own);
        }
    }
    return own;
}

/* Where the segments before this one end, in slots of the table; SW_FAR_BEFORE if there are none.
 * Every thread of the block must call it. */
static __device__ inline int64_t sw_look_back(const unsigned long long *status, uint32_t segment)
{
    __shared__ sw_far_run warps[SW_CUDA_REBUILD_BLOCK / 32];
    __shared__ bool warp_ends[SW_CUDA_REBUILD_BLOCK / 32];
    __shared__ sw_far_run result;
    __shared__ bool found;
    sw_far_run nearer = {0, SW_FAR_BEFORE};
    /* a thread a segment: a round sees half of those that are ever resident */
    int64_t nearest = (int64_t)segment - 1 - (int64_t)threadIdx.x;
    for (;; nearest -= SW_CUDA_REBUILD_BLOCK) {
        bool ends = false;
        bool any_ends = false;
        sw_far_run own = sw_look_back_run(status, nearest, &ends);
        own = sw_look_back_warp(own, ends, &any_ends);
        if (threadIdx.x % 32 == 0) {
            warps[threadIdx.x / 32] = own;
            warp_ends[threadIdx.x / 32] = any_ends;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            found = false;
            for (int w = 0; w < SW_CUDA_REBUILD_BLOCK / 32 && !found; w++) {
                nearer = sw_far_run_follow(warps[w], nearer);
                found = warp_ends[w];
            }
            result = nearer;
        }
        __syncthreads();
        if (found) {
            return result.e;
        }
    }
}

/* Tells the segments after this one, and learns from those before it: where they end, counted from
 * the segment's first slot. */
static __device__ inline int32_t sw_look_back_chain(unsigned long long *status, uint32_t number,
                                                    int64_t origin, sw_run whole)
{
    if (threadIdx.x == 0 && number > 0) {
        uint64_t e = whole.e < 0 ? 0 : (uint64_t)(origin + whole.e);
        sw_status_store(status + number,
                        SW_STATUS_OWN << SW_STATUS_KIND | (uint64_t)whole.n << SW_STATUS_N | e);
    }
    const int64_t before = sw_look_back(status, number);
    if (threadIdx.x == 0) {
        int64_t own = whole.e < 0 ? SW_FAR_BEFORE : origin + whole.e;
        int64_t end = max(max(before + whole.n, own), (int64_t)0);
        sw_status_store(status + number, SW_STATUS_END << SW_STATUS_KIND | (unsigned long long)end);
    }
    return (int32_t)max(before - origin, (int64_t)SW_NOWHERE);
}

#endif
