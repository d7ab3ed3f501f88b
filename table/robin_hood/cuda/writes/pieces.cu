/* SPDX-License-Identifier: MIT
 *
 * pieces.cu - batches by ranges that are carried out in several pieces, one after the other.
 *
 * The kernels of ranges.cu do not know of pieces. A piece is a batch to them, and ends with its own
 * removals and inserts, so the next piece finds a canonical table. These kernels make one batch of
 * the pieces: they run between them (M1).
 *
 * A batch is admitted as a whole, by the stash as it was when the batch began. But inserts of a
 * piece may add entries to the stash. So each piece decides by a copy of the state, which is made
 * before the first piece. If the stash was full then, control->absent is 1 from the start if any
 * piece has an absent key, and every piece is refused.
 */
#include "table/device/cutter.cuh"
#include "table/robin_hood/cuda/device.cuh"

/* What is kept during the pieces, in scratch.pieces. */
struct pieces {
    struct sw_state begun;    /* the table's state before the first piece */
    struct sw_counters total; /* of the pieces that are complete */
};
static_assert(sizeof(struct pieces) <= SW_CUDA_CUT_ALIGN, "fits");

template <int BITS>
static __host__ __device__ inline struct pieces *
pieces_of(const struct sw_cuda_device<BITS> &device)
{
    return (struct pieces *)device.scratch.pieces;
}

/* Copies the state. If the stash is full, also sets control->absent if an upsert of the batch would
 * insert its key. Several threads may store the same word (M6). */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    first_piece_kernel(const struct sw_cuda_device<BITS> device,
                       const struct sw_cuda_batch<BITS> batch)
{
    typedef sw_width<BITS> W;
    const uint64_t step = (uint64_t)gridDim.x * SW_CUDA_BLOCK;
    const uint64_t start = (uint64_t)blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    if (start == 0) {
        pieces_of<BITS>(device)->begun = *device.table.state;
        memset(&pieces_of<BITS>(device)->total, 0, sizeof(struct sw_counters));
    }
    if (batch.ops != NULL || sw_mode_of_upserts(&device.table) == SW_CUDA_ADMITTED) {
        return; /* no piece is refused; several kinds are applied in order */
    }
    for (uint64_t i = start; i < batch.count; i += step) {
        uint64_t probes = 0;
        typename W::word out = 0;
        const typename W::word operand = batch.values != NULL ? batch.values[i] : 0;
        if (!sw_is_skipped<BITS>(batch, i) &&
            !W::locate(&device.table, W::mix(&device.table, batch.keys[i]), &probes).found &&
            W::decide(batch.op, false, 0, operand, &out) == SW_EFFECT_WRITE) {
            device.control->absent = 1;
        }
    }
}

/* Adds the counters of the piece before to the total. One thread per counter. */
static __device__ inline void add_piece(struct pieces *pieces, struct sw_cuda_control *control)
{
    const uint32_t words = sizeof(control->counters) / sizeof(uint64_t);
    static_assert(sizeof(control->counters) % sizeof(uint64_t) == 0 &&
                      sizeof(control->counters) / sizeof(uint64_t) <= SW_CUDA_BLOCK,
                  "a thread a counter");
    if (threadIdx.x < words) {
        ((uint64_t *)&pieces->total)[threadIdx.x] += ((uint64_t *)&control->counters)[threadIdx.x];
    }
}

/* Empties the lists and counters of the piece before. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    next_piece_kernel(const struct sw_cuda_device<BITS> device)
{
    struct sw_cuda_control *control = device.control;
    add_piece(pieces_of<BITS>(device), control);
    __syncthreads(); /* M2: the counters have been read */
    if (threadIdx.x == 0) {
        memset(&control->counters, 0, sizeof(control->counters));
        control->direct_inserts = 0;
        control->direct_removals = 0;
        control->deletes = 0;
        control->deletes_in_stash = 0;
        control->inserts = 0;
        control->long_removals = 0;
        control->long_inserts = 0;
        control->side_inserts = 0;
        control->side_removals = 0;
        control->overfull = 0;
    }
}

/* Sets the counters to those of all pieces. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    last_piece_kernel(const struct sw_cuda_device<BITS> device)
{
    add_piece(pieces_of<BITS>(device), device.control);
    __syncthreads(); /* M2: the total of all counters */
    if (threadIdx.x == 0) {
        device.control->counters = pieces_of<BITS>(device)->total;
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_first_piece(const struct sw_cuda_device<BITS> *device,
                                       const struct sw_cuda_batch<BITS> *batch,
                                       struct sw_state **begun, cudaStream_t stream)
{
    const uint32_t wanted = (batch->count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK;
    const uint32_t blocks = wanted < SW_CUDA_FEW_BLOCKS ? wanted : SW_CUDA_FEW_BLOCKS;
    *begun = &pieces_of<BITS>(*device)->begun;
    first_piece_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*device, *batch);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_next_piece(const struct sw_cuda_device<BITS> *device,
                                      cudaStream_t stream)
{
    next_piece_kernel<BITS><<<1, SW_CUDA_BLOCK, 0, stream>>>(*device);
    return cudaGetLastError();
}

template <int BITS>
cudaError_t sw_cuda_launch_last_piece(const struct sw_cuda_device<BITS> *device,
                                      cudaStream_t stream)
{
    last_piece_kernel<BITS><<<1, SW_CUDA_BLOCK, 0, stream>>>(*device);
    return cudaGetLastError();
}

#define INSTANTIATE(BITS, ...)                                                                 \
    template cudaError_t sw_cuda_launch_first_piece<BITS>(const struct sw_cuda_device<BITS> *, \
                                                          const struct sw_cuda_batch<BITS> *,  \
                                                          struct sw_state **, cudaStream_t);   \
    template cudaError_t sw_cuda_launch_next_piece<BITS>(const struct sw_cuda_device<BITS> *,  \
                                                         cudaStream_t);                        \
    template cudaError_t sw_cuda_launch_last_piece<BITS>(const struct sw_cuda_device<BITS> *,  \
                                                         cudaStream_t);
SW_FORMATS(INSTANTIATE)
