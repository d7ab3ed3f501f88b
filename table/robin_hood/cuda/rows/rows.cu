/* SPDX-License-Identifier: MIT
 *
 * rows.cu - rows on CUDA: the memory of their data phase, and the order of its kernels.
 */
#include "table/robin_hood/cuda/rows/rows.cuh"

size_t sw_cuda_rows_cut(struct sw_cuda_rows *rows, void *base)
{
    struct sw_cuda_cutter cutter = {(char *)base, 0};
    struct sw_cuda_row_scratch *scratch = &rows->scratch;
    const uint64_t n = rows->operations_max;
    sw_cuda_cut(&cutter, &scratch->rows, n);
    sw_cuda_cut(&cutter, &scratch->repeated, n / 32 + 1);
    sw_cuda_cut(&cutter, &scratch->claims, sw_cuda_row_claims(rows->operations_max));
    sw_cuda_cut(&cutter, &scratch->sorted[0], n);
    sw_cuda_cut(&cutter, &scratch->sorted[1], n);
    sw_cuda_cut(&cutter, &scratch->steps, n);
    sw_cuda_cut(&cutter, &scratch->segments, n + 1);
    sw_cuda_cut(&cutter, &scratch->longs, n / SW_CUDA_ROW_LONG + 1);
    sw_cuda_cut(&cutter, &scratch->counts, SW_CUDA_ROW_COUNTS);
    sw_cuda_cut(&cutter, &scratch->control, 1);
    if (rows->key_string_bytes > 0) {
        struct sw_cuda_row_key_strings *key_strings = &rows->key_strings;
        const uint64_t slots = sw_cuda_row_claims(rows->operations_max);
        sw_cuda_cut(&cutter, &key_strings->disputed, 4 + 3 * slots);
        sw_cuda_cut(&cutter, &key_strings->undecided, n / 32 + 1);
        sw_cuda_cut(&cutter, &key_strings->states, slots);
        sw_cuda_cut(&cutter, &key_strings->slots, n);
        sw_cuda_cut(&cutter, &key_strings->saved, n);
        sw_cuda_cut(&cutter, &key_strings->facts, n);
        sw_cuda_cut(&cutter, &key_strings->refused, n);
    }
    return cutter.used;
}

template <int BITS>
cudaError_t sw_cuda_rows_load(struct sw_cuda_rows *rows, uint32_t multiprocessors)
{
    cudaError_t error = sw_cuda_load_row_prepare<BITS>();
    if (error == cudaSuccess) {
        error = sw_cuda_load_row_key_strings<BITS>();
    }
    if (error == cudaSuccess) {
        error = sw_cuda_load_row_look_up<BITS>();
    }
    if (error == cudaSuccess) {
        error = sw_cuda_load_row_effects<BITS>();
    }
    if (error == cudaSuccess) {
        error = sw_cuda_load_row_moves<BITS>();
    }
    if (error == cudaSuccess) {
        error = sw_cuda_load_row_repeats<BITS>(multiprocessors, &rows->repeats_blocks);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_load_row_get<BITS>();
    }
    return error == cudaSuccess ? sw_cuda_load_row_gather<BITS>() : error;
}

template <int BITS>
cudaError_t sw_cuda_launch_row_data(struct sw_cuda_rows *rows,
                                    const struct sw_cuda_row_batch<BITS> *batch,
                                    cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (batch->count > 0 && (!batch->looked_up || batch->engine_found != NULL)) {
        error = sw_cuda_launch_row_effects<BITS>(rows, batch, stream);
    }
    if (error == cudaSuccess && batch->count > 0) {
        error = sw_cuda_launch_row_moves<BITS>(rows, batch, stream);
    }
    return error == cudaSuccess ? sw_cuda_launch_row_repeats<BITS>(rows, batch, stream) : error;
}

#define INSTANTIATE(BITS, ...)                                                     \
    template cudaError_t sw_cuda_rows_load<BITS>(struct sw_cuda_rows *, uint32_t); \
    template cudaError_t sw_cuda_launch_row_data<BITS>(                            \
        struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t);
SW_WIDTHS(INSTANTIATE)
