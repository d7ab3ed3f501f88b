/* SPDX-License-Identifier: MIT
 *
 * wide.cuh - a compare-and-swap and an exchange of 16 bytes of device memory.
 *
 * From compute capability 9.0 on each is one instruction. Older code takes a lock of one bit, which
 * the address of the 16 bytes selects. Addresses that are SW_WIDE_LOCKS * 16 bytes apart share a
 * bit.
 *
 * Invariant: while a kernel runs that calls these functions on some 16 bytes, nothing else writes
 * them. So the holder of their lock sees both halves as one call left them, and writes both before
 * any other thread does: the returned value is whole, and each call is atomic with respect to the
 * others. (M5 of table/README.md: acquire and release order the accesses to the halves after
 * locking and before unlocking.) A load without the lock may see halves of different times. The
 * same is true where 16 bytes are one instruction; slot.inl explains why that is harmless. Kernels
 * that only read begin after that kernel.
 *
 * No thread waits while it holds a lock, and none holds two, so some thread always makes progress.
 * Lanes of a warp that need the same lock would depend on independent thread scheduling, which
 * every GPU from 7.0 on has. One iteration of the loop contains the whole attempt, so the code does
 * not even depend on that.
 *
 * Each file that includes this header has its own bits: the kernels of one file must make all
 * writes of a phase. They do, because a phase is one kernel.
 */
#ifndef SHERWOOD_TABLE_DEVICE_WIDE_CUH
#define SHERWOOD_TABLE_DEVICE_WIDE_CUH

#include <stdint.h>

#include "table/device/lock_bits.cuh"

/* The two halves, in memory order. */
struct sw_wide {
    uint64_t low;
    uint64_t high;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900

/* More locks than any GPU without the instructions has resident threads. */
#define SW_WIDE_LOCKS (1U << 20)

static __device__ inline uint32_t *sw_wide_locks(void)
{
    static uint32_t locks[SW_WIDE_LOCKS / 32]; /* zero at the start */
    return locks;
}

/* Stores `put` in *at if *at equals `want`, or always if ALWAYS; returns the old value. */
template <bool ALWAYS>
static __device__ inline struct sw_wide sw_wide_change(void *at, struct sw_wide want,
                                                       struct sw_wide put)
{
    uint32_t *locks = sw_wide_locks();
    const uint64_t number = (uint64_t)__cvta_generic_to_global(at) / 16 % SW_WIDE_LOCKS;
    volatile uint64_t *halves = (volatile uint64_t *)at; /* M5: changed only under the lock */
    struct sw_wide was = {};
    bool done = false;
    while (!done) {
        if (sw_try_lock_bit(locks, number)) {
            was.low = halves[0];
            was.high = halves[1];
            if (ALWAYS || (was.low == want.low && was.high == want.high)) {
                halves[0] = put.low;
                halves[1] = put.high;
            }
            sw_unlock_bit(locks, number);
            done = true;
        }
    }
    return was;
}

#endif

/* Atomic compare-and-swap: if *at equals `want`, stores `put`. Returns the old value. M6: relaxed,
 * because the 128 bits are the whole message. */
static __device__ inline struct sw_wide sw_wide_cas(void *at, struct sw_wide want,
                                                    struct sw_wide put)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return sw_wide_change<false>(at, want, put);
#else
    struct sw_wide was;
    asm volatile("{\n\t"
                 ".reg .b128 want, put, old;\n\t"
                 "mov.b128 want, {%2, %3};\n\t"
                 "mov.b128 put, {%4, %5};\n\t"
                 "atom.relaxed.gpu.global.cas.b128 old, [%6], want, put;\n\t"
                 "mov.b128 {%0, %1}, old;\n\t"
                 "}"
                 : "=l"(was.low), "=l"(was.high)
                 : "l"(want.low), "l"(want.high), "l"(put.low), "l"(put.high),
                   "l"(__cvta_generic_to_global(at))
                 : "memory");
    return was;
#endif
}

/* Atomic exchange: stores `put` in *at and returns the old value. M6: as sw_wide_cas. */
static __device__ inline struct sw_wide sw_wide_exchange(void *at, struct sw_wide put)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return sw_wide_change<true>(at, put, put);
#else
    struct sw_wide was;
    asm volatile("{\n\t"
                 ".reg .b128 put, old;\n\t"
                 "mov.b128 put, {%2, %3};\n\t"
                 "atom.relaxed.gpu.global.exch.b128 old, [%4], put;\n\t"
                 "mov.b128 {%0, %1}, old;\n\t"
                 "}"
                 : "=l"(was.low), "=l"(was.high)
                 : "l"(put.low), "l"(put.high), "l"(__cvta_generic_to_global(at))
                 : "memory");
    return was;
#endif
}

#endif
