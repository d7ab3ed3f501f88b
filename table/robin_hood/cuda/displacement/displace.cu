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
#include "table/device/occupancy.cuh"
#include "table/robin_hood/cuda/displacement/insert.cuh"

/* Resident blocks per multiprocessor of these kernels. A smaller multiprocessor holds
 * fewer.
 *
 * %RANGE% SW_CHAIN_BLOCKS bpm {4,5,6,7,8}
 */
#ifndef SW_CHAIN_BLOCKS
#define SW_CHAIN_BLOCKS 6
#endif

/* --- inserts ---------------------------------------------------------------------------------- */

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_CUDA_BLOCK, SW_CHAIN_BLOCKS))
    insert_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    uint64_t probes = 0;
    uint64_t failures = 0;
    insert_listed_long<BITS>(device, (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x,
                             (uint64_t)gridDim.x * SW_CUDA_BLOCK, &probes, &failures);
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
