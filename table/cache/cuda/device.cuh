/* SPDX-License-Identifier: MIT
 *
 * device.cuh - what kernels of tiles share: the keys of a warp, locks, turns.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_DEVICE_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_DEVICE_CUH

#include "table/cache/cuda/launch.cuh"
#include "table/cache/cuda/locks.cuh"
#include "table/cache/operate.inl"

static __device__ __forceinline__ uint64_t sw_cache_from_wide(struct sw_cache_tile g,
                                                              uint64_t value, uint32_t lane)
{
    return __shfl_sync(g.mask, value, (int)lane, SW_CACHE_LANES);
}

/* Brings the 128 bytes of a line nearer: device memory. In older code the 32 that are asked for. */
static __device__ __forceinline__ void sw_cache_prefetch_line(const uint8_t *line)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(line)) : "memory");
#else
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" : : "l"(line) : "memory");
#endif
}

/* --- locks ------------------------------------------------------------------------------------ */

/* The lock that this lane takes and gives back: lane 0 the first bucket's, lane 1 the second's. */
static __device__ __forceinline__ uint32_t *
sw_cache_my_lock(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                 const struct sw_cache_candidates *candidates)
{
    if (g.lane == 0) {
        return &slots->heads[candidates->first].lock;
    }
    return g.lane == 1 && slots->two ? &slots->heads[candidates->second].lock : NULL;
}

/* Takes both locks or neither, and never waits: no tile waits while it holds one. The first
 * bucket's lock comes first, so a tile that has a second bucket's lock has both: of tiles that want
 * each other's buckets at least one always goes on. (Tiles of a warp try at the same moment, again
 * and again: if they tried both at once, two that want the same pair might get one each for
 * ever.) */
static __device__ __forceinline__ bool sw_cache_try_locks(struct sw_cache_tile g, uint32_t *lock)
{
    bool taken = g.lane == 0 && sw_cache_try_lock(lock);
    if (sw_cache_ballot(g, taken) == 0) {
        return false;
    }
    taken = taken || (g.lane == 1 && lock != NULL && sw_cache_try_lock(lock));
    bool all = sw_cache_ballot(g, lock != NULL && !taken) == 0;
    if (!all && taken) {
        sw_cache_unlock(lock);
    }
    __syncwarp(g.mask); /* M3, M5: what lanes 0 and 1 acquired, the others see too */
    return all;
}

static __device__ __forceinline__ void sw_cache_leave_locks(struct sw_cache_tile g, uint32_t *lock)
{
    __syncwarp(g.mask); /* M3, M5: the stores of all lanes come before the release */
    if (lock != NULL) {
        sw_cache_unlock(lock);
    }
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Attempts of a tile to lock the buckets of one operation before it tries its next operation. With
 * fewer attempts, operations on a contended bucket would come last, when others have filled it:
 * fewer entries would find room. */
#define SW_CACHE_TRIES 32U

/* The next of a tile's operations; the same in all its lanes. */
struct sw_cache_turns {
    uint32_t pending; /* bit l: the operation of lane l is not done */
    uint32_t turn;    /* the lane whose operation is tried */
    uint32_t tries;   /* failed attempts to lock since the last success or change of `turn` */
};

/* The lane whose operation is to be tried: the first pending one from `turn` on. */
static __device__ __forceinline__ uint32_t sw_cache_next_turn(struct sw_cache_turns *turns)
{
    uint32_t ahead = turns->pending & (0xffffffffU << turns->turn);
    turns->turn = sw_cache_first_bit(ahead != 0 ? ahead : turns->pending);
    return turns->turn;
}

/* Ends a turn, whether the operation had its locks or not. */
static __device__ __forceinline__ void sw_cache_end_turn(struct sw_cache_turns *turns, bool had)
{
    turns->tries = had ? 0 : turns->tries + 1;
    if (had || turns->tries == SW_CACHE_TRIES) {
        turns->turn = (turns->turn + 1) % SW_CACHE_LANES;
        turns->tries = 0;
    }
}

/* Pauses briefly. All lanes of a warp call it if no tile of the warp got its locks. */
static __device__ __forceinline__ void sw_cache_pause()
{
    __nanosleep(100 + 37 * (blockIdx.x % 8));
}

#endif
