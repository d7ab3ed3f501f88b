/* SPDX-License-Identifier: MIT
 *
 * device.cuh - functions that the kernels of tiles share: values of other lanes, locks, turns.
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

/* Prefetches a line of 128 bytes of device memory to L2. Code below compute capability 9.0
 * prefetches only the sector of 32 bytes at `line`. */
static __device__ __forceinline__ void sw_cache_prefetch_line(const uint8_t *line)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(line)) : "memory");
#else
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" : : "l"(line) : "memory");
#endif
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Returns the lock that this lane locks and unlocks. Lane 0 has the first bucket's, lane 1 the
 * second's; the other lanes get NULL. */
static __device__ __forceinline__ uint32_t *
sw_cache_my_lock(struct sw_cache_tile g, const struct sw_cache_slots *slots,
                 const struct sw_cache_candidates *candidates)
{
    if (g.lane == 0) {
        return &slots->heads[candidates->first].lock;
    }
    return g.lane == 1 && slots->two ? &slots->heads[candidates->second].lock : NULL;
}

/* Takes both locks or neither, and never waits while it holds one. A tile takes the first bucket's
 * lock first, so a tile that has a second bucket's lock has both. So of several tiles that want the
 * same buckets, at least one always makes progress. (Tiles of a warp try at the same moment, again
 * and again. If they tried both locks at once, each of two tiles might get one lock of a pair for
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
    __syncwarp(g.mask); /* M3, M5: the acquire of lanes 0 and 1 also holds for the other lanes */
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

/* State of a tile that chooses its next operation; the same in all its lanes. */
struct sw_cache_turns {
    uint32_t pending; /* bit l: the operation of lane l is not done */
    uint32_t turn;    /* the lane whose operation is tried */
    uint32_t tries;   /* failed attempts to lock since the last success or change of `turn` */
};

/* Returns the lane whose operation is tried next: the first pending one from `turn` on. */
static __device__ __forceinline__ uint32_t sw_cache_next_turn(struct sw_cache_turns *turns)
{
    uint32_t ahead = turns->pending & (0xffffffffU << turns->turn);
    turns->turn = sw_cache_first_bit(ahead != 0 ? ahead : turns->pending);
    return turns->turn;
}

/* Ends a turn. `had`: the operation got its locks. */
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
