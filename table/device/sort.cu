/* SPDX-License-Identifier: MIT
 *
 * sort.cu - CUB's radix sort (see sort.cuh).
 */
#include "table/device/sort.cuh"

#include <cub/device/device_radix_sort.cuh>

template <typename KEY, typename VALUE>
cudaError_t sw_cuda_sort(void *temporary, size_t *bytes, const KEY *keys, KEY *sorted,
                         const VALUE *values, VALUE *values_sorted, uint32_t count, int begin,
                         int end, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(temporary, *bytes, keys, sorted, values, values_sorted,
                                           count, begin, end, stream);
}

template <typename KEY>
cudaError_t sw_cuda_sort_keys(void *temporary, size_t *bytes, const KEY *keys, KEY *sorted,
                              uint32_t count, int begin, int end, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortKeys(temporary, *bytes, keys, sorted, count, begin, end,
                                          stream);
}

#define SORT(KEY, VALUE)                                                                      \
    template cudaError_t sw_cuda_sort<KEY, VALUE>(void *, size_t *, const KEY *, KEY *,       \
                                                  const VALUE *, VALUE *, uint32_t, int, int, \
                                                  cudaStream_t);
SORT(uint32_t, uint32_t)
SORT(uint64_t, uint32_t)
SORT(uint64_t, uint64_t)
template cudaError_t sw_cuda_sort_keys<uint32_t>(void *, size_t *, const uint32_t *, uint32_t *,
                                                 uint32_t, int, int, cudaStream_t);
template cudaError_t sw_cuda_sort_keys<uint64_t>(void *, size_t *, const uint64_t *, uint64_t *,
                                                 uint32_t, int, int, cudaStream_t);
