/* SPDX-License-Identifier: MIT
 *
 * holes.cu - ends a batch of removals that leave holes: removes the entries that other kernels
 * listed, and fills bucket 0. In a key set it also does so before a rebuild, since a slot without a
 * value has no tombstones.
 */
#include "table/device/counts.cuh"
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/writes/holes.cuh"

/* Blocks per multiprocessor. The list is empty unless keys are repeated very often. */
#define HOLES_BLOCKS 2

/* Returns the index of the smallest entry of bucket b, which is not bucket 0; -1 if it has none. */
template <int BITS>
static __device__ inline int
smallest_entry(uint64_t b, const typename sw_width<BITS>::slot held[SW_BUCKET_SLOTS],
               typename sw_width<BITS>::slot *entry)
{
    typedef sw_width<BITS> W;
    int min = -1;
    entry->m = W::empty;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (held[i].m < entry->m && !W::hole_at(b, held[i].m)) {
            min = i;
            *entry = held[i];
        }
    }
    return min;
}

/* Fills a slot of bucket 0 whose entry leaves: by the next entry, if that entry was displaced past
 * bucket 0, otherwise by EMPTY. The next entry lies in the first later bucket that has one. Returns
 * whether a hole was left there. One thread calls it, when no other thread changes the table. Other
 * blocks have stored some of the slots, so it loads past L1 (M7). */
template <int BITS>
static __device__ inline bool fill_first_bucket(const typename sw_width<BITS>::view *view,
                                                uint32_t slot)
{
    typedef sw_width<BITS> W;
    for (uint64_t b = 1; b <= view->max_probe && b < view->buckets_total; b++) {
        typename W::slot held[SW_BUCKET_SLOTS];
        typename W::slot next;
        W::bucket_load(view, b, held);
        const bool room = has_room<BITS>(held);
        const int min = smallest_entry<BITS>(b, held, &next);
        if (min >= 0 && W::home(view, next.m) == 0) {
            W::slot_store(view->slots + slot, next);
            return vacate<BITS>(view->slots + b * SW_BUCKET_SLOTS + min, room);
        }
        if (min >= 0 || room) {
            break;
        }
    }
    W::clear_slot(view->slots + slot);
    return false;
}

/* REBUILT: a rebuild follows, which closes the holes and reads the stash anew. So the holes are not
 * counted, and slots of the stash become EMPTY. */
template <int BITS, bool REBUILT>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    holes_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    struct sw_cuda_control *control = device.control;
    const uint32_t count = control->deletes;
    if ((!REBUILT && control->stash_before != 0) || (count == 0 && control->first_bucket == 0)) {
        return;
    }
    uint64_t holes = 0;
    for (uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * SW_CUDA_BLOCK) {
        const uint64_t slot = device.scratch.deletes[i].slot;
        if (REBUILT && slot >= device.table.main.buckets_total * SW_BUCKET_SLOTS) {
            sw_width<BITS>::clear_slot(device.table.main.slots + slot); /* the stash follows */
        } else {
            holes += leave_hole<BITS>(device, slot);
        }
    }
    if (!REBUILT) {
        sw_block_add(&device.table.state->holes, holes);
    }
    if (!sw_last_block(&control->blocks_done, gridDim.x) || threadIdx.x != 0) {
        return;
    }
    const uint32_t first = ((volatile struct sw_cuda_control *)control)->first_bucket;
    holes = 0;
    for (uint32_t s = 0; s < SW_BUCKET_SLOTS; s++) {
        if ((first >> s & 1) != 0) {
            holes += fill_first_bucket<BITS>(&device.table.main, s);
        }
    }
    if (!REBUILT) {
        atomicAdd((unsigned long long *)&device.table.state->holes, (unsigned long long)holes);
    }
    control->first_bucket = 0;
    control->deletes = 0;
    control->blocks_done = 0;
}

template <int BITS, bool REBUILT>
static cudaError_t launch_holes(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                cudaStream_t stream)
{
    const uint32_t most = device->multiprocessors * HOLES_BLOCKS;
    const uint32_t wanted = (count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    return sw_cuda_launch_following(true, holes_kernel<BITS, REBUILT>,
                                    wanted < most ? wanted : most, SW_CUDA_BLOCK, stream, *device);
}

template <int BITS>
cudaError_t sw_cuda_launch_holes(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                 cudaStream_t stream)
{
    return launch_holes<BITS, false>(device, count, stream);
}

template <int BITS>
cudaError_t sw_cuda_launch_holes_rebuilt(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                         cudaStream_t stream)
{
    return launch_holes<BITS, true>(device, count, stream);
}

#define INSTANTIATE(BITS, ...)                                                                     \
    template cudaError_t sw_cuda_launch_holes<BITS>(const struct sw_cuda_device<BITS> *, uint32_t, \
                                                    cudaStream_t);
#define INSTANTIATE_REBUILT(BITS, ...)                                                           \
    template cudaError_t sw_cuda_launch_holes_rebuilt<BITS>(const struct sw_cuda_device<BITS> *, \
                                                            uint32_t, cudaStream_t);
SW_FORMATS(INSTANTIATE)
SW_SETS(INSTANTIATE_REBUILT)
