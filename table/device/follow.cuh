/* SPDX-License-Identifier: MIT
 *
 * follow.cuh - programmatic dependent launch of the kernels of a batch. A kernel begins while the
 * last blocks of the kernel before it run, and waits for them before it accesses memory. Code below
 * compute capability 9.0 cannot do this: there a kernel begins when the kernel before it is
 * complete.
 */
#ifndef SHERWOOD_TABLE_DEVICE_FOLLOW_CUH
#define SHERWOOD_TABLE_DEVICE_FOLLOW_CUH

#include <stdint.h>

#include <cuda_runtime.h>

#include "table/device/code.cuh"

/* Launches a kernel that calls sw_cuda_follow before anything else, with `shared_bytes` bytes of
 * dynamic shared memory. `follows`: the kernel before it on the stream also calls
 * sw_cuda_follow. */
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

/* The same without dynamic shared memory. */
template <typename... PARAMETERS, typename... ARGUMENTS>
static cudaError_t sw_cuda_launch_following(bool follows, void (*kernel)(PARAMETERS...),
                                            uint32_t blocks, uint32_t threads, cudaStream_t stream,
                                            const ARGUMENTS &...arguments)
{
    return sw_cuda_launch_following_with(follows, kernel, blocks, threads, 0, stream, arguments...);
}

/* Allows the next kernel to begin once all blocks of this one have begun. Then waits until the
 * kernel before is complete and its stores are visible: M1 holds after this call. No load or store
 * may precede this call. */
static __device__ __forceinline__ void sw_cuda_follow(void)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}

#endif
