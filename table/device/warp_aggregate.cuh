/* SPDX-License-Identifier: MIT
 *
 * warp_aggregate.cuh - warp-level aggregation. Threads of a warp that work on the same key or word
 * combine their values, and one of them acts for all. The device executes atomic operations on one
 * address one after the other, so one is faster than 32.
 */
#ifndef SHERWOOD_TABLE_DEVICE_WARP_AGGREGATE_CUH
#define SHERWOOD_TABLE_DEVICE_WARP_AGGREGATE_CUH

#include "table/device/reduce.cuh"

static __device__ inline bool sw_warp_is_first(uint32_t alike)
{
    return __ffs((int)alike) - 1 == (int)(threadIdx.x % 32);
}

static __device__ inline bool sw_warp_is_last(uint32_t alike)
{
    return 31 - __clz((int)alike) == (int)(threadIdx.x % 32);
}

/* Reduces the values of the threads of `alike` (from __match_any_sync) by combine(a, b). The first
 * of these threads gets the result. All threads of the warp must call it. E. Westphal, "Voting and
 * Shuffling to Optimize Atomic Operations", NVIDIA developer blog, 2015: in each round every second
 * thread combines its value with that of its successor, which then drops out. */
template <typename T, typename COMBINE>
static __device__ inline T sw_warp_combine(uint32_t alike, T value, COMBINE combine)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t rank = (uint32_t)__popc(alike & ((1U << lane) - 1));
    uint32_t above = alike & (uint32_t)(0xfffffffeULL << lane);
    while (__any_sync(SW_WARP_ALL, above != 0)) {
        const int next = __ffs((int)above);
        const T other = __shfl_sync(SW_WARP_ALL, value, next == 0 ? (int)lane : next - 1);
        if (next != 0) {
            value = combine(value, other);
        }
        above &= ~__ballot_sync(SW_WARP_ALL, (rank & 1) != 0);
        rank /= 2;
    }
    return value;
}

#endif
