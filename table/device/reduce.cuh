/* SPDX-License-Identifier: MIT
 *
 * reduce.cuh - sums over warps and blocks, and detection of a grid's last block.
 */
#ifndef SHERWOOD_TABLE_DEVICE_REDUCE_CUH
#define SHERWOOD_TABLE_DEVICE_REDUCE_CUH

#include "table/device/record.cuh"
#include "table/device/warp_reduce.cuh"

/* Threads of a block, unless a kernel defines another number. */
#define SW_CUDA_BLOCK 256

#define SW_WARP_ALL 0xffffffffU

/* Returns the sum over a warp, valid in lane 0. Every lane must call it. */
static __device__ inline uint64_t sw_warp_sum(uint64_t x)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        x += __shfl_down_sync(SW_WARP_ALL, x, offset);
    }
    return x;
}

/* Adds x of every thread to *total, with one atomic per warp that has anything to add (M6). */
static __device__ inline void sw_warp_add(uint64_t *total, uint64_t x)
{
    uint64_t sum = sw_warp_sum(x);
    if (threadIdx.x % 32 == 0 && sum != 0) {
        atomicAdd((unsigned long long *)total, (unsigned long long)sum);
    }
}

/* The same with one atomic per block, for kernels whose many warps would contend for *total. Every
 * thread of the block must call it. */
static __device__ inline void sw_block_add(uint64_t *total, uint64_t x)
{
    __shared__ unsigned long long block;
    if (threadIdx.x == 0) {
        block = 0;
    }
    __syncthreads(); /* M2: the sum is zero */
    uint64_t sum = sw_warp_sum(x);
    if (threadIdx.x % 32 == 0 && sum != 0) {
        atomicAdd(&block, (unsigned long long)sum);
    }
    __syncthreads(); /* M2: the sums of all warps */
    if (threadIdx.x == 0 && block != 0) {
        atomicAdd((unsigned long long *)total, block);
    }
    __syncthreads(); /* M2: all warps have added before the next call clears the sum */
}

/* Appends to a list of length *length: returns to each thread with `want` its own index (M8). Every
 * lane must call it. Only later kernels read the length (M1). */
static __device__ inline uint32_t sw_list_append(uint32_t *length, bool want)
{
    uint32_t lane = threadIdx.x % 32;
    uint32_t wanting = __ballot_sync(SW_WARP_ALL, want);
    uint32_t base = 0;
    if (lane == 0 && wanting != 0) {
        base = atomicAdd(length, (uint32_t)__popc(wanting));
    }
    base = __shfl_sync(SW_WARP_ALL, base, 0);
    return base + (uint32_t)__popc(wanting & ((1U << lane) - 1));
}

/* Returns true in all threads of the last of `blocks` blocks that call it. The earlier writes of
 * the other blocks are visible to that block and, once it has written the record, to the host (M7).
 * *blocks_done is zero before; the caller resets it to zero. Every thread of each of these blocks
 * must call it exactly once. */
static __device__ inline bool sw_last_block(unsigned int *blocks_done, unsigned int blocks)
{
    __shared__ bool last;
    __syncthreads(); /* M2: all threads of the block have made their stores before thread 0 fences
                        them */
    if (threadIdx.x == 0) {
        __threadfence_system(); /* M7: the stores of the block come before its count, at system
                                   scope */
        last = atomicAdd(blocks_done, 1U) == blocks - 1;
        __threadfence_system(); /* M7: the last block has seen all counts before it loads what the
                                   blocks wrote */
    }
    __syncthreads(); /* M2: `last` */
    return last;
}

/* M7: reports to the host that a batch is done. One thread calls it; that thread, or threads of its
 * block before a barrier, have written the rest of the record. */
static __device__ inline void sw_record_done(struct sw_cuda_record *record, uint64_t ticket)
{
    __threadfence_system();
    *(volatile uint64_t *)&record->done = ticket;
}

#endif
