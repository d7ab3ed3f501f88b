/* SPDX-License-Identifier: MIT
 *
 * device.cuh - what the cache's kernels share: counters of a batch, a warp's keys, locks.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_DEVICE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_DEVICE_CUH

#include <cuda_runtime.h>

#include "table/cache/operate.inl"

#define SW_CACHE_THREADS 256

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

/* Launchers. They enqueue one kernel. */
cudaError_t sw_cache_launch_read(const struct sw_cache_launch *launch, cudaStream_t stream);
cudaError_t sw_cache_launch_write(const struct sw_cache_launch *launch, cudaStream_t stream);
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

/* Ends a block, by one of its threads, after what the block added to the tally. The last one hands
 * the numbers over and leaves zeros. */
static __device__ void sw_cache_end_block(struct sw_cache_tally *tally,
                                          const struct sw_cache_totals *totals)
{
    if (totals->keep) {
        return;
    }
    __threadfence();
    if (atomicAdd(&tally->blocks, 1) != gridDim.x - 1) {
        return;
    }
    __threadfence();
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

/* The results of a block's threads, one each (`none`: it has none), counted. All threads. */
static __device__ void sw_cache_count_results(struct sw_cache_tally *tally, uint32_t result,
                                              bool none, bool erases)
{
    __shared__ uint32_t counts[SW_CACHE_REFUSED + 1];
    if (threadIdx.x <= SW_CACHE_REFUSED) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    SW_CACHE_UNROLL
    for (uint32_t kind = 0; kind <= SW_CACHE_REFUSED; kind++) {
        uint32_t lanes = __ballot_sync(0xffffffffU, !none && result == kind);
        if (threadIdx.x % 32 == 0 && lanes != 0) {
            atomicAdd(&counts[kind], (uint32_t)__popc(lanes));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        struct sw_cache_counters sum;
        sum.hits = counts[SW_CACHE_HIT];
        sum.evicted = counts[SW_CACHE_REPLACED];
        sum.inserted = sum.evicted + counts[SW_CACHE_INSERTED];
        sum.not_admitted = counts[SW_CACHE_REFUSED];
        sum.misses = counts[SW_CACHE_MISS] + sum.inserted + sum.not_admitted;
        sum.erased = erases ? sum.hits : 0;
        sw_cache_add_counters(&tally->counters, &sum);
    }
}

static __device__ __forceinline__ struct sw_cache_group sw_cache_my_group()
{
    struct sw_cache_group g;
    uint32_t lane = threadIdx.x % 32;
    g.lane = lane % SW_CACHE_LANES;
    g.shift = lane - g.lane;
    g.mask = ((1U << SW_CACHE_LANES) - 1) << g.shift;
    return g;
}

static __device__ __forceinline__ uint64_t sw_cache_from_wide(struct sw_cache_group g,
                                                              uint64_t value, uint32_t lane)
{
    return __shfl_sync(g.mask, value, (int)lane, SW_CACHE_LANES);
}

/* Brings the 128 bytes of a line nearer: device memory. */
static __device__ __forceinline__ void sw_cache_prefetch_line(const uint8_t *line)
{
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" : : "l"(line) : "memory");
}

/* --- locks ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ bool sw_cache_try_lock(uint32_t *lock)
{
    uint32_t before;
    asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                 : "=r"(before)
                 : "l"(lock)
                 : "memory");
    return before == 0;
}

static __device__ __forceinline__ void sw_cache_unlock(uint32_t *lock)
{
    asm volatile("st.release.gpu.global.u32 [%0], 0;" : : "l"(lock) : "memory");
}

/* The lock that this lane takes and gives back: lane 0 the first bucket's, lane 1 the second's. */
static __device__ __forceinline__ uint32_t *sw_cache_my_lock(struct sw_cache_group g,
                                                             const struct sw_cache_slots *slots,
                                                             const struct sw_cache_home *home)
{
    if (g.lane == 0) {
        return &slots->heads[home->first].lock;
    }
    return g.lane == 1 && slots->two ? &slots->heads[home->second].lock : NULL;
}

/* Takes both locks or neither, and never waits: nobody waits holding one. */
static __device__ __forceinline__ bool sw_cache_try_home(struct sw_cache_group g, uint32_t *lock)
{
    bool taken = lock != NULL && sw_cache_try_lock(lock);
    bool all = sw_cache_ballot(g, lock != NULL && !taken) == 0;
    if (!all && taken) {
        sw_cache_unlock(lock);
    }
    __syncwarp(g.mask);
    return all;
}

static __device__ __forceinline__ void sw_cache_leave_home(struct sw_cache_group g, uint32_t *lock)
{
    __syncwarp(g.mask);
    if (lock != NULL) {
        sw_cache_unlock(lock);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

/* How often a group asks for the locks of one operation before it goes on with its next. If it went
 * on at once, whatever wants a bucket that many want would come last, when others have filled
 * that bucket: fewer entries would find room. */
#define SW_CACHE_TRIES 32U

/* Which of a group's operations comes next: the same in all its lanes. */
struct sw_cache_turns {
    uint32_t pending; /* bit l: that of lane l is not done */
    uint32_t turn;    /* the lane whose operation is tried */
    uint32_t tries;   /* how often that was in vain */
};

/* The lane whose operation is to be tried: the first pending one from `turn` on. */
static __device__ __forceinline__ uint32_t sw_cache_next_turn(struct sw_cache_turns *turns)
{
    uint32_t ahead = turns->pending & (0xffffffffU << turns->turn);
    turns->turn = sw_cache_first_bit(ahead != 0 ? ahead : turns->pending);
    return turns->turn;
}

/* After the operation whose turn it was had its locks or not. */
static __device__ __forceinline__ void sw_cache_end_turn(struct sw_cache_turns *turns, bool had)
{
    turns->tries = had ? 0 : turns->tries + 1;
    if (had || turns->tries == SW_CACHE_TRIES) {
        turns->turn = (turns->turn + 1) % SW_CACHE_LANES;
        turns->tries = 0;
    }
}

/* All lanes of a warp, of which no group had its locks: do not ask again at once. */
static __device__ __forceinline__ void sw_cache_pause()
{
    __nanosleep(100 + 37 * (blockIdx.x % 8));
}

#endif
