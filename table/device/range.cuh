/* SPDX-License-Identifier: MIT
 *
 * range.cuh - an array that grows in place. One range of addresses is reserved for its maximum
 * size, and memory is mapped piece by piece from the beginning. The memory is device memory or
 * pinned host memory; kernels use the addresses of the range for both.
 *
 * Threads: one call at a time per range. Kernels may use the mapped part while more is mapped.
 */
#ifndef SHERWOOD_TABLE_DEVICE_RANGE_CUH
#define SHERWOOD_TABLE_DEVICE_RANGE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

struct sw_cuda_range {
    uint8_t *base;
    uint64_t reserved; /* reserved bytes; each piece but the last has `piece` bytes */
    uint64_t mapped;   /* bytes that have memory */
    uint64_t piece;
    int device;
    bool in_host;
};

/* Reserves addresses for at least `bytes`. The device must be current, here and below.
 * cudaErrorNotSupported: the driver or the device does not support it. After a failure nothing
 * stays reserved. */
cudaError_t sw_cuda_range_open(struct sw_cuda_range *range, int device, bool in_host,
                               uint64_t bytes);
/* Maps pieces until the first `bytes` have memory, at most the reserved range. The initial
 * content is undefined. cudaErrorMemoryAllocation: memory is short; the pieces mapped so far
 * stay mapped. */
cudaError_t sw_cuda_range_map(struct sw_cuda_range *range, uint64_t bytes);
/* Returns the bytes that sw_cuda_range_map would map in addition. */
uint64_t sw_cuda_range_needs(const struct sw_cuda_range *range, uint64_t bytes);
/* Releases memory and addresses. The device must no longer use the range. A zeroed range is
 * allowed. */
void sw_cuda_range_close(struct sw_cuda_range *range);

#endif
