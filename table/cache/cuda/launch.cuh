/* SPDX-License-Identifier: MIT
 *
 * launch.cuh - sizes of launches, and the counters of kernels.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_LAUNCH_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

#include "table/cache/slots.h"

#define SW_CACHE_THREADS 256

/* Maximum pieces of a batch, with up to five kernels each. More would fill the launch queue, and
 * the submitting thread would wait. */
#define SW_CACHE_PIECES_MAX 128U

/* Numbers of a batch while it runs; all zero between batches. */
struct sw_cache_tally {
    struct sw_cache_counters counters; /* counters of SETs in MEMORY mode (rows.cuh) */
    uint64_t listed;                   /* entries evicted, scanned or counted */
};

/* Entries of the slots [first, first + slots) with score_min <= score <= score_max, for which the
 * arrays have room; values and scores may be NULL. */
struct sw_cache_window {
    uint64_t first;
    uint64_t slots;
    uint64_t score_min;
    uint64_t score_max;
    void *keys;
    void *values;
    uint64_t *scores;
};

/* Launches a kernel that lists entries, with keys of key_bytes, and adds their number to
 * tally->listed. */
cudaError_t sw_cache_launch_list(const struct sw_cache_slots *slots, struct sw_cache_tally *tally,
                                 const struct sw_cache_window *what, uint32_t key_bytes,
                                 cudaStream_t stream);
/* Launches a kernel that empties every bucket. Counts the entries as erased in `totals` and, unless
 * it is NULL, in `cleared`. */
cudaError_t sw_cache_launch_clear(const struct sw_cache_slots *slots,
                                  struct sw_cache_counters *totals,
                                  struct sw_cache_counters *cleared, cudaStream_t stream);

/* Returns the blocks of SW_CACHE_THREADS for `count` threads. There is at least one block, because
 * the last block ends the batch. */
static inline uint32_t sw_cache_blocks(uint64_t count)
{
    return count == 0 ? 1 : (uint32_t)((count + SW_CACHE_THREADS - 1) / SW_CACHE_THREADS);
}

/* Counting and ending a block costs more than 256 look-ups. So a batch of look-ups has at most this
 * number of blocks, which 132 multiprocessors hold at once, and each block executes several groups
 * of SW_CACHE_THREADS operations. */
#define SW_CACHE_LOOK_UP_BLOCKS 528U

static inline uint32_t sw_cache_look_up_blocks(uint64_t count)
{
    uint32_t blocks = sw_cache_blocks(count);
    return blocks < SW_CACHE_LOOK_UP_BLOCKS ? blocks : SW_CACHE_LOOK_UP_BLOCKS;
}

/* Adds a number to a sum. M6: the word is the sum. */
static __device__ __forceinline__ void sw_cache_add_to(uint64_t *sum, uint64_t number)
{
    if (number != 0) {
        atomicAdd((unsigned long long *)sum, (unsigned long long)number);
    }
}

static __device__ __forceinline__ void sw_cache_add_counters(struct sw_cache_counters *sum,
                                                             const struct sw_cache_counters *more)
{
    if (sum != NULL) {
        sw_cache_add_to(&sum->hits, more->hits);
        sw_cache_add_to(&sum->misses, more->misses);
        sw_cache_add_to(&sum->inserted, more->inserted);
        sw_cache_add_to(&sum->erased, more->erased);
        sw_cache_add_to(&sum->evicted, more->evicted);
        sw_cache_add_to(&sum->not_admitted, more->not_admitted);
    }
}

/* Adds the number of operations with each result to the tally. One thread. */
static __device__ __forceinline__ void sw_cache_add_results(struct sw_cache_tally *tally,
                                                            const uint32_t *counts)
{
    struct sw_cache_counters sum;
    sum.hits = counts[SW_CACHE_HIT];
    sum.evicted = counts[SW_CACHE_REPLACED];
    sum.inserted = sum.evicted + counts[SW_CACHE_INSERTED];
    sum.not_admitted = counts[SW_CACHE_REFUSED];
    sum.misses = counts[SW_CACHE_MISS] + sum.inserted + sum.not_admitted;
    sum.erased = 0;
    sw_cache_add_counters(&tally->counters, &sum);
}

/* Begins and ends the counting of a block's results: counts[SW_CACHE_RESULTS] is shared memory. All
 * threads. */
#define SW_CACHE_RESULTS (SW_CACHE_REFUSED + 1)
static __device__ __forceinline__ void sw_cache_open_counts(uint32_t *counts)
{
    if (threadIdx.x < SW_CACHE_RESULTS) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads(); /* M2: the counts are zero */
}

static __device__ __forceinline__ void sw_cache_close_counts(struct sw_cache_tally *tally,
                                                             const uint32_t *counts)
{
    __syncthreads(); /* M2: the counts of all threads */
    if (threadIdx.x == 0) {
        sw_cache_add_results(tally, counts);
    }
}

/* Counts the results of a block's threads, one each (`none`: the thread has none). All threads. M6:
 * each count is a sum. */
static __device__ void sw_cache_count_results(struct sw_cache_tally *tally, uint32_t result,
                                              bool none)
{
    __shared__ uint32_t counts[SW_CACHE_RESULTS];
    sw_cache_open_counts(counts);
#pragma unroll
    for (uint32_t kind = 0; kind < SW_CACHE_RESULTS; kind++) {
        uint32_t lanes = __ballot_sync(0xffffffffU, !none && result == kind);
        if (threadIdx.x % 32 == 0 && lanes != 0) {
            atomicAdd(&counts[kind], (uint32_t)__popc(lanes));
        }
    }
    sw_cache_close_counts(tally, counts);
}

#endif
