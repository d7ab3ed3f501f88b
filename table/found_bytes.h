/* SPDX-License-Identifier: MIT
 *
 * found_bytes.h - `found` of a batch of reads as a byte for each operation.
 *
 * The bytes are 0 or 1, in device memory, with zeros up to a multiple of 8. sw_batch.found then has
 * their address, a multiple of 8, plus 1. Only backends that import device memory take such an
 * address, and only for GET and PEEK; sw_batch_submit returns SW_E_INVALID otherwise.
 */
#ifndef SHERWOOD_TABLE_FOUND_BYTES_H
#define SHERWOOD_TABLE_FOUND_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SW_FOUND_INLINE static __host__ __device__ inline
#else
#define SW_FOUND_INLINE static inline
#endif

#define SW_FOUND_BYTES 1U

SW_FOUND_INLINE uint64_t *sw_found_as_bytes(void *bytes)
{
    return (uint64_t *)((uintptr_t)bytes | SW_FOUND_BYTES);
}
SW_FOUND_INLINE bool sw_found_is_bytes(const uint64_t *found)
{
    return ((uintptr_t)found & SW_FOUND_BYTES) != 0;
}

/* Returns eight bytes, the lowest first, for the eight bits of a byte. */
SW_FOUND_INLINE uint64_t sw_bits_to_bytes(uint32_t bits)
{
    /* each multiplication puts bit i of a half at bit 8 * i, and the mask drops the rest */
    const uint32_t low = (bits & 15) * 0x204081U & 0x01010101U;
    const uint32_t high = (bits >> 4 & 15) * 0x204081U & 0x01010101U;
    return (uint64_t)high << 32 | low;
}

#endif
