/* SPDX-License-Identifier: MIT
 *
 * displace.cu - inserts absent keys and removes present keys: the part of a write that moves other
 * entries.
 *
 * An insert moves one entry from each bucket to the next until a bucket has room. A removal moves
 * one entry back from each bucket until a bucket has no displaced entry. This is a displacement
 * chain. One thread carries out a chain of a few buckets (displace_short.cu). LANES threads carry
 * out a longer chain, in this file.
 *
 * A lock range has LANES neighbouring buckets and one lock, a bit. LANES threads process a lock
 * range in one step: each has one bucket in registers, and entries move from lane to lane. A chain
 * that continues in the next lock range acquires that lock before it releases its own
 * (hand-over-hand locking: Bayer and Schkolnick, 1977). So no chain passes another. The result is
 * as if the chains ran one after the other, and the table is canonical after each. A chain that
 * holds a lock waits only for the next lock to the right. So every chain waits for a chain further
 * right, and the rightmost chain always continues.
 *
 * Memory order (table/README.md). A chain accesses the slots of a lock range only under its lock
 * (M5). A removal also keeps the lock of the range before, to fill the hole there. So slots
 * are loaded and stored plainly, a 128-bit slot in two halves, and no rule about torn loads is
 * needed here. The carried entry is in registers (M3).
 *
 * No chain waits in a loop of its own. Such a loop could keep other lanes of the warp from
 * releasing the lock that the chain needs. All chains of a warp try their locks, and step,
 * together.
 *
 * Short inserts, long inserts, short removals and long removals are separate kernels, so that
 * rule 5 of table/robin_hood/README.md holds by M1. While one of them runs, entries move in one
 * direction only. So a key can only be on one side of the slot where it was looked up.
 */
#include "table/device/follow.cuh"
#include "table/device/lock_bits.cuh"
#include "table/device/occupancy.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/displacement/displace.cuh"

/* Resident blocks per multiprocessor of these kernels. A smaller multiprocessor holds
 * fewer.
 *
 * %RANGE% SW_CHAIN_BLOCKS bpm {4,5,6,7,8}
 */
#ifndef SW_CHAIN_BLOCKS
#define SW_CHAIN_BLOCKS 6
#endif

/* --- lock ranges ------------------------------------------------------------------------------ */

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

/* --- inserts ---------------------------------------------------------------------------------- */

template <int BITS>
static __device__ inline void begin_insert(const struct sw_cuda_device<BITS> &device,
                                           struct chain<BITS> *chain,
                                           typename sw_width<BITS>::slot carried, bool in_stash)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = in_stash ? &device.table.stash : &device.table.main;
    chain->carried = carried;
    chain->in_stash = in_stash;
    chain->home =
        in_stash ? W::home(view, carried.m) : W::hint_start(view, device.hints, carried.m);
    chain->lock_range = chain->home / LANES;
    chain->active = true;
    chain->holds = false;
}

/* Takes an entry that met the probe cap out of its array. The entry goes to the stash, or to the
 * leftovers if there is no stash. The counts are words (M6); later kernels read them. */
template <int BITS>
static __device__ inline void meet_cap(const struct sw_cuda_device<BITS> &device,
                                       struct chain<BITS> *chain)
{
    const bool first = threadIdx.x % LANES == 0;
    struct sw_state *state = device.table.state;
    if (chain->in_stash) {
        chain->active = false;
        if (first) {
            atomicAdd(&device.control->lost, 1U);
        }
    } else if (device.table.stash.slots == NULL) {
        chain->active = false;
        if (first) {
            device.scratch.leftovers[atomicAdd(&device.control->leftovers, 1U)] = chain->carried;
            atomicAdd((unsigned long long *)&state->occupied, ~0ULL);
        }
    } else {
        if (first) {
            atomicAdd((unsigned long long *)&state->stash_occupied, 1ULL);
        }
        begin_insert<BITS>(device, chain, chain->carried, true);
    }
}

/* Tries one step of an insert. Returns whether an entry met the cap. Adds the buckets that this
 * lane read to *probes. */
template <int BITS>
static __device__ inline bool insert_step(const struct sw_cuda_device<BITS> &device,
                                          struct chain<BITS> *chain, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const int lane = (int)(threadIdx.x % LANES);
    const typename W::view *view = chain->in_stash ? &device.table.stash : &device.table.main;
    const struct step<BITS> step = step_into<BITS>(device, *chain);
    typename W::slot top;
    typename W::slot in;
    const int max = W::bucket_max(step.held, &top);
    /* the carried entry enters the first bucket that has room or a larger entry; an entry from the
     * range before is smaller than all entries of this one */
    const bool takes =
        step.inside && (chain->holds || (step.number >= chain->home && top.m > chain->carried.m));
    const int begin = first_lane(takes);
    in.m = __shfl_up_sync(SW_WARP_ALL, top.m, 1, LANES);
    if constexpr (!W::is_set) {
        in.value = __shfl_up_sync(SW_WARP_ALL, top.value, 1, LANES);
    }
    if (lane == begin) {
        in = chain->carried;
    }
    /* a bucket with room passes no entry on, and an entry does not enter a bucket past its cap */
    const bool fits = step.inside && step.number - W::home(view, in.m) <= view->max_probe;
    const int end = first_lane(step.stepped && lane >= begin && (!fits || top.m == W::empty));
    const bool placed = __shfl_sync(SW_WARP_ALL, fits, end < LANES ? end : 0, LANES);
    if (lane >= begin && (lane < end || (lane == end && fits))) {
        step.bucket[max] = in;
    }
    *probes += step.inside && step.number >= chain->home && lane <= end;
    const typename W::slot out =
        slot_of_lane<BITS>(end < LANES ? in : top, end < LANES ? end : LANES - 1);
    const bool goes_on = end == LANES && (chain->lock_range + 1) * LANES < view->buckets_total;
    step_out<BITS>(device, chain, step, begin < LANES && goes_on);
    if (!step.stepped) {
        return false;
    }
    if (begin < LANES) { /* otherwise the chain has not reached the carried entry's bucket yet */
        chain->carried = out;
    }
    if (goes_on) {
        chain->lock_range++;
        return false;
    }
    chain->active = false;
    if (end < LANES && placed) {
        return false;
    }
    meet_cap<BITS>(device, chain);
    return true;
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_CUDA_BLOCK, SW_CHAIN_BLOCKS))
    insert_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->long_inserts : 0;
    const uint64_t step = (uint64_t)gridDim.x * (SW_CUDA_BLOCK / LANES);
    uint64_t next = (uint64_t)blockIdx.x * (SW_CUDA_BLOCK / LANES) + threadIdx.x / LANES;
    struct chain<BITS> chain = {
    };
    uint64_t probes = 0;
    uint64_t failures = 0;
    for (;;) {
        if (!chain.active && next < count) {
            begin_insert<BITS>(device, &chain, device.scratch.long_inserts[next], false);
            next += step;
        }
        if (!__any_sync(SW_WARP_ALL, chain.active)) {
            break;
        }
        bool failed = insert_step<BITS>(device, &chain, &probes);
        failures += failed && threadIdx.x % LANES == 0;
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
    sw_block_add(&control->counters.failures, failures);
}

/* --- removals --------------------------------------------------------------------------------- */

template <int BITS>
static __device__ inline void begin_removal(const struct sw_cuda_device<BITS> &device,
                                            struct chain<BITS> *chain,
                                            const struct sw_cuda_removal<BITS> &removal)
{
    const uint64_t buckets = device.table.main.buckets_total;
    const uint64_t bucket = removal.slot / SW_BUCKET_SLOTS;
    chain->carried.m = removal.m;
    chain->in_stash = bucket >= buckets;
    chain->lock_range = (chain->in_stash ? bucket - buckets : bucket) / LANES;
    chain->active = true;
    chain->holds = false;
}

/* Tries one step of a removal: to the left until the key is found, then to the right. *hole is the
 * free slot in the last bucket of the range before. The chain still holds that range's lock. */
template <int BITS>
static __device__ inline void removal_step(const struct sw_cuda_device<BITS> &device,
                                           struct chain<BITS> *chain,
                                           typename sw_width<BITS>::slot **hole, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const int lane = (int)(threadIdx.x % LANES);
    const typename W::view *view = chain->in_stash ? &device.table.stash : &device.table.main;
    const struct step<BITS> step = step_into<BITS>(device, *chain);
    const int min = W::bucket_min(step.held);
    typename W::slot low;
    low = slot_at<BITS>(step.held, min);
    /* whether this bucket's smallest entry may move to the bucket on the left */
    const bool displaced = min >= 0 && step.number > 0 && W::home(view, low.m) < step.number;
    typename W::word value;
    const int at = W::probe(step.held, chain->carried.m, &value);
    const int begin = first_lane(step.inside && (chain->holds ? lane == 0 && displaced : at >= 0));
    typename W::slot next;
    next.m = __shfl_down_sync(SW_WARP_ALL, low.m, 1, LANES);
    if constexpr (!W::is_set) {
        next.value = __shfl_down_sync(SW_WARP_ALL, low.value, 1, LANES);
    }
    const bool gives = __shfl_down_sync(SW_WARP_ALL, displaced, 1, LANES);
    /* the last lane cannot know: its neighbour is in the next lock range */
    const int end = first_lane(step.stepped && lane >= begin && (lane == LANES - 1 || !gives));
    typename W::slot *given_up = step.bucket + (lane == begin && !chain->holds ? at : min);
    if (lane == begin && chain->holds) {
        **hole = low;
    }
    if (lane >= begin && lane <= end) {
        if (lane == end) {
            next.m = W::empty;
            W::put_value(&next, W::empty);
        }
        *given_up = next;
        ++*probes;
    }
    if (step.stepped && begin < LANES && !chain->in_stash) {
        const uint64_t base = chain->lock_range * LANES;
        W::hint_forget(view, device.hints, base + begin - (chain->holds ? 1 : 0), base + end + 1,
                       (uint32_t)lane, LANES);
    }
    const bool goes_on =
        begin < LANES && end == LANES - 1 && (chain->lock_range + 1) * LANES < view->buckets_total;
    const bool was_searching = !chain->holds;
    const unsigned long long last =
        __shfl_sync(SW_WARP_ALL, (unsigned long long)given_up, LANES - 1, LANES);
    step_out<BITS>(device, chain, step, goes_on);
    if (!step.stepped) {
        return;
    }
    if (goes_on) {
        *hole = (typename W::slot *)last;
        chain->lock_range++;
    } else if (begin < LANES || !was_searching) {
        chain->active = false;
    } else if (chain->lock_range > 0) {
        chain->lock_range--; /* other removals moved the key to the left */
    } else {
        chain->active = false;
        if (lane == 0) {
            atomicAdd(&device.control->lost, 1U); /* M6: a count */
        }
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_CUDA_BLOCK, SW_CHAIN_BLOCKS))
    removal_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->long_removals : 0;
    const uint64_t step = (uint64_t)gridDim.x * (SW_CUDA_BLOCK / LANES);
    uint64_t next = (uint64_t)blockIdx.x * (SW_CUDA_BLOCK / LANES) + threadIdx.x / LANES;
    struct chain<BITS> chain = {
    };
    typename sw_width<BITS>::slot *hole = NULL;
    uint64_t probes = 0;
    for (;;) {
        if (!chain.active && next < count) {
            begin_removal<BITS>(device, &chain, device.scratch.long_removals[next]);
            next += step;
        }
        if (!__any_sync(SW_WARP_ALL, chain.active)) {
            break;
        }
        removal_step<BITS>(device, &chain, &hole, &probes);
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_DELETE].probes, probes);
}

/* --- the host's side -------------------------------------------------------------------------- */

static uint32_t blocks_for(uint64_t threads, uint32_t most)
{
    uint64_t blocks = (threads + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    return blocks < 1 ? 1 : blocks < most ? (uint32_t)blocks : most;
}

/* Limits the blocks to those that run at once. A block that started later would have as much work,
 * without others beside it. */
template <int BITS>
static uint32_t chain_blocks(const struct sw_cuda_device<BITS> *device, uint32_t count)
{
    return blocks_for((uint64_t)count * LANES, device->multiprocessors * SW_CHAIN_BLOCKS);
}

template <int BITS>
cudaError_t sw_cuda_launch_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                   cudaStream_t stream)
{
    cudaError_t error = sw_cuda_launch_short_inserts<BITS>(device, count, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_following(true, insert_kernel<BITS>, chain_blocks(device, count),
                                         SW_CUDA_BLOCK, stream, *device);
    }
    return error;
}

template <int BITS>
cudaError_t sw_cuda_launch_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                    cudaStream_t stream)
{
    cudaError_t error = sw_cuda_launch_short_removals<BITS>(device, count, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_following(true, removal_kernel<BITS>, chain_blocks(device, count),
                                         SW_CUDA_BLOCK, stream, *device);
    }
    return error;
}

#define INSTANTIATE(BITS, ...)                                                              \
    template cudaError_t sw_cuda_launch_inserts<BITS>(const struct sw_cuda_device<BITS> *,  \
                                                      uint32_t, cudaStream_t);              \
    template cudaError_t sw_cuda_launch_removals<BITS>(const struct sw_cuda_device<BITS> *, \
                                                       uint32_t, cudaStream_t);
SW_FORMATS(INSTANTIATE)
