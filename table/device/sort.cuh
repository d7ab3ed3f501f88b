/* SPDX-License-Identifier: MIT
 *
 * sort.cuh - a stable radix sort of key-value pairs, or of keys alone, by some bits of the keys, on
 * a stream. CUB sorts; only sort.cu compiles its kernels, once for each pair of types.
 */
#ifndef SHERWOOD_TABLE_DEVICE_SORT_CUH
#define SHERWOOD_TABLE_DEVICE_SORT_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts by the bits from `begin` to below `end`. `temporary` has *bytes bytes. NULL: sorts nothing
 * and sets *bytes to the bytes needed for `count` keys. KEY and VALUE may be: uint32_t and
 * uint32_t, uint64_t and uint32_t, uint64_t and uint64_t. */
template <typename KEY, typename VALUE>
cudaError_t sw_cuda_sort(void *temporary, size_t *bytes, const KEY *keys, KEY *sorted,
                         const VALUE *values, VALUE *values_sorted, uint32_t count, int begin,
                         int end, cudaStream_t stream);
/* The same without values, for keys of uint32_t or uint64_t. */
template <typename KEY>
cudaError_t sw_cuda_sort_keys(void *temporary, size_t *bytes, const KEY *keys, KEY *sorted,
                              uint32_t count, int begin, int end, cudaStream_t stream);

#endif
