/* SPDX-License-Identifier: MIT
 *
 * row_prepare.cu - before the engine: computes the preallocated row of each operation, and the
 * operation on integers that the engine runs for it.
 */
#include "table/device/follow.cuh"
#include "table/robin_hood/cuda/rows/rows.cuh"

/* The preallocated row of operation i is row i from the top of the stack. After the end of the
 * stack, the rows follow that were never used. */
template <int BITS>
static __global__ void __launch_bounds__(SW_CUDA_BLOCK)
    prepare_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch)
{
    typedef typename sw_width<BITS>::word word;
    const uint32_t i = blockIdx.x * SW_CUDA_BLOCK + threadIdx.x;
    sw_cuda_follow();
    if (i == 0) {
        *rows.scratch.control = {};
    }
    if (i < batch.count && i % 32 == 0) {
        rows.scratch.repeated[i / 32] = 0;
    }
    if (i < batch.count && i % 64 == 0 && batch.looked_up) {
        batch.found[i / 64] = 0;
    }
    if (i < batch.count && batch.ops != NULL) {
        const bool left_out =
            rows.key_string_bytes > 0 && (rows.key_strings.facts[i] & SW_ROW_VOID) != 0;
        batch.engine_ops[i] =
            (uint8_t)(left_out ? (uint32_t)SW_GET : sw_cuda_row_engine_op(batch.ops[i]));
    }
    if (i < batch.count && batch.inserts) {
        const uint64_t free_count = rows.stack->free_count;
        batch.preallocated[i] = (word)(i < free_count ? rows.free[free_count - 1 - i]
                                                      : rows.stack->high + (i - free_count));
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_row_prepare(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream)
{
    const uint32_t blocks = batch->count / SW_CUDA_BLOCK + 1;
    prepare_kernel<BITS><<<blocks, SW_CUDA_BLOCK, 0, stream>>>(*rows, *batch);
    return cudaGetLastError();
}

template <int BITS> cudaError_t sw_cuda_load_row_prepare(void)
{
    struct cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, prepare_kernel<BITS>);
}

#define INSTANTIATE(BITS, ...)                                                              \
    template cudaError_t sw_cuda_launch_row_prepare<BITS>(                                  \
        const struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_prepare<BITS>(void);
SW_WIDTHS(INSTANTIATE)
