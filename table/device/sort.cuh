/* SPDX-License-Identifier: MIT
 *
 * sort.cuh - a stable sort of words by some of their bits, each with a word beside it, in the order
 * of a stream: by CUB, whose kernels are compiled here alone, for each pair of types once.
 */
#ifndef SHERWOOD_TABLE_DEVICE_SORT_CUH
#define SHERWOOD_TABLE_DEVICE_SORT_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts by the bits from `begin` to below `end`. `temporary` has *bytes; NULL: nothing is sorted,
 * and *bytes becomes what so many keys need. KEY and VALUE: uint32_t and uint32_t, uint64_t and
 * uint32_t, uint64_t and uint64_t. */
template <typename KEY, typename VALUE>
cudaError_t sw_cuda_sort(void *temporary, size_t *bytes, const KEY *keys, KEY *sorted,
                         const VALUE *values, VALUE *values_sorted, uint32_t count, int begin,
                         int end, cudaStream_t stream);

#endif
