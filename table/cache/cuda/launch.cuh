/* SPDX-License-Identifier: MIT
 *
 * launch.cuh - a batch as its kernels see it, and its counters.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_LAUNCH_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>

#include "table/cache/slots.h"
#include "table/cache/work.h"

#define SW_CACHE_THREADS 256

/* Pieces of a batch at most, up to five kernels each: more would fill the queue of launches, and
 * make the one who submits the batch wait. */
#define SW_CACHE_PIECES_MAX 128U

/* Numbers of a batch while it runs, one set a stream; all zero between batches. */
struct sw_cache_tally {
    struct sw_cache_counters counters;
    uint64_t listed; /* entries evicted or exported */
    uint32_t blocks; /* blocks that are done */
};

/* Where a batch's numbers go when its last block is done; each may be NULL. */
struct sw_cache_totals {
    struct sw_cache_counters *cache; /* of all batches: device memory */
    struct sw_cache_counters *batch;
    uint64_t *listed;
    bool keep; /* leave the tally as it is, for what comes after on the stream */
};

struct sw_cache_launch {
    struct sw_cache_slots slots;
    struct sw_cache_work work;
    struct sw_cache_tally *tally;
    struct sw_cache_totals totals;
};

/* Launchers. They enqueue one kernel, write as many as there are pieces. */
cudaError_t sw_cache_launch_read(const struct sw_cache_launch *launch, cudaStream_t stream);
cudaError_t sw_cache_launch_write(const struct sw_cache_launch *launch, cudaStream_t stream);
/* Of the batch only operations first + ids[i], i < *count: device memory. */
cudaError_t sw_cache_launch_write_some(const struct sw_cache_launch *launch, const uint32_t *ids,
                                       const uint32_t *count, uint64_t first, cudaStream_t stream);
cudaError_t sw_cache_launch_list(const struct sw_cache_launch *launch,
                                 const struct sw_cache_export *what, uint32_t key_bytes,
                                 cudaStream_t stream);
/* Empties every bucket; counts what was held as erased, in totals.cache and totals.batch. */
cudaError_t sw_cache_launch_clear(const struct sw_cache_launch *launch, cudaStream_t stream);

/* Blocks of SW_CACHE_THREADS for `count` threads, at least one: the last block ends the batch. */
static inline uint32_t sw_cache_blocks(uint64_t count)
{
    return count == 0 ? 1 : (uint32_t)((count + SW_CACHE_THREADS - 1) / SW_CACHE_THREADS);
}

/* What a block counts and how it ends costs more than 256 look-ups. So batches that look up have at
 * most so many blocks, as many as 132 multiprocessors hold at a time, and a block carries out one
 * stretch of SW_CACHE_THREADS operations after another. */
#define SW_CACHE_LOOK_UP_BLOCKS 528U

static inline uint32_t sw_cache_look_up_blocks(uint64_t count)
{
    uint32_t blocks = sw_cache_blocks(count);
    return blocks < SW_CACHE_LOOK_UP_BLOCKS ? blocks : SW_CACHE_LOOK_UP_BLOCKS;
}

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

/* Hands the numbers over and leaves zeros; by one thread, after all that was added to the tally. */
static __device__ void sw_cache_end_batch(struct sw_cache_tally *tally,
                                          const struct sw_cache_totals *totals)
{
    if (totals->keep) {
        return;
    }
    struct sw_cache_counters counters;
    counters.hits = __ldcg(&tally->counters.hits);
    counters.misses = __ldcg(&tally->counters.misses);
    counters.inserted = __ldcg(&tally->counters.inserted);
    counters.erased = __ldcg(&tally->counters.erased);
    counters.evicted = __ldcg(&tally->counters.evicted);
    counters.not_admitted = __ldcg(&tally->counters.not_admitted);
    sw_cache_add_counters(totals->cache, &counters);
    sw_cache_add_counters(totals->batch, &counters);
    if (totals->listed != NULL) {
        *totals->listed = __ldcg(&tally->listed);
    }
    *tally = sw_cache_tally();
}

/* Ends a block, by one of its threads, after what the block added to the tally. The last one ends
 * the batch. */
static __device__ void sw_cache_end_block(struct sw_cache_tally *tally,
                                          const struct sw_cache_totals *totals)
{
    if (totals->keep) {
        return;
    }
    __threadfence();
    if (atomicAdd(&tally->blocks, 1) == gridDim.x - 1) {
        __threadfence();
        sw_cache_end_batch(tally, totals);
    }
}

/* Adds how often each result was to the tally. One thread. */
static __device__ __forceinline__ void sw_cache_add_results(struct sw_cache_tally *tally,
                                                            const uint32_t *counts, bool erases)
{
    struct sw_cache_counters sum;
    sum.hits = counts[SW_CACHE_HIT];
    sum.evicted = counts[SW_CACHE_REPLACED];
    sum.inserted = sum.evicted + counts[SW_CACHE_INSERTED];
    sum.not_admitted = counts[SW_CACHE_REFUSED];
    sum.misses = counts[SW_CACHE_MISS] + sum.inserted + sum.not_admitted;
    sum.erased = erases ? sum.hits : 0;
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
    __syncthreads();
}

static __device__ __forceinline__ void sw_cache_close_counts(struct sw_cache_tally *tally,
                                                             const uint32_t *counts, bool erases)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        sw_cache_add_results(tally, counts, erases);
    }
}

/* Counts what the threads of a block looked up. All threads. */
static __device__ void sw_cache_count_look_ups(struct sw_cache_tally *tally, uint32_t hits,
                                               uint32_t misses, bool erases)
{
    __shared__ uint32_t counts[SW_CACHE_RESULTS];
    sw_cache_open_counts(counts);
    hits = __reduce_add_sync(0xffffffffU, hits);
    misses = __reduce_add_sync(0xffffffffU, misses);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&counts[SW_CACHE_HIT], hits);
        atomicAdd(&counts[SW_CACHE_MISS], misses);
    }
    sw_cache_close_counts(tally, counts, erases);
}

/* The results of a block's threads, one each (`none`: it has none), counted. All threads. */
static __device__ void sw_cache_count_results(struct sw_cache_tally *tally, uint32_t result,
                                              bool none, bool erases)
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
    sw_cache_close_counts(tally, counts, erases);
}

#endif
