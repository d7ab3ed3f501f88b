/* SPDX-License-Identifier: MIT
 *
 * row_meets.cu - marks the operations on rows that a batch has more than once, among those that
 * were noted: row_claims.cuh.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/row_claims.cuh"

/* `again`: keys have been looked up and noted before; nothing is new if none was absent. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    meets_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch,
                 const struct row_claims claims, bool again)
{
    sw_cuda_follow();
    if (again && rows.scratch.control->absent == 0) {
        return;
    }
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    const uint32_t row = i < batch.count ? rows.scratch.rows[i] : SW_CUDA_NO_ROW;
    bool repeated = false;
    if (row != SW_CUDA_NO_ROW) {
        const uint32_t op = batch.ops != NULL ? batch.ops[i] : batch.op;
        const bool touches = batch.answers || sw_row_effect(op, true) == SW_EFFECT_WRITE ||
                             sw_row_effect(op, false) == SW_EFFECT_WRITE;
        const uint32_t other = touches ? *row_note(claims, row) : i;
        repeated = other != i && other < batch.count && rows.scratch.rows[other] == row;
        if (repeated && (rows.scratch.repeated[other / 32] >> other % 32 & 1) == 0) {
            row_mark(claims.repeated, other, 1);
        } else if (!repeated && other != i) {
            row_claim(claims, row, i);
        }
    }
    const uint32_t repeated_here = __ballot_sync(SW_WARP_ALL, repeated);
    if (threadIdx.x % 32 == 0 && repeated_here != 0) {
        row_mark(claims.repeated, i, repeated_here);
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_row_meets(const struct sw_cuda_rows *rows,
                                     const struct sw_cuda_row_batch<BITS> *batch, bool again,
                                     cudaStream_t stream)
{
    if (!row_writes<BITS>(batch)) {
        return cudaSuccess;
    }
    return sw_cuda_launch_following(
        true, meets_kernel<BITS>, (batch->count + SW_CUDA_BLOCK - 1) / SW_CUDA_BLOCK, SW_CUDA_BLOCK,
        stream, *rows, *batch, row_claims_of<BITS>(rows, batch), again);
}

template <int BITS> cudaError_t sw_cuda_load_row_meets(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, meets_kernel<BITS>);
}

#define INSTANTIATE(BITS, ...)                                                                    \
    template cudaError_t sw_cuda_launch_row_meets<BITS>(                                          \
        const struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, bool, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_meets<BITS>(void);
SW_WIDTHS(INSTANTIATE)
