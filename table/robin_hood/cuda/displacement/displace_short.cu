/* SPDX-License-Identifier: MIT
 *
 * displace_short.cu - short displacements: inserts and removals that end within a few buckets, each
 * by one thread. The other operations are listed for displace.cu.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/device.cuh"
#include "table/robin_hood/cuda/displacement/displace.cuh"

/* Buckets that a short insert may visit. Values from 2 to 16 differ by a few per cent on an
 * H200. */
#define SHORT_BUCKETS 4
/* Enough blocks to fill any GPU; they loop. */
#define BLOCKS_MAX 4096

/* Inserts entries within SHORT_BUCKETS buckets, each by one thread and without locks. Rules 1 to 4
 * of table/robin_hood/README.md and M6 allow this, since every store is one compare-and-swap of a
 * whole slot (robin_hood.inl, insert_absent_before). An entry that the thread still carries at the
 * end is listed. Its key is absent, like the keys of the input list. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    short_insert_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = device.control;
    const typename W::view *view = &device.table.main;
    const uint32_t count = sw_is_admitted(control) ? control->inserts : 0;
    const uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    const uint64_t rounds = (count + step - 1) / step;
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    uint64_t probes = 0;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        typename W::slot carried;
        bool rests = false;
        if (i < count) {
            carried = device.scratch.inserts[i];
            uint64_t start = W::hint_start(view, device.hints, carried.m);
            uint64_t limit = start + SHORT_BUCKETS;
            rests = !W::insert_before(view, device.hints, &carried,
                                      limit < view->buckets_total ? limit : view->buckets_total,
                                      &probes);
        }
        uint32_t at = sw_list_append(&control->long_inserts, rests);
        if (rests) {
            device.scratch.long_inserts[at] = carried;
        }
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_UPSERT].probes, probes);
}

/* Removes entries without moving others, if the next bucket has no displaced entry. That stays true
 * while other entries are removed. So only the thread that removes an entry stores its slot (M8).
 * Another thread that loads the slot meanwhile sees the entry or EMPTY, and decides correctly on
 * either. The other removals are listed. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    short_removal_kernel(const __grid_constant__ struct sw_cuda_device<BITS> device)
{
    sw_cuda_follow();
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = device.control;
    const uint64_t buckets = device.table.main.buckets_total;
    const uint32_t count = sw_is_admitted(control) ? control->deletes : 0;
    const uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    const uint64_t rounds = (count + step - 1) / step;
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    uint64_t probes = 0;
    for (uint64_t r = 0; r < rounds; r++, i += step) {
        struct sw_cuda_removal<BITS> removal;
        bool rests = false;
        if (i < count) {
            removal = device.scratch.deletes[i];
            const uint64_t bucket = removal.slot / SW_BUCKET_SLOTS;
            const bool in_stash = bucket >= buckets;
            const typename W::view *view = in_stash ? &device.table.stash : &device.table.main;
            const uint64_t b = in_stash ? bucket - buckets : bucket;
            rests = b + 1 < view->buckets_total && !W::is_boundary(view, b + 1);
            probes++;
            if (!rests) {
                W::clear_slot(device.table.main.slots + removal.slot);
                if (!in_stash) {
                    W::hint_forget(view, device.hints, b, b + 1, 0, 1);
                }
            }
        }
        uint32_t at = sw_list_append(&control->long_removals, rests);
        if (rests) {
            device.scratch.long_removals[at] = removal;
        }
    }
    sw_block_add(&control->counters.by_class[SW_CLASS_DELETE].probes, probes);
}

static uint32_t blocks_for(uint32_t count)
{
    uint32_t blocks = (count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    return blocks < 1 ? 1 : blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

template <int BITS>
cudaError_t sw_cuda_launch_short_inserts(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                         cudaStream_t stream)
{
    return sw_cuda_launch_following(true, short_insert_kernel<BITS>, blocks_for(count),
                                    SW_CUDA_BLOCK, stream, *device);
}

template <int BITS>
cudaError_t sw_cuda_launch_short_removals(const struct sw_cuda_device<BITS> *device, uint32_t count,
                                          cudaStream_t stream)
{
    return sw_cuda_launch_following(true, short_removal_kernel<BITS>, blocks_for(count),
                                    SW_CUDA_BLOCK, stream, *device);
}

#define INSTANTIATE(BITS, ...)                                                                    \
    template cudaError_t sw_cuda_launch_short_inserts<BITS>(const struct sw_cuda_device<BITS> *,  \
                                                            uint32_t, cudaStream_t);              \
    template cudaError_t sw_cuda_launch_short_removals<BITS>(const struct sw_cuda_device<BITS> *, \
                                                             uint32_t, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
