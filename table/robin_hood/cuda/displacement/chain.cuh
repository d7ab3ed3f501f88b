/* SPDX-License-Identifier: MIT
 *
 * chain.cuh - displacement chains: lock ranges, and a step of a chain into the next one.
 *
 * Lock ranges, and why chains always end: displace.cu.
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_CHAIN_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_DISPLACEMENT_CHAIN_CUH

#include "table/device/lock_bits.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/displacement/displace.cuh"

static __device__ inline void prefetch(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(at)) : "memory");
}

/* The state of a chain. All its LANES threads have the same copy. */
template <int BITS> struct chain {
    typename sw_width<BITS>::slot
        carried;         /* inserts: the entry to be placed; removals: m is the key to be removed */
    uint64_t lock_range; /* number of the next lock range to step into, in its array */
    uint64_t home;       /* first bucket that the carried entry may enter */
    bool active;
    bool in_stash;
    bool holds; /* the chain holds the lock of the range before. Inserts: `carried` came from
                   there. Removals: there is a hole to fill */
};

/* One lane's view of the lock range that its chain stepped into. */
template <int BITS> struct step {
    typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS];
    typename sw_width<BITS>::slot *bucket;
    uint64_t number; /* number of the bucket */
    uint64_t lock;   /* number of the lock, counted over both arrays */
    bool stepped;    /* the lock was acquired */
    bool inside;     /* the lock was acquired, and the array has this bucket */
};

/* Returns the lowest lane of the chain for which `yes` holds, or LANES if no lane has it. All lanes
 * of the warp must call it. */
static __device__ inline int first_lane(bool yes)
{
    uint32_t all = __ballot_sync(SW_WARP_ALL, yes) >> (threadIdx.x % 32 / LANES * LANES);
    uint32_t own = all & ((1U << LANES) - 1);
    return own != 0 ? __ffs((int)own) - 1 : LANES;
}

template <int BITS>
static __device__ inline typename sw_width<BITS>::slot
slot_of_lane(typename sw_width<BITS>::slot slot, int lane)
{
    slot.m = __shfl_sync(SW_WARP_ALL, slot.m, lane, LANES);
    if constexpr (!sw_width<BITS>::is_set) {
        slot.value = __shfl_sync(SW_WARP_ALL, slot.value, lane, LANES);
    }
    return slot;
}

/* Returns held[index], or an EMPTY slot for -1. Selects instead of indexing, so that the bucket
 * stays in registers. */
template <int BITS>
static __device__ inline typename sw_width<BITS>::slot
slot_at(const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS], int index)
{
    typename sw_width<BITS>::slot slot;
    slot.m = sw_width<BITS>::empty;
    sw_width<BITS>::put_value(&slot, sw_width<BITS>::empty);
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (i == index) {
            slot = held[i];
        }
    }
    return slot;
}

/* Tries to lock the next lock range. If that succeeds, reads its buckets. */
template <int BITS>
static __device__ inline struct step<BITS> step_into(const struct sw_cuda_device<BITS> &device,
                                                     const struct chain<BITS> &chain) {
    typedef sw_width<BITS> W;
    const uint32_t lane = threadIdx.x % LANES;
    const typename W::view *view = chain.in_stash ? &device.table.stash : &device.table.main;
    struct step<BITS> step;
    uint64_t first = chain.in_stash ? (device.table.main.buckets_total + LANES - 1) / LANES : 0;
    bool stepped = false;
    step.lock = first + chain.lock_range;
    step.number = chain.lock_range * LANES + lane;
    step.bucket = view->slots + step.number * SW_BUCKET_SLOTS;
    if (chain.active && step.number < view->buckets_total) {
        prefetch(step.bucket); /* its latency overlaps the lock's; only a hint, nothing relies on
                                  it */
    }
    if (chain.active && lane == 0) {
        stepped = sw_try_lock_bit(device.locks, step.lock);
    }
    step.stepped = __shfl_sync(SW_WARP_ALL, stepped, 0, LANES);
    __syncwarp(); /* M3, M5: lane 0's acquire also holds for the other lanes */
    step.inside = step.stepped && step.number < view->buckets_total;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        step.held[i].m = W::empty;
        W::put_value(&step.held[i], W::empty);
    }
    if (step.inside) {
        W::bucket_read(view, step.number, step.held);
    }
    return step;
}

/* Ends a step of an insert or a removal. Releases the lock of the range before and, unless the
 * chain keeps it (`keeps`), the lock of its own range. */
template <int BITS>
static __device__ inline void step_out(const struct sw_cuda_device<BITS> &device,
                                       struct chain<BITS> *chain, const struct step<BITS> &step,
                                       bool keeps)
{
    __syncwarp(); /* M3, M5: the stores of all lanes come before lane 0's release */
    if (step.stepped && threadIdx.x % LANES == 0) {
        if (chain->holds) {
            sw_unlock_bit(device.locks, step.lock - 1);
        }
        if (!keeps) {
            sw_unlock_bit(device.locks, step.lock);
        }
    }
    if (step.stepped) {
        chain->holds = keeps;
    }
}

#endif
