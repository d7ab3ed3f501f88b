/* SPDX-License-Identifier: MIT
 *
 * pieces.cu - batches by ranges that are carried out in several pieces, one after the other.
 *
 * A batch is admitted as a whole, by the stash as it was when the batch began. So decide_kernel
 * decides before the first piece, and no piece decides again: inserts of an earlier piece may add
 * entries to the stash. Each piece ends with its own removals and inserts, so the next piece finds
 * a canonical table. That is one batch after the other, as far as keys and answers are concerned.
 */
#include "table/robin_hood/cuda/writes/range_admission.cuh"

/* Sets control->mode, and control->absent if a key that the batch would insert is absent. Reads
 * keys only if the stash is too full. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    decide_kernel(const struct sw_cuda_device<BITS> device, const struct sw_cuda_batch<BITS> batch)
{
    typedef sw_width<BITS> W;
    const uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    uint64_t i = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (i > 0 && mode_of<BITS>(device, batch) != SW_CUDA_IF_PRESENT) {
        return;
    }
    for (; i < batch.count; i += step) {
        const bool mine = !sw_is_skipped<BITS>(batch, i);
        ask<BITS>(device, batch, i, mine, mine ? W::mix(&device.table, batch.keys[i]) : 0);
    }
}

/* Empties the lists of the piece before. One thread; M1: the kernels of both pieces run before and
 * after it. */
static __global__ void next_piece_kernel(struct sw_cuda_control *control)
{
    control->deletes = 0;
    control->deletes_in_stash = 0;
    control->inserts = 0;
    control->long_removals = 0;
    control->long_inserts = 0;
    control->side_inserts = 0;
    control->side_removals = 0;
    control->overfull = 0;
}

template <int BITS>
cudaError_t sw_cuda_launch_decide(const struct sw_cuda_device<BITS> *device,
                                  const struct sw_cuda_batch<BITS> *batch, cudaStream_t stream)
{
    const uint32_t wanted = (batch->count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    const uint32_t blocks = wanted < SW_CUDA_FEW_BLOCKS ? wanted : SW_CUDA_FEW_BLOCKS;
    decide_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_next_piece(const struct sw_cuda_device<BITS> *device,
                                      cudaStream_t stream)
{
    next_piece_kernel<<<1, 1, 0, stream>>>(device->control);
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, ...)                                                                  \
    template cudaError_t sw_cuda_launch_decide<BITS>(                                           \
        const struct sw_cuda_device<BITS> *, const struct sw_cuda_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_launch_next_piece<BITS>(const struct sw_cuda_device<BITS> *,   \
                                                         cudaStream_t);
SW_WIDTHS(INSTANTIATE)
