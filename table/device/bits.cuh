/* SPDX-License-Identifier: MIT
 *
 * bits.cuh - bit arrays with one bit per operation of a batch: `found` and `not_admitted`. Reads
 * may want `found` as bytes (found_bytes.h).
 *
 * Adjacent threads of a block store adjacent words: each store of a warp to host memory is a packet
 * on the bus.
 */
#ifndef SHERWOOD_TABLE_DEVICE_BITS_CUH
#define SHERWOOD_TABLE_DEVICE_BITS_CUH

#include "table/device/reduce.cuh"
#include "table/found_bytes.h"

/* Stores the bits as bytes, eight at once: neighbours store neighbouring bytes. The arguments are
 * those of sw_bits_store. */
static __device__ inline void sw_bytes_store(uint8_t *bytes, uint32_t count, uint32_t first,
                                             const uint32_t *block_bits, uint32_t words)
{
    for (uint32_t e = threadIdx.x; e < words * 4 && first + e * 8 < count; e += blockDim.x) {
        const uint32_t bits = block_bits[e / 4] >> (e % 4 * 8);
        *(uint64_t *)(bytes + first + e * 8) = sw_bits_to_bytes(bits);
    }
}

/* Stores the `words` 32-bit words of the operations from `first` on (a multiple of 32) into
 * `halves`. These are the 64-bit words of a batch of `count` operations, low half first. The last
 * 64-bit word ends in zeros; its upper half may belong to no block. Every thread of the block must
 * call it. The function reads block_bits, which is in shared memory, after a barrier. */
static __device__ inline void sw_bits_store(uint32_t *halves, uint32_t count, uint32_t first,
                                            const uint32_t *block_bits, uint32_t words)
{
    __syncthreads(); /* M2: the bits of all warps */
    if (sw_found_is_bytes((const uint64_t *)halves)) {
        sw_bytes_store((uint8_t *)((uintptr_t)halves - SW_FOUND_BYTES), count, first, block_bits,
                       words);
        return;
    }
    const uint32_t at = first / 32;
    const uint32_t end = (count + 63) / 64 * 2;
    for (uint32_t w = threadIdx.x; w < words && at + w < end; w += blockDim.x) {
        halves[at + w] = block_bits[w];
    }
    if (threadIdx.x == 0 && (at + words) * 32 >= count && at + words < end) {
        halves[at + words] = 0;
    }
}

/* The same for a block of THREADS threads with one operation each, from `first` on. `is` is the bit
 * of this thread's operation. `halves` may be NULL. */
template <uint32_t THREADS>
static __device__ inline void sw_bits_answer(uint32_t *halves, uint32_t count, uint32_t first,
                                             bool is)
{
    __shared__ uint32_t block_bits[THREADS / 32];
    const uint32_t word = __ballot_sync(SW_WARP_ALL, is);
    if (halves == NULL) { /* the same in all threads */
        return;
    }
    __syncthreads(); /* M2: the bits of the last call have been read */
    if (threadIdx.x % 32 == 0) {
        block_bits[threadIdx.x / 32] = word;
    }
    sw_bits_store(halves, count, first, block_bits, THREADS / 32);
}

#endif
