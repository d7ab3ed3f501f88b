/* SPDX-License-Identifier: MIT
 *
 * lock_bits.cuh - locks of one bit each, 32 in a word of device memory; 0: free.
 */
#ifndef SHERWOOD_TABLE_DEVICE_LOCK_BITS_CUH
#define SHERWOOD_TABLE_DEVICE_LOCK_BITS_CUH

#include <stdint.h>

/* Returns true if the caller has taken the lock. M5 (table/README.md): acquire order, so that the
 * caller sees the stores of the last holder. A failed attempt needs no order. */
static __device__ inline bool sw_try_lock_bit(uint32_t *locks, uint64_t number)
{
    uint32_t bit = 1U << (number % 32);
    uint32_t was;
    asm volatile("atom.acquire.gpu.global.or.b32 %0, [%1], %2;"
                 : "=r"(was)
                 : "l"(__cvta_generic_to_global(locks + number / 32)), "r"(bit)
                 : "memory");
    return (was & bit) == 0;
}

/* Releases a lock. M5: release order for the stores of this lane. After a __syncwarp the release
 * also covers the stores of the other lanes of the holder (M3: the barrier orders them before
 * it). */
static __device__ inline void sw_unlock_bit(uint32_t *locks, uint64_t number)
{
    asm volatile("red.release.gpu.global.and.b32 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(locks + number / 32)), "r"(~(1U << (number % 32)))
                 : "memory");
}

#endif
