/* SPDX-License-Identifier: MIT
 *
 * range.cuh - an array that grows where it is: one range of addresses is reserved for all that it
 * may ever have, and memory is mapped from its beginning on, piece by piece. The memory is the
 * device's, or the host's, pinned; kernels reach both by the same addresses.
 *
 * Threads: calls for one range one at a time. Kernels may use what is mapped while more is mapped.
 */
#ifndef SHERWOOD_TABLE_DEVICE_RANGE_CUH
#define SHERWOOD_TABLE_DEVICE_RANGE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

struct sw_cuda_range {
    uint8_t *base;
    uint64_t reserved; /* bytes; a piece, but the last one, has `piece` of them */
    uint64_t mapped;   /* bytes that have memory */
    uint64_t piece;
    int device;
    bool in_host;
};

/* Reserves addresses for at least `bytes`; zeroed memory is what it takes. The device must be
 * current, here and below. cudaErrorNotSupported: the driver or the device cannot; nothing is owed
 * after a failure. */
cudaError_t sw_cuda_range_open(struct sw_cuda_range *range, int device, bool in_host,
                               uint64_t bytes);
/* Maps pieces until the first `bytes` have memory, at most what is reserved; what it has at first
 * is anything. cudaErrorMemoryAllocation: there is not so much; the pieces that there was memory
 * for stay mapped. */
cudaError_t sw_cuda_range_map(struct sw_cuda_range *range, uint64_t bytes);
/* Once the device uses it no more. Zeroed memory is allowed. */
void sw_cuda_range_close(struct sw_cuda_range *range);

#endif
