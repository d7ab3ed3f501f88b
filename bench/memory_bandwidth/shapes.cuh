/* SPDX-License-Identifier: MIT
 *
 * shapes.cuh - the kernels of shapes.cu: a get and an insert by any shape of buckets and tiles.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_SHAPES_CUH
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_SHAPES_CUH

#include "bench/memory_bandwidth/shapes.h"
#include "table/device/wide.cuh"

#define BLOCK 256

namespace
{

struct narrow {
    typedef uint32_t word;
    struct alignas(8) slot {
        word value;
        word m;
    };
    static __host__ __device__ word home(word m, word buckets)
    {
        return (word)(((uint64_t)m * buckets) >> 32);
    }
    static __device__ void unpack(uint4 loaded, slot *slots)
    {
        slots[0] = {loaded.x, loaded.y};
        slots[1] = {loaded.z, loaded.w};
    }
    static __device__ slot swap(slot *at, slot want, slot put)
    {
        const unsigned long long was =
            atomicCAS((unsigned long long *)at, (unsigned long long)want.m << 32 | want.value,
                      (unsigned long long)put.m << 32 | put.value);
        return {(word)was, (word)(was >> 32)};
    }
};

struct wide {
    typedef uint64_t word;
    struct alignas(16) slot {
        word value;
        word m;
    };
    static __host__ __device__ word home(word m, word buckets)
    {
        return (word)(((unsigned __int128)m * buckets) >> 64);
    }
    static __device__ void unpack(uint4 loaded, slot *slots)
    {
        slots[0] = {(word)loaded.y << 32 | loaded.x, (word)loaded.w << 32 | loaded.z};
    }
    static __device__ slot swap(slot *at, slot want, slot put)
    {
        const struct sw_wide was = sw_wide_cas(at, {want.value, want.m}, {put.value, put.m});
        return {was.low, was.high};
    }
};

/* --- kernels ---------------------------------------------------------------------------------- */

/* Loads the part of a bucket that one lane of its tile holds. FRESH: not from the first-level
 * cache. */
template <class W, int SLOTS, int LANES, bool FRESH>
__device__ __forceinline__ void load(const typename W::slot *slots, uint64_t bucket, uint32_t lane,
                                     typename W::slot *held)
{
    constexpr int PART = SLOTS / LANES;
    constexpr int EACH = 16 / sizeof(typename W::slot); /* slots of a load */
    const typename W::slot *at = slots + bucket * SLOTS + lane * PART;
    if constexpr (PART >= EACH) {
#pragma unroll
        for (int p = 0; p < PART / EACH; p++) {
            W::unpack(FRESH ? __ldcg((const uint4 *)at + p) : ((const uint4 *)at)[p],
                      held + p * EACH);
        }
    } else {
        const uint2 one = FRESH ? __ldcg((const uint2 *)at) : *(const uint2 *)at;
        held[0] = {one.x, one.y};
    }
}

template <int LANES> __device__ __forceinline__ uint32_t tile_mask(uint32_t lane)
{
    return LANES == 32 ? 0xffffffffU : ((1U << LANES) - 1) << (threadIdx.x % 32 - lane);
}

template <class W, int SLOTS, int LANES, int KEYS>
__global__ void __launch_bounds__(BLOCK)
    get_kernel(const typename W::slot *slots, typename W::word buckets,
               const typename W::word *queries, typename W::word *answers, uint64_t count)
{
    constexpr int PART = SLOTS / LANES;
    constexpr uint32_t STEP = BLOCK / LANES;
    const uint32_t lane = threadIdx.x % LANES;
    const uint32_t mask = tile_mask<LANES>(lane);
    const uint64_t first = (uint64_t)blockIdx.x * (STEP * KEYS) + threadIdx.x / LANES;
    typename W::word m[KEYS];
    uint64_t bucket[KEYS];
    typename W::slot held[KEYS][PART];
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const uint64_t i = first + k * STEP;
        m[k] = i < count ? __ldcs(queries + i) : 0;
        bucket[k] = W::home(m[k], buckets);
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        load<W, SLOTS, LANES, false>(slots, bucket[k], lane, held[k]);
    }
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const uint64_t i = first + k * STEP;
        typename W::word value = 0;
        for (;;) {
            bool ends = false;
#pragma unroll
            for (int p = 0; p < PART; p++) {
                value = held[k][p].m == m[k] ? held[k][p].value : value;
                ends |= held[k][p].m >= m[k];
            }
            if (LANES > 1 ? __any_sync(mask, ends) : ends) {
                break;
            }
            bucket[k]++;
            load<W, SLOTS, LANES, false>(slots, bucket[k], lane, held[k]);
        }
        const uint32_t hits = LANES > 1 ? __ballot_sync(mask, value != 0) : 0;
        if (i < count && (hits == 0 ? lane == 0 : value != 0)) {
            __stcs(answers + i, value);
        }
    }
}

/* All keys are absent and different. So only the order of keys decides which slot they get. */
template <class W, int SLOTS, int LANES>
__global__ void __launch_bounds__(BLOCK)
    insert_kernel(typename W::slot *slots, typename W::word buckets, uint64_t slots_total,
                  const typename W::word *queries, uint32_t *overflowed)
{
    typedef typename W::word word;
    constexpr int PART = SLOTS / LANES;
    constexpr word EMPTY = ~(word)0;
    const uint32_t lane = threadIdx.x % LANES;
    const uint32_t mask = tile_mask<LANES>(lane);
    const uint32_t i = blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
    typename W::slot held[PART];
    typename W::slot carried = {(word)~queries[i], queries[i]};
    uint64_t bucket = W::home(carried.m, buckets);
    load<W, SLOTS, LANES, true>(slots, bucket, lane, held);
    for (;;) {
        typename W::slot top = held[0]; /* the largest, of equal ones the first */
        uint32_t at = lane * PART;
#pragma unroll
        for (int p = 1; p < PART; p++) {
            const bool larger = held[p].m > top.m;
            top = larger ? held[p] : top;
            at = larger ? lane * PART + p : at;
        }
        word most = top.m;
#pragma unroll
        for (int d = LANES / 2; d > 0; d /= 2) {
            const word its = __shfl_xor_sync(mask, most, d, LANES);
            const uint32_t its_at = __shfl_xor_sync(mask, at, d, LANES);
            const bool other = its > most || (its == most && its_at < at);
            most = other ? its : most;
            at = other ? its_at : at;
        }
        if (most > carried.m) {
            const uint32_t owner = at / PART;
            typename W::slot was = top;
            if (lane == owner) {
                was = W::swap(slots + bucket * SLOTS + at, top, carried);
            }
            bool swapped = was.value == top.value && was.m == top.m;
            if constexpr (LANES > 1) {
                swapped = __shfl_sync(mask, swapped, owner, LANES);
                top.value = __shfl_sync(mask, top.value, owner, LANES);
            }
            if (!swapped) {
#pragma unroll
                for (int p = 0; p < PART; p++) {
                    held[p] = lane * PART + p == at ? was : held[p];
                }
                continue;
            }
            if (most == EMPTY) {
                return;
            }
            carried = {top.value, most};
        }
        bucket++;
        if ((bucket + 1) * SLOTS > slots_total) {
            *overflowed = 1;
            return;
        }
        load<W, SLOTS, LANES, true>(slots, bucket, lane, held);
    }
}

} // namespace

#endif
