/* SPDX-License-Identifier: MIT
 *
 * zeroed.cuh - device memory that is zero.
 */
#ifndef SHERWOOD_TABLE_DEVICE_ZEROED_CUH
#define SHERWOOD_TABLE_DEVICE_ZEROED_CUH

#include <cuda_runtime.h>
#include <stddef.h>

/* Allocates device memory, and waits until it is zero. After a failure *memory is NULL. The caller
 * frees it with cudaFree. Any thread with the device current. */
static inline cudaError_t sw_cuda_allocate_zeroed(void **memory, size_t bytes)
{
    *memory = NULL;
    cudaError_t error = cudaMalloc(memory, bytes);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(*memory, 0, bytes, cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(cudaStreamPerThread);
    }
    if (error != cudaSuccess) {
        (void)cudaFree(*memory);
        *memory = NULL;
    }
    return error;
}

#endif
