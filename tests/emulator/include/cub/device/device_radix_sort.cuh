/* SPDX-License-Identifier: MIT
 *
 * device_radix_sort.cuh - a stable sort by some bits of the keys, in the order of a stream.
 */
#ifndef SHERWOOD_EMULATOR_DEVICE_RADIX_SORT_CUH
#define SHERWOOD_EMULATOR_DEVICE_RADIX_SORT_CUH

#include <algorithm>
#include <numeric>
#include <vector>

#include <cuda_runtime.h>

namespace cub
{
struct DeviceRadixSort {
    template <typename K, typename V, typename N>
    static cudaError_t SortPairs(void *temporary, size_t &bytes, const K *keys, K *keys_out,
                                 const V *values, V *values_out, N count, int begin_bit = 0,
                                 int end_bit = sizeof(K) * 8, cudaStream_t stream = 0)
    {
        if (temporary == nullptr) {
            bytes = 1;
            return cudaSuccess;
        }
        const K all = end_bit >= (int)sizeof(K) * 8 ? (K)-1 : (((K)1 << end_bit) - 1);
        emu_enqueue_work(stream, [=] {
            std::vector<size_t> order((size_t)count);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [=](size_t a, size_t b) {
                return (K)(keys[a] & all) >> begin_bit < (K)(keys[b] & all) >> begin_bit;
            });
            for (size_t i = 0; i < order.size(); i++) {
                keys_out[i] = keys[order[i]];
                values_out[i] = values[order[i]];
            }
        });
        return cudaSuccess;
    }

    template <typename K, typename N>
    static cudaError_t SortKeys(void *temporary, size_t &bytes, const K *keys, K *keys_out, N count,
                                int begin_bit = 0, int end_bit = sizeof(K) * 8,
                                cudaStream_t stream = 0)
    {
        return SortPairs(temporary, bytes, keys, keys_out, keys, keys_out, count, begin_bit,
                         end_bit, stream);
    }
};
} // namespace cub

#endif
