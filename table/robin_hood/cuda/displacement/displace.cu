/* SPDX-License-Identifier: MIT
 *
 * displace.cu - inserts absent keys and removes present ones: the part of a write that moves other
 * entries.
 *
 * An insert moves one entry from each bucket to the next until a bucket has room; a removal moves
 * one back from each bucket until a bucket has none that was displaced. One that ends within a few
 * buckets is done by a single thread (displace_short.cu); the others are walks.
 *
 * LANES neighbouring buckets are a stretch. As many threads walk it in one step: each has one
 * bucket in registers, and entries go from lane to lane. A stretch has a lock, one bit. A walk that
 * goes on to the next stretch takes that lock before it gives this one back (hand-over-hand
 * locking: Bayer and Schkolnick, 1977), so no walk passes another: the table is as if the walks
 * were made one after the other, and canonical after each. Locks are taken from left to right only,
 * so every walk waits for one further right, and the rightmost one always goes on.
 *
 * Memory order (table/README.md). All slots of a stretch, and the place of a removal that is to be
 * filled in the stretch before, are touched only under the stretch's lock: M5. So slots are loaded
 * and stored plainly, a 128-bit slot in two halves, and no rule about torn loads is needed here.
 * What a walk carries is in registers: M3.
 *
 * No walk waits in a loop of its own, which could keep other lanes of its warp from giving back the
 * lock it waits for: all walks of a warp try, and step, together.
 *
 * Short inserts, walked inserts, short removals and walked removals are kernels of their own, so
 * that rule 5 of table/robin_hood/README.md holds by M1. While one of them runs, entries move in
 * one direction only, so where a key was when it was looked up tells on which side it is now.
 */
#include "table/device/follow.cuh"
#include "table/device/lock_bits.cuh"
#include "table/device/resident.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/displacement/displace.cuh"

/* Buckets of a stretch. On an H200 at load 0.93, 2^16 removals: 459 us with 8, 336 with 16, 299
 * with 32; 2^20 at 0.85: 1141, 1313, 1892. */
#define LANES 16
/* Blocks that a multiprocessor holds at once, of the kernels that walk; smaller ones hold fewer. */
#define WALK_BLOCKS 6

/* --- stretches and their locks ---------------------------------------------------------------- */

static __device__ inline void prefetch(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(__cvta_generic_to_global(at)) : "memory");
}

/* One walk, by LANES threads; the same in all of them. */
template <int BITS> struct walk {
    typename sw_width<BITS>::slot
        carried;      /* inserts: the entry to be placed; removals: m is the key */
    uint64_t stretch; /* the next stretch to step into, of its array */
    uint64_t home;    /* of the carried entry: it belongs in no bucket before this one */
    bool active;
    bool in_stash;
    bool holds; /* it holds the lock of the stretch before. Inserts: `carried` came from there.
                   Removals: the hole there is to be filled */
};

/* A lane's view of the stretch that its walk stepped into. */
template <int BITS> struct step {
    typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS];
    typename sw_width<BITS>::slot *bucket;
    uint64_t number; /* number of the bucket */
    uint64_t lock;   /* its number: those of both arrays are counted */
    bool stepped;    /* the lock was taken */
    bool inside;     /* the lock was taken, and the array has such a bucket */
};

/* The lowest lane of the walk for which `yes` holds; LANES if there is none. All lanes of the warp
 * must call it. */
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
    slot.value = __shfl_sync(SW_WARP_ALL, slot.value, lane, LANES);
    return slot;
}

/* Selected, not indexed, so that the bucket stays in registers; EMPTY for -1. */
template <int BITS>
static __device__ inline typename sw_width<BITS>::slot
slot_at(const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS], int index)
{
    typename sw_width<BITS>::slot slot;
    slot.m = sw_width<BITS>::empty;
    slot.value = sw_width<BITS>::empty;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (i == index) {
            slot = held[i];
        }
    }
    return slot;
}

/* Tries the lock of the next stretch; where it is taken, reads the stretch. */
template <int BITS>
static __device__ inline struct step<BITS> step_into(const struct sw_cuda_device<BITS> &device,
                                                     const struct walk<BITS> &walk) {
    typedef sw_width<BITS> W;
    const uint32_t lane = threadIdx.x % LANES;
    const typename W::view *view = walk.in_stash ? &device.table.stash : &device.table.main;
    struct step<BITS> step;
    uint64_t first = walk.in_stash ? (device.table.main.buckets_total + LANES - 1) / LANES : 0;
    bool stepped = false;
    step.lock = first + walk.stretch;
    step.number = walk.stretch * LANES + lane;
    step.bucket = view->slots + step.number * SW_BUCKET_SLOTS;
    if (walk.active && step.number < view->buckets_total) {
        prefetch(step.bucket); /* its latency overlaps that of the lock; a hint only, which nothing
                                  relies on */
    }
    if (walk.active && lane == 0) {
        stepped = sw_try_lock_bit(device.locks, step.lock);
    }
    step.stepped = __shfl_sync(SW_WARP_ALL, stepped, 0, LANES);
    __syncwarp(); /* M3, M5: what lane 0 acquired the other lanes see too */
    step.inside = step.stepped && step.number < view->buckets_total;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        step.held[i].m = W::empty;
        step.held[i].value = W::empty;
    }
    if (step.inside) {
        W::bucket_read(view, step.number, step.held);
    }
    return step;
}

/* Gives back the locks that the walk does not need any more: that of the stretch before and, unless
 * it goes on, its own. Inserts and removals end a step with it. */
template <int BITS>
static __device__ inline void step_out(const struct sw_cuda_device<BITS> &device,
                                       struct walk<BITS> *walk, const struct step<BITS> &step,
                                       bool keeps)
{
    __syncwarp(); /* M3, M5: the stores of all lanes come before lane 0's release */
    if (step.stepped && threadIdx.x % LANES == 0) {
        if (walk->holds) {
            sw_unlock_bit(device.locks, step.lock - 1);
        }
        if (!keeps) {
            sw_unlock_bit(device.locks, step.lock);
        }
    }
    if (step.stepped) {
        walk->holds = keeps;
    }
}

/* --- inserts ---------------------------------------------------------------------------------- */

template <int BITS>
static __device__ inline void begin_insert(const struct sw_cuda_device<BITS> &device,
                                           struct walk<BITS> *walk,
                                           typename sw_width<BITS>::slot carried, bool in_stash)
{
    typedef sw_width<BITS> W;
    const typename W::view *view = in_stash ? &device.table.stash : &device.table.main;
    walk->carried = carried;
    walk->in_stash = in_stash;
    walk->home = in_stash ? W::home(view, carried.m) : W::hint_start(view, device.hints, carried.m);
    walk->stretch = walk->home / LANES;
    walk->active = true;
    walk->holds = false;
}

/* An entry that met the cap leaves the array: it goes to the stash, or is handed back. The counts
 * are words (M6), read by later kernels. */
template <int BITS>
static __device__ inline void meet_cap(const struct sw_cuda_device<BITS> &device,
                                       struct walk<BITS> *walk)
{
    const bool first = threadIdx.x % LANES == 0;
    struct sw_state *state = device.table.state;
    if (walk->in_stash) {
        walk->active = false;
        if (first) {
            atomicAdd(&device.control->lost, 1U);
        }
    } else if (device.table.stash.slots == NULL) {
        walk->active = false;
        if (first) {
            device.scratch.leftovers[atomicAdd(&device.control->leftovers, 1U)] = walk->carried;
            atomicAdd((unsigned long long *)&state->occupied, ~0ULL);
        }
    } else {
        if (first) {
            atomicAdd((unsigned long long *)&state->stash_occupied, 1ULL);
        }
        begin_insert<BITS>(device, walk, walk->carried, true);
    }
}

/* One stretch further. Returns whether an entry met the cap. *probes grows by the buckets that this
 * lane looked at. */
template <int BITS>
static __device__ inline bool insert_step(const struct sw_cuda_device<BITS> &device,
                                          struct walk<BITS> *walk, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const int lane = (int)(threadIdx.x % LANES);
    const typename W::view *view = walk->in_stash ? &device.table.stash : &device.table.main;
    const struct step<BITS> step = step_into<BITS>(device, *walk);
    typename W::slot top;
    typename W::slot in;
    const int max = W::bucket_max(step.held, &top);
    /* the carried entry belongs in the first bucket that has room or a larger entry; an entry from
     * the stretch before is smaller than all of this one */
    const bool takes =
        step.inside && (walk->holds || (step.number >= walk->home && top.m > walk->carried.m));
    const int begin = first_lane(takes);
    in.m = __shfl_up_sync(SW_WARP_ALL, top.m, 1, LANES);
    in.value = __shfl_up_sync(SW_WARP_ALL, top.value, 1, LANES);
    if (lane == begin) {
        in = walk->carried;
    }
    /* a bucket with room gives no entry on, and an entry does not enter past its cap */
    const bool fits = step.inside && step.number - W::home(view, in.m) <= view->max_probe;
    const int end = first_lane(step.stepped && lane >= begin && (!fits || top.m == W::empty));
    const bool placed = __shfl_sync(SW_WARP_ALL, fits, end < LANES ? end : 0, LANES);
    if (lane >= begin && (lane < end || (lane == end && fits))) {
        step.bucket[max] = in;
    }
    *probes += step.inside && step.number >= walk->home && lane <= end;
    const typename W::slot out =
        slot_of_lane<BITS>(end < LANES ? in : top, end < LANES ? end : LANES - 1);
    const bool goes_on = end == LANES && (walk->stretch + 1) * LANES < view->buckets_total;
    step_out<BITS>(device, walk, step, begin < LANES && goes_on);
    if (!step.stepped) {
        return false;
    }
    if (begin < LANES) { /* otherwise the carried entry has not found its bucket yet */
        walk->carried = out;
    }
    if (goes_on) {
        walk->stretch++;
        return false;
    }
    walk->active = false;
    if (end < LANES && placed) {
        return false;
    }
    meet_cap<BITS>(device, walk);
    return true;
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_CUDA_BLOCK, WALK_BLOCKS))
    insert_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->long_inserts : 0;
    const uint64_t step = (uint64_t)gridDim.x * (SW_CUDA_BLOCK / LANES);
    uint64_t next = (uint64_t)blockIdx.x * (SW_CUDA_BLOCK / LANES) + threadIdx.x / LANES;
    struct walk<BITS> walk = {
    };
    uint64_t probes = 0;
    uint64_t failures = 0;
    for (;;) {
        if (!walk.active && next < count) {
            begin_insert<BITS>(device, &walk, device.scratch.long_inserts[next], false);
            next += step;
        }
        if (!__any_sync(SW_WARP_ALL, walk.active)) {
            break;
        }
        bool failed = insert_step<BITS>(device, &walk, &probes);
        failures += failed && threadIdx.x % LANES == 0;
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
    sw_block_add(&control->counters.failures, failures);
}

/* --- removals --------------------------------------------------------------------------------- */

template <int BITS>
static __device__ inline void begin_removal(const struct sw_cuda_device<BITS> &device,
                                            struct walk<BITS> *walk,
                                            const struct sw_cuda_removal<BITS> &removal)
{
    const uint64_t buckets = device.table.main.buckets_total;
    const uint64_t bucket = removal.slot / SW_BUCKET_SLOTS;
    walk->carried.m = removal.m;
    walk->in_stash = bucket >= buckets;
    walk->stretch = (walk->in_stash ? bucket - buckets : bucket) / LANES;
    walk->active = true;
    walk->holds = false;
}

/* One stretch: to the left until the key is found, then to the right. *hole is the slot given up in
 * the last bucket of the stretch before, whose lock the walk still holds. */
template <int BITS>
static __device__ inline void removal_step(const struct sw_cuda_device<BITS> &device,
                                           struct walk<BITS> *walk,
                                           typename sw_width<BITS>::slot **hole, uint64_t *probes)
{
    typedef sw_width<BITS> W;
    const int lane = (int)(threadIdx.x % LANES);
    const typename W::view *view = walk->in_stash ? &device.table.stash : &device.table.main;
    const struct step<BITS> step = step_into<BITS>(device, *walk);
    const int min = W::bucket_min(step.held);
    typename W::slot low;
    low = slot_at<BITS>(step.held, min);
    /* whether the bucket to the left may have this bucket's smallest entry */
    const bool displaced = min >= 0 && step.number > 0 && W::home(view, low.m) < step.number;
    typename W::word value;
    const int at = W::probe(step.held, walk->carried.m, &value);
    const int begin = first_lane(step.inside && (walk->holds ? lane == 0 && displaced : at >= 0));
    typename W::slot next;
    next.m = __shfl_down_sync(SW_WARP_ALL, low.m, 1, LANES);
    next.value = __shfl_down_sync(SW_WARP_ALL, low.value, 1, LANES);
    const bool gives = __shfl_down_sync(SW_WARP_ALL, displaced, 1, LANES);
    /* the last lane cannot tell: its neighbour is in the next stretch */
    const int end = first_lane(step.stepped && lane >= begin && (lane == LANES - 1 || !gives));
    typename W::slot *given_up = step.bucket + (lane == begin && !walk->holds ? at : min);
    if (lane == begin && walk->holds) {
        **hole = low;
    }
    if (lane >= begin && lane <= end) {
        if (lane == end) {
            next.m = W::empty;
            next.value = W::empty;
        }
        *given_up = next;
        ++*probes;
    }
    if (step.stepped && begin < LANES && !walk->in_stash) {
        const uint64_t base = walk->stretch * LANES;
        W::hint_forget(view, device.hints, base + begin - (walk->holds ? 1 : 0), base + end + 1,
                       (uint32_t)lane, LANES);
    }
    const bool goes_on =
        begin < LANES && end == LANES - 1 && (walk->stretch + 1) * LANES < view->buckets_total;
    const bool was_searching = !walk->holds;
    const unsigned long long last =
        __shfl_sync(SW_WARP_ALL, (unsigned long long)given_up, LANES - 1, LANES);
    step_out<BITS>(device, walk, step, goes_on);
    if (!step.stepped) {
        return;
    }
    if (goes_on) {
        *hole = (typename W::slot *)last;
        walk->stretch++;
    } else if (begin < LANES || !was_searching) {
        walk->active = false;
    } else if (walk->stretch > 0) {
        walk->stretch--; /* other removals moved the key to the left */
    } else {
        walk->active = false;
        if (lane == 0) {
            atomicAdd(&device.control->lost, 1U);
        }
    }
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_CUDA_BLOCK, WALK_BLOCKS))
    removal_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    const uint32_t count = sw_is_admitted(control) ? control->long_removals : 0;
    const uint64_t step = (uint64_t)gridDim.x * (SW_CUDA_BLOCK / LANES);
    uint64_t next = (uint64_t)blockIdx.x * (SW_CUDA_BLOCK / LANES) + threadIdx.x / LANES;
    struct walk<BITS> walk = {
    };
    typename sw_width<BITS>::slot *hole = NULL;
    uint64_t probes = 0;
    for (;;) {
        if (!walk.active && next < count) {
            begin_removal<BITS>(device, &walk, device.scratch.long_removals[next]);
            next += step;
        }
        if (!__any_sync(SW_WARP_ALL, walk.active)) {
            break;
        }
        removal_step<BITS>(device, &walk, &hole, &probes);
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_DELETE].probes, probes);
}

/* --- the host's side -------------------------------------------------------------------------- */

static uint32_t blocks_for(uint64_t threads, uint32_t most)
{
    uint64_t blocks = (threads + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    return blocks < 1 ? 1 : blocks < most ? (uint32_t)blocks : most;
}

/* No more blocks than run at once: a block that began later would have as much to do, alone. */
template <int BITS>
static uint32_t walk_blocks(const struct sw_cuda_device<BITS> *device, uint32_t count)
{
    return blocks_for((uint64_t)count * LANES, device->multiprocessors * WALK_BLOCKS);
}

template <int BITS>
cudaError_t sw_cuda_launch_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                   cudaStream_t stream)
{
    cudaError_t error = sw_cuda_launch_short_inserts<BITS>(device, count, stream);
    if (error == cudaSuccess) {
        error = sw_cuda_launch_following(true, insert_kernel<BITS>, walk_blocks(device, count),
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
        error = sw_cuda_launch_following(true, removal_kernel<BITS>, walk_blocks(device, count),
                                         SW_CUDA_BLOCK, stream, *device);
    }
    return error;
}

#define INSTANTIATE(BITS, ...)                                                              \
    template cudaError_t sw_cuda_launch_inserts<BITS>(const struct sw_cuda_device<BITS> *,  \
                                                      uint32_t, cudaStream_t);              \
    template cudaError_t sw_cuda_launch_removals<BITS>(const struct sw_cuda_device<BITS> *, \
                                                       uint32_t, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
