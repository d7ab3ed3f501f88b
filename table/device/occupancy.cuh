/* SPDX-License-Identifier: MIT
 *
 * occupancy.cuh - occupancy limits of a multiprocessor: its threads, for the architecture being
 * compiled, and a block's shared memory, for the current device.
 */
#ifndef SHERWOOD_TABLE_DEVICE_OCCUPANCY_CUH
#define SHERWOOD_TABLE_DEVICE_OCCUPANCY_CUH

#include <stddef.h>

#include <cuda_runtime.h>

#if !defined(__CUDA_ARCH__)
#define SW_CUDA_RESIDENT_MAX 2048 /* on the host this bounds nothing */
#elif __CUDA_ARCH__ < 800
#define SW_CUDA_RESIDENT_MAX 1024
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100
#define SW_CUDA_RESIDENT_MAX 1536
#else
#define SW_CUDA_RESIDENT_MAX 2048
#endif

/* For __launch_bounds__: `blocks`, or the number of blocks that fit if that is lower. */
#define SW_CUDA_RESIDENT_BLOCKS(threads, blocks) \
    ((threads) * (blocks) <= SW_CUDA_RESIDENT_MAX ? (blocks) : SW_CUDA_RESIDENT_MAX / (threads))

/* Sets *most to the bytes of shared memory that a block may request on the current device. */
static inline cudaError_t sw_cuda_shared_most(size_t *most)
{
    int device = 0;
    int bytes = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess) {
        error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    *most = (size_t)bytes;
    return error;
}

#endif
