/* SPDX-License-Identifier: MIT
 *
 * cooperative_blocks.cuh - the maximum number of blocks of a cooperative launch: all of them must
 * be resident at once.
 */
#ifndef SHERWOOD_TABLE_DEVICE_COOPERATIVE_BLOCKS_CUH
#define SHERWOOD_TABLE_DEVICE_COOPERATIVE_BLOCKS_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Sets *blocks to the number of blocks of `threads` threads that are resident at once on
 * `multiprocessors` multiprocessors of the current device, at most `each` on one. Fails with
 * cudaErrorLaunchOutOfResources if not even one block fits. */
template <typename... ARGUMENTS>
static inline cudaError_t sw_cuda_cooperative_blocks(void (*kernel)(ARGUMENTS...), int threads,
                                                     uint32_t multiprocessors, uint32_t each,
                                                     uint32_t *blocks)
{
    int fit = 0; /* blocks that fit on one multiprocessor */
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads, 0);
    if (error == cudaSuccess && fit < 1) {
        error = cudaErrorLaunchOutOfResources;
    }
    *blocks =
        error == cudaSuccess ? multiprocessors * ((uint32_t)fit < each ? (uint32_t)fit : each) : 0;
    return error;
}

#endif
