/* SPDX-License-Identifier: MIT
 *
 * merge_fallback.cu - upserts a batch of any size that a rebuild could not merge. All blocks do it
 * together, by key slots (overfull_range.cuh). Keys to insert are listed for displace.cu.
 */
#include "table/device/cooperative_blocks.cuh"
#include "table/robin_hood/cuda/writes/overfull_range.cuh"

template <int BITS>
static __device__ inline void upsert_all(const struct sw_cuda_device<BITS> &device,
                                         const struct sw_cuda_batch<BITS> &batch,
                                         const struct grid_stride &stride)
{
    typedef sw_width<BITS> W;
    clear_key_slots<BITS>(device, batch, batch.count, true, stride.start, stride.step);
    cooperative_groups::this_grid().sync(); /* M4: the key slots are free */
    for (uint64_t i = stride.start; i / 32 * 32 < batch.count; i += stride.step) {
        const bool mine = i < batch.count;
        assign_key_slot<BITS>(device, batch, i, mine ? W::mix(&device.table, batch.keys[i]) : 0,
                              mine, batch.count);
        if (mine && i % 64 == 0) {
            device.scratch.found[i / 64] = 0;
        }
    }
    cooperative_groups::this_grid().sync(); /* M4: all operations are in their key slots */
    apply_key_slots<BITS>(device, batch, stride);
    copy_found<BITS>(device, batch, stride);
}

/* The kernel before the move decided whether the batch may insert. */
template <int BITS>
static __global__ void __launch_bounds__(OVERFULL_THREADS, OVERFULL_BLOCKS_PER_SM)
    merge_fallback_kernel(const struct sw_cuda_device<BITS> device,
                          const struct sw_cuda_batch<BITS> batch)
{
    typedef sw_width<BITS> W;
    struct sw_cuda_control *control = device.control;
    const struct grid_stride stride = stride_of_thread();
    if (control->rebuild_failed == 0) {
        return;
    }
    if (stride.start == 0) {
        sw_note_stash(control, device.table.state);
    }
    if (control->mode == SW_CUDA_IF_PRESENT) {
        for (uint64_t i = stride.start; i < batch.count; i += stride.step) {
            uint64_t probes = 0;
            if (!W::locate(&device.table, W::mix(&device.table, batch.keys[i]), &probes).found) {
                control->absent = 1;
            }
        }
        cooperative_groups::this_grid().sync(); /* M4: `absent` is final; M6: all threads store the
                                                   same word */
    }
    if (sw_is_admitted(control)) {
        upsert_all<BITS>(device, batch, stride);
    }
    if (sw_last_block(&control->blocks_done, gridDim.x) && threadIdx.x == 0) {
        control->blocks_done = 0;
        count_and_enter<BITS>(device, batch, false);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_merge_fallback(const struct sw_cuda_device<BITS> *device,
                                          const struct sw_cuda_batch<BITS> *batch,
                                          cudaStream_t stream)
{
    struct sw_cuda_device<BITS> to = *device;
    struct sw_cuda_batch<BITS> what = *batch;
    void *arguments[] = {&to, &what};
    uint32_t blocks;
    cudaError_t error =
        sw_cuda_cooperative_blocks(merge_fallback_kernel<BITS>, OVERFULL_THREADS,
                                   device->multiprocessors, OVERFULL_BLOCKS_PER_SM, &blocks);
    if (error != cudaSuccess) {
        return error;
    }
    blocks = blocks < SW_CUDA_REST_BLOCKS_MAX ? blocks : SW_CUDA_REST_BLOCKS_MAX;
    blocks = sw_cuda_cooperative_grid(device, blocks);
    return cudaLaunchCooperativeKernel((const void *)merge_fallback_kernel<BITS>, dim3(blocks),
                                       dim3(OVERFULL_THREADS), arguments, 0, stream);
}

#define INSTANTIATE(BITS, ...)                                \
    template cudaError_t sw_cuda_launch_merge_fallback<BITS>( \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t);
SW_FORMATS(INSTANTIATE)
