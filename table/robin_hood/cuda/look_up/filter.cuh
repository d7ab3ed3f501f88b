/* SPDX-License-Identifier: MIT
 *
 * filter.cuh - the filter of a launch of reads (slot_filter.h). The kernel gets it as a parameter.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_LOOK_UP_FILTER_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_LOOK_UP_FILTER_CUH

#include "table/device/hash_slot.cuh"
#include "table/robin_hood/cuda/width.cuh"

struct sw_filter {
    static constexpr bool filters = true;
    struct sw_slot_filter of;
};
/* Replaces sw_filter in a launch without a filter: every key may be read. */
struct sw_no_filter {
    static constexpr bool filters = false;
};

/* Checks the keys first, first + step, .. below `count`, whose mixed forms are m[]. Returns the
 * bitwise complement of the number of the first key outside the filter, or 0 if all keys pass. All
 * threads of the block must call it. */
template <int BITS, int KEYS>
static __device__ inline uint32_t sw_filter_outside(const sw_filter &filter,
                                                    const typename sw_width<BITS>::table *table,
                                                    const typename sw_width<BITS>::word *m,
                                                    uint32_t first, uint32_t step, uint32_t count)
{
    __shared__ uint64_t slots[SW_FILTER_SLOTS / 64]; /* in shared memory, because each thread
                                                        indexes another word */
    uint32_t outside = 0;
    for (uint32_t i = threadIdx.x; i < SW_FILTER_SLOTS / 64; i += blockDim.x) {
        slots[i] = filter.of.slots[i];
    }
    __syncthreads(); /* M2: all threads have copied their part of slots[] */
#pragma unroll
    for (int k = 0; k < KEYS; k++) {
        const uint32_t i = first + k * step;
        const typename sw_width<BITS>::word key = sw_width<BITS>::unmix(table, m[k]);
        const uint32_t slot = filter.of.raw ? sw_hash_slot_raw(key) : sw_hash_slot(key);
        const bool passes = i >= count || (slots[slot / 64] >> slot % 64 & 1) != 0;
        outside = passes ? outside : max(outside, ~i);
    }
    return outside;
}

#endif
