/* SPDX-License-Identifier: MIT
 *
 * forget.cuh - displacement hints that may be wrong after a removal (hints.inl, hint_forget).
 */
#ifndef SHERWOOD_TABLE_CUDA_FORGET_CUH
#define SHERWOOD_TABLE_CUDA_FORGET_CUH

#include "table/cuda/device.cuh"

/* After entries of buckets [first, end) of the main array left or moved to the left. By `parts`
 * threads, of which this is `part`: four hints in one load, most of which are 0 already. The array
 * has room to the end of the last word. */
template <int BITS>
static __device__ inline void sw_cuda_forget(const struct sw_cuda_device<BITS> &device,
                                             uint64_t first, uint64_t end, uint32_t part,
                                             uint32_t parts)
{
    const uint64_t buckets = device.table.main.buckets;
    const uint64_t homes = end < buckets ? end : buckets;
    if (device.hints == NULL) {
        return;
    }
    const uint64_t nearest = first > SW_HINT_REACH ? (first - SW_HINT_REACH) / 2 : 0;
    for (uint64_t word = nearest / 4 + part; 8 * word < homes; word += parts) {
        uint32_t hints = *(const volatile uint32_t *)(device.hints + 4 * word);
        for (uint64_t g = 4 * word; hints != 0; g++, hints >>= 8) {
            if (2 * g < homes && sw_hint_speaks_of((uint8_t)hints, g, first)) {
                sw_hint_clear(device.hints + g);
            }
        }
    }
}

#endif
