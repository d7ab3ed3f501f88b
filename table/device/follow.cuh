/* SPDX-License-Identifier: MIT
 *
 * follow.cuh - kernels of a batch that follow each other (programmatic dependent launch): one
 * begins while the last blocks of the one before it run, and waits for them before it touches
 * memory. Code below compute capability 9.0 has no such waiting: there a kernel begins when the one
 * before it is complete.
 */
#ifndef SHERWOOD_TABLE_DEVICE_FOLLOW_CUH
#define SHERWOOD_TABLE_DEVICE_FOLLOW_CUH

#include <stdint.h>

#include <cuda_runtime.h>

#include "table/device/code.cuh"

/* Launches a kernel, which calls sw_cuda_follow before anything else. `follows`: the kernel before
 * it on the stream does so too. With so many bytes of dynamic shared memory. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t sw_cuda_launch_following_with(bool follows, void (*kernel)(PARAMETERS...),
                                                 uint32_t blocks, uint32_t threads,
                                                 uint32_t shared_bytes, cudaStream_t stream,
                                                 const ARGUMENTS &...arguments)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = follows && sw_cuda_code_follows() ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* The same without such memory. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t sw_cuda_launch_following(bool follows, void (*kernel)(PARAMETERS...),
                                            uint32_t blocks, uint32_t threads, cudaStream_t stream,
                                            const ARGUMENTS &...arguments)
{
    return sw_cuda_launch_following_with(follows, kernel, blocks, threads, 0, stream, arguments...);
}

/* Lets the next kernel begin once all blocks of this one have begun, and waits until the kernel
 * before is complete and its stores are visible: M1 holds from here on. No load or store may come
 * before this call. */
static __device__ __forceinline__ void sw_cuda_follow(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}

#endif
