/* SPDX-License-Identifier: MIT
 *
 * locks.cuh - the lock of a bucket: M5 of table/README.md, "Memory order on CUDA". Under the lock,
 * plain accesses read and write the bucket. Loads bypass L1, which is not coherent (SW_CACHE_LOAD).
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_LOCKS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_LOCKS_CUH

#include <stdint.h>

/* M5: acquire order, so that the caller sees what the last holder stored in the bucket. */
static __device__ __forceinline__ bool sw_cache_try_lock(uint32_t *lock)
{
    uint32_t before;
    asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(before)
                 : "l"(lock)
                 : "memory");
    return before == 0;
}

/* M5: release order for what the caller stored in the bucket. */
static __device__ __forceinline__ void sw_cache_unlock(uint32_t *lock)
{
    asm volatile("st.release.gpu.global.u32 [%0], 0;" : : "l"(lock) : "memory");
}

#endif
