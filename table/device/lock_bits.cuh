/* SPDX-License-Identifier: MIT
 *
 * lock_bits.cuh - locks of one bit each, 32 in a word of device memory; zero is free.
 */
#ifndef SHERWOOD_TABLE_DEVICE_LOCK_BITS_CUH
#define SHERWOOD_TABLE_DEVICE_LOCK_BITS_CUH

#include <stdint.h>

/* True if it is taken now. M5 (table/README.md): acquires, so that what the last holder stored is
 * seen. A failed try needs no order. */
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

/* M5: releases what this lane stored, and after a __syncwarp what the other lanes stored that work
 * with it (M3: the barrier makes their stores come before this). */
static __device__ inline void sw_unlock_bit(uint32_t *locks, uint64_t number)
{
    asm volatile("red.release.gpu.global.and.b32 [%0], %1;"
                 :
                 : "l"(__cvta_generic_to_global(locks + number / 32)), "r"(~(1U << (number % 32)))
                 : "memory");
}

#endif
