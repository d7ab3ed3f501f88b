/* SPDX-License-Identifier: MIT
 *
 * warp_reduce.cuh - a sum or an extreme over the 32 lanes of a warp, valid in all of them. Every
 * lane must call it. From compute capability 8.0 on each is one instruction; below, each takes five
 * shuffles.
 */
#ifndef SHERWOOD_TABLE_DEVICE_WARP_REDUCE_CUH
#define SHERWOOD_TABLE_DEVICE_WARP_REDUCE_CUH

#include <stdint.h>

static __device__ inline uint32_t sw_reduce_add(uint32_t x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int d = 16; d > 0; d /= 2) {
        x += __shfl_xor_sync(0xffffffffU, x, d);
    }
    return x;
#else
    return __reduce_add_sync(0xffffffffU, x);
#endif
}

static __device__ inline int32_t sw_reduce_max(int32_t x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    for (int d = 16; d > 0; d /= 2) {
        const int32_t other = __shfl_xor_sync(0xffffffffU, x, d);
        x = other > x ? other : x;
    }
    return x;
#else
    return __reduce_max_sync(0xffffffffU, x);
#endif
}

#endif
