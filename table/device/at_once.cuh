/* SPDX-License-Identifier: MIT
 *
 * at_once.cuh - how many blocks a cooperative launch may have: all of them must be on the device
 * at once.
 */
#ifndef SHERWOOD_TABLE_DEVICE_AT_ONCE_CUH
#define SHERWOOD_TABLE_DEVICE_AT_ONCE_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Sets *blocks to the blocks of `threads` threads that run at once on so many multiprocessors of
 * the current device, at most `each` on one. Fails with cudaErrorLaunchOutOfResources where not
 * even one fits. */
template <typename... ARGUMENTS>
static inline cudaError_t sw_cuda_blocks_at_once(void (*kernel)(ARGUMENTS...), int threads,
                                                 uint32_t multiprocessors, uint32_t each,
                                                 uint32_t *blocks)
{
    int fit = 0; /* on one */
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads, 0);
    if (error == cudaSuccess && fit < 1) {
        error = cudaErrorLaunchOutOfResources;
    }
    *blocks =
        error == cudaSuccess ? multiprocessors * ((uint32_t)fit < each ? (uint32_t)fit : each) : 0;
    return error;
}

#endif
