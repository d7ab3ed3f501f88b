/* SPDX-License-Identifier: MIT
 *
 * overfull_range_sort.cuh - sorts operations of a batch stably by the number of their key slot or
 * row. So the operations with the same number are a run in array order. All blocks of a cooperative
 * launch take part.
 *
 * Memory order: every step is complete in all blocks before the next begins, by a grid barrier
 * (M4).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_OVERFULL_RANGE_SORT_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_WRITES_OVERFULL_RANGE_SORT_CUH

#include <cooperative_groups.h>

#include "table/device/reduce.cuh"
#include "table/device/runs.cuh"
#include "table/robin_hood/cuda/writes/key_slots.cuh"

/* Threads per block of the launch, and blocks per multiprocessor. The blocks wait for each other,
 * so all of them must run at once. */
#define OVERFULL_THREADS SW_RUN_BLOCK
#define OVERFULL_BLOCKS_PER_SM 2

#define DIGIT_BITS 8
#define DIGITS (1U << DIGIT_BITS)
static_assert(DIGITS == OVERFULL_THREADS, "a thread a digit");

/* The number of this thread in the grid, and the number of threads. */
struct grid_stride {
    uint64_t start;
    uint64_t step;
};

static __device__ inline struct grid_stride stride_of_thread(void)
{
    return {(uint64_t)blockIdx.x * OVERFULL_THREADS + threadIdx.x,
            (uint64_t)gridDim.x * OVERFULL_THREADS};
}

/* The input of a pass of the sort: the operations in array order, some without a key slot, or the
 * output of the pass before. */
struct unsorted {
    const uint32_t *key_slots; /* NULL: the input is `from` */
    const struct sw_overfull_operation *from;
    uint32_t count;
    __device__ struct sw_overfull_operation at(uint64_t i) const
    {
        struct sw_overfull_operation none = {NO_KEY_SLOT, 0};
        if (i >= count) {
            return none;
        }
        if (key_slots != NULL) {
            none.key_slot = key_slots[i];
            none.number = (uint32_t)i;
            return none;
        }
        return from[i];
    }
};

struct sort_memory {
    uint32_t base[DIGITS];                         /* per digit: the place of the block's next
                                                      operation */
    uint32_t warps[OVERFULL_THREADS / 32][DIGITS]; /* per warp and digit: the warp's count, later
                                                      its first place */
    uint32_t sums[OVERFULL_THREADS / 32];
};

static __device__ inline uint32_t digit_of(struct sw_overfull_operation one, uint32_t shift)
{
    return one.key_slot >> shift & (DIGITS - 1);
}

/* Sets the bounds of this block's share of the input. */
static __device__ inline void share_of(uint32_t count, uint64_t *begin, uint64_t *end)
{
    const uint64_t share = ((uint64_t)count / gridDim.x / OVERFULL_THREADS + 1) * OVERFULL_THREADS;
    *begin = share * blockIdx.x;
    *end = *begin + share < count ? *begin + share : count;
}

/* Returns the sum of `own` over the threads before this one; *all is the sum over the block. */
static __device__ inline uint32_t sum_before(uint32_t sums[OVERFULL_THREADS / 32], uint32_t own,
                                             uint32_t *all)
{
    uint32_t to_here = own;
    uint32_t before = 0;
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        uint32_t other = __shfl_up_sync(SW_WARP_ALL, to_here, distance);
        to_here += threadIdx.x % 32 >= distance ? other : 0;
    }
    __syncthreads(); /* M2: before `sums` is used again */
    if (threadIdx.x % 32 == 31) {
        sums[threadIdx.x / 32] = to_here;
    }
    __syncthreads(); /* M2: the sums of all warps */
    *all = 0;
    for (uint32_t w = 0; w < OVERFULL_THREADS / 32; w++) {
        before += w < threadIdx.x / 32 ? sums[w] : 0;
        *all += sums[w];
    }
    return before + to_here - own;
}

/* Counts the operations of this block per digit: counts[digit * blocks + block]. */
static __device__ inline void count_digits(struct sort_memory *memory, const struct unsorted &in,
                                           uint32_t shift, uint32_t *counts)
{
    uint64_t begin = 0;
    uint64_t end = 0;
    share_of(in.count, &begin, &end);
    memory->base[threadIdx.x] = 0;
    __syncthreads(); /* M2: the counts are zero */
    for (uint64_t i = begin + threadIdx.x; i < end; i += OVERFULL_THREADS) {
        const struct sw_overfull_operation one = in.at(i);
        if (one.key_slot != NO_KEY_SLOT) {
            atomicAdd(&memory->base[digit_of(one, shift)], 1U);
        }
    }
    __syncthreads(); /* M2: the counts of all threads */
    counts[threadIdx.x * gridDim.x + blockIdx.x] = memory->base[threadIdx.x];
}

/* Replaces each count by the sum of the counts of the same digit in earlier blocks, and sets
 * totals[digit] to the sum over all blocks. Blocks process digits in turn. */
static __device__ inline void sum_digits(struct sort_memory *memory, uint32_t *counts,
                                         uint32_t *totals)
{
    for (uint32_t digit = blockIdx.x; digit < DIGITS; digit += gridDim.x) {
        uint32_t sum = 0;
        for (uint32_t from = 0; from < gridDim.x; from += OVERFULL_THREADS) {
            const uint32_t b = from + threadIdx.x;
            uint32_t all = 0;
            const uint32_t own = b < gridDim.x ? counts[digit * gridDim.x + b] : 0;
            const uint32_t before = sum_before(memory->sums, own, &all);
            if (b < gridDim.x) {
                counts[digit * gridDim.x + b] = sum + before;
            }
            sum += all;
        }
        if (threadIdx.x == 0) {
            totals[digit] = sum;
        }
    }
}

/* Moves the operations of the block's share to their places. */
static __device__ inline void place_digits(struct sort_memory *memory, const struct unsorted &in,
                                           uint32_t shift, struct sw_overfull_operation *out)
{
    const uint32_t warp = threadIdx.x / 32;
    uint64_t begin = 0;
    uint64_t end = 0;
    share_of(in.count, &begin, &end);
    for (uint64_t from = begin; from < end; from += OVERFULL_THREADS) {
        const struct sw_overfull_operation one =
            in.at(from + threadIdx.x < end ? from + threadIdx.x : in.count);
        const uint32_t digit = digit_of(one, shift);
        uint32_t alike = __ballot_sync(SW_WARP_ALL, one.key_slot != NO_KEY_SLOT);
        for (uint32_t b = 0; b < DIGIT_BITS; b++) {
            const uint32_t set = __ballot_sync(SW_WARP_ALL, digit >> b & 1);
            alike &= (digit >> b & 1) != 0 ? set : ~set;
        }
        const uint32_t rank = (uint32_t)__popc(alike & ((1U << threadIdx.x % 32) - 1));
        for (uint32_t w = 0; w < OVERFULL_THREADS / 32; w++) {
            memory->warps[w][threadIdx.x] = 0;
        }
        __syncthreads(); /* M2: zero before they are set */
        if (one.key_slot != NO_KEY_SLOT && rank == 0) {
            memory->warps[warp][digit] = (uint32_t)__popc(alike);
        }
        __syncthreads(); /* M2: the counts of all warps */
        for (uint32_t w = 0; w < OVERFULL_THREADS / 32; w++) {
            const uint32_t here = memory->warps[w][threadIdx.x];
            memory->warps[w][threadIdx.x] = memory->base[threadIdx.x];
            memory->base[threadIdx.x] += here;
        }
        __syncthreads(); /* M2: the places */
        if (one.key_slot != NO_KEY_SLOT) {
            out[memory->warps[warp][digit] + rank] = one;
        }
        __syncthreads(); /* M2: all reads before the next round zeroes `warps` */
    }
}

/* Runs one pass of the sort, by DIGIT_BITS bits of the key slots' numbers. Returns the number of
 * operations. */
static __device__ inline uint32_t sort_pass(struct sort_memory *memory, const struct unsorted &in,
                                            uint32_t shift, uint32_t *counts,
                                            struct sw_overfull_operation *out)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    uint32_t *totals = counts + DIGITS * gridDim.x;
    uint32_t all = 0;
    count_digits(memory, in, shift, counts);
    grid.sync(); /* M4: counts of all blocks */
    sum_digits(memory, counts, totals);
    grid.sync(); /* M4: totals of all digits */
    const uint32_t before = sum_before(memory->sums, totals[threadIdx.x], &all);
    memory->base[threadIdx.x] = before + counts[threadIdx.x * gridDim.x + blockIdx.x];
    __syncthreads(); /* M2: base[] of all digits */
    place_digits(memory, in, shift, out);
    grid.sync(); /* M4: the pass is complete */
    return all;
}

#endif
