/* SPDX-License-Identifier: MIT
 *
 * alike.cuh - threads of a warp that are about the same thing, a key or a word, combine what they
 * have, so that one of them does for all: an atomic operation on one address takes its turn for
 * each thread that asks.
 */
#ifndef SHERWOOD_TABLE_DEVICE_ALIKE_CUH
#define SHERWOOD_TABLE_DEVICE_ALIKE_CUH

#include "table/device/reduce.cuh"

static __device__ inline bool sw_is_first_alike(uint32_t alike)
{
    return __ffs((int)alike) - 1 == (int)(threadIdx.x % 32);
}

static __device__ inline bool sw_is_last_alike(uint32_t alike)
{
    return 31 - __clz((int)alike) == (int)(threadIdx.x % 32);
}

/* combine(a, b) over the threads of `alike` (__match_any_sync), of which the first gets it. By all
 * threads of a warp. E. Westphal, "Voting and Shuffling to Optimize Atomic Operations", NVIDIA
 * developer blog, 2015: in each round every other thread adds what the next one has, and those that
 * were added leave. */
template <typename T, typename COMBINE>
static __device__ inline T sw_combine_alike(uint32_t alike, T value, COMBINE combine)
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
