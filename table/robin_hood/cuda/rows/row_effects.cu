/* SPDX-License-Identifier: MIT
 *
 * row_effects.cu - after the engine: finds the row of each operation of a batch. If keys were
 * looked up before the engine, the rows of present keys are known and claimed already.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/rows/row_claims.cuh"
#include "table/robin_hood/cuda/rows/row_effects.cuh"

/* Returns whether an earlier operation of the batch inserted the key of operation i, which was
 * absent at the look-up. */
template <int BITS>
static __device__ inline bool row_was_inserted(const struct sw_cuda_row_batch<BITS> &batch,
                                               uint32_t i)
{
    return batch.engine_found != NULL && (batch.engine_found[i / 64] >> (i % 64) & 1) != 0;
}

/* Finds the rows of the operations of a piece. Returns to each thread how many never-used rows must
 * be taken so that its operation has its row; 0: none. */
template <int BITS>
static __device__ inline uint32_t
find_piece_rows(const struct sw_cuda_rows &rows, const struct sw_cuda_row_batch<BITS> &batch,
                const struct row_claims &claims, const struct row_chunk &piece, uint64_t free_count)
{
    const uint32_t base = piece.begin + threadIdx.x / 32 * 32;
    const uint32_t i = piece.begin + threadIdx.x;
    struct row_effect effect = {};
    uint32_t row = SW_CUDA_NO_ROW;
    bool known = false;
    bool came = false;
    if (i < piece.end) {
        const bool found = row_found<BITS>(batch, i);
        came = batch.looked_up && !found && row_was_inserted<BITS>(batch, i);
        effect = row_effect_of<BITS>(batch, i, found || came);
        known = batch.looked_up && found && !effect.refused;
        row = effect.found     ? (uint32_t)batch.previous[i]
              : effect.inserts ? (uint32_t)batch.preallocated[i]
                               : SW_CUDA_NO_ROW;
    }
    if (i < piece.end && !known) {
        rows.scratch.rows[i] = row;
    }
    const bool touches =
        !known && row != SW_CUDA_NO_ROW && (effect.writes || piece.previous != NULL);
    row_claim_all<1>(claims, base, &row, &touches);
    if (batch.looked_up) {
        const uint32_t came_here = __ballot_sync(SW_WARP_ALL, came);
        if (threadIdx.x % 32 == 0 && came_here != 0) {
            row_mark((uint32_t *)batch.found, base, came_here);
        }
    }
    return effect.inserts && i >= free_count ? (uint32_t)(i - free_count) + 1 : 0;
}

template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    row_effects_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch,
                       const struct row_claims claims)
{
    __shared__ uint32_t block_fresh;
    sw_cuda_follow();
    if (batch.looked_up && rows.scratch.control->absent == 0) {
        return; /* the batch inserted nothing and refused nothing */
    }
    const uint64_t free_count = rows.stack->free_count;
    uint32_t fresh = 0;
    if (threadIdx.x == 0) {
        block_fresh = 0;
    }
    __syncthreads(); /* M2: `block_fresh` is zero */
    for (uint32_t number = blockIdx.x; number < batch.chunks * ROW_PIECES; number += gridDim.x) {
        const struct row_chunk piece = row_piece_of<BITS>(batch, number, rows.value_bytes);
        fresh = max(fresh, find_piece_rows<BITS>(rows, batch, claims, piece, free_count));
    }
    if (fresh > 0) {
        atomicMax(&block_fresh, fresh);
    }
    __syncthreads(); /* M2: all threads have raised `block_fresh` */
    if (threadIdx.x == 0 && block_fresh > 0) {
        atomicMax(&rows.scratch.control->fresh, block_fresh);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_row_effects(struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream)
{
    cudaError_t error = batch->looked_up ? cudaSuccess : row_next_epoch(rows, stream);
    if (error == cudaSuccess) {
        row_effects_kernel<BITS>
            <<<row_blocks<BITS>(rows, batch, batch->looked_up), SW_CUDA_BLOCK, 0, stream>>>(
                *rows, *batch, row_claims_of<BITS>(rows, batch));
        error = cudaGetLastError();
    }
    return error;
}

template <int BITS> cudaError_t sw_cuda_load_row_effects(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, row_effects_kernel<BITS>);
}

#define INSTANTIATE(BITS, ...)                                                        \
    template cudaError_t sw_cuda_launch_row_effects<BITS>(                            \
        struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_effects<BITS>(void);
SW_WIDTHS(INSTANTIATE)
