/* SPDX-License-Identifier: MIT
 *
 * row_repeats.cu - carries out the operations on rows that occur more than once in a batch, in
 * array order for each row; and updates the stack after the batch.
 *
 * The operations are sorted by row, stably: the operations on one row form a run. Runs are cut into
 * segments. A segment begins at the start of a run and at each operation that replaces the whole
 * row (a seed), since the result of a seed does not depend on earlier operations. So segments are
 * carried out in parallel. One thread carries out each number of a row from the first step to the
 * last. The answer of a seed comes from the segment before it.
 *
 * Invariant: only the first segment of a run reads the row, and only the last segment writes it. If
 * these are different segments, the last one waits until all first segments are done.
 *
 * In a batch with operations of strings or of parts of rows, whole runs are carried out in parallel
 * (row_order.cuh).
 *
 * Memory order: a grid barrier completes each step in all blocks before the next step begins (M4).
 */
#include "table/device/cooperative_blocks.cuh"
#include "table/robin_hood/cuda/rows/row_hot.cuh"
#include "table/robin_hood/cuda/rows/row_long_runs.cuh"
#include "table/robin_hood/cuda/rows/row_order.cuh"
#include "table/robin_hood/cuda/rows/row_short.cuh"

union repeats_memory {
    struct sort_memory sort;
    struct segment segments[WARPS][GROUP];
    struct hot_memory hot;
    struct long_memory longs;
};

/* Kinds of rows and operands. */
enum repeats { PLAIN, WIDE, KEY_STRINGS, IN_ORDER };

template <int BITS, enum repeats KIND>
static __device__ inline void carry_out_repeats(const struct sw_cuda_rows &rows,
                                                const struct sw_cuda_row_batch<BITS> &batch)
{
    __shared__ union repeats_memory memory;
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    struct runs runs = sort_steps<BITS, KIND == KEY_STRINGS>(rows, batch, &memory.sort);
    cut_runs<KIND == KEY_STRINGS>(rows.scratch, &runs, &memory.sort);
    const uint32_t odd = rows.scratch.control->odd;
    const bool pairs = (odd & STEP_OF_PAIRS) != 0;
    const uint32_t unit =
        row_unit((odd & ~STEP_OF_PAIRS) | row_operand_bytes<BITS>(batch, rows.value_bytes) |
                 (KIND == KEY_STRINGS ? rows.key_string_bytes : 0));
    for (uint32_t turn = 0; turn < 2; turn++) {
        const bool waiting = turn == 1;
        struct segment *own = memory.segments[threadIdx.x / 32];
        if constexpr (KIND == WIDE) {
            carry_out_short<uint32_t, uint2>(rows, runs, waiting, own);
        } else if (unit == 16) {
            carry_out_short<uint4, uint4, KIND == KEY_STRINGS>(rows, runs, waiting, own);
        } else if (unit == 8) {
            carry_out_short<uint2, uint2, KIND == KEY_STRINGS>(rows, runs, waiting, own);
        } else {
            carry_out_short<uint32_t, uint32_t, KIND == KEY_STRINGS>(rows, runs, waiting, own);
        }
        if (!waiting) {
            grid.sync(); /* M4: the list of long segments */
        }
        __syncthreads(); /* M2: all warps have read memory.segments */
        if constexpr (KIND == PLAIN) {
            carry_out_hot(rows, runs, waiting, &memory.hot);
        }
        if constexpr (KIND != KEY_STRINGS) {
            carry_out_long<KIND == WIDE>(rows, runs, waiting, pairs, &memory.longs);
        }
        if (!waiting) {
            grid.sync(); /* M4: the first segments of all runs have read their rows */
        }
    }
}

union in_order_memory {
    struct sort_memory sort;
    struct sw_string_space spaces[WARPS];
};

/* For a batch whose runs are carried out step by step. */
template <int BITS>
static __device__ inline void carry_out_by_runs(const struct sw_cuda_rows &rows,
                                                const struct sw_cuda_row_batch<BITS> &batch)
{
    __shared__ union in_order_memory memory;
    struct runs runs = sort_steps<BITS, false>(rows, batch, &memory.sort);
    cut_runs<false>(rows.scratch, &runs, &memory.sort);
    carry_out_in_order<BITS>(rows, batch, runs, &memory.spaces[threadIdx.x / 32]);
}

template <int BITS, enum repeats KIND>
static __global__ void __launch_bounds__(OVERFULL_THREADS, OVERFULL_BLOCKS_PER_SM)
    repeats_kernel(const struct sw_cuda_rows rows, const struct sw_cuda_row_batch<BITS> batch)
{
    struct sw_cuda_row_control *control = rows.scratch.control;
    if (control->repeats != 0) {
        if constexpr (KIND == IN_ORDER) {
            carry_out_by_runs<BITS>(rows, batch);
        } else {
            carry_out_repeats<BITS, KIND>(rows, batch);
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) { /* M8: no thread reads it after the last barrier */
        const uint64_t taken = row_taken<BITS>(rows, batch);
        rows.stack->free_count = rows.stack->free_count - taken + control->given;
        rows.stack->high += control->fresh;
    }
}

template <int BITS>
cudaError_t sw_cuda_launch_row_repeats(const struct sw_cuda_rows *rows,
                                       const struct sw_cuda_row_batch<BITS> *batch,
                                       cudaStream_t stream)
{
    struct sw_cuda_rows to = *rows;
    struct sw_cuda_row_batch<BITS> what = *batch;
    void *arguments[] = {&to, &what};
    return cudaLaunchCooperativeKernel(
        batch->in_order              ? repeats_kernel<BITS, IN_ORDER>
        : rows->key_string_bytes > 0 ? repeats_kernel<BITS, KEY_STRINGS>
        : batch->wide                ? repeats_kernel<BITS, WIDE>
                                     : repeats_kernel<BITS, PLAIN>,
        dim3(rows->repeats_blocks), dim3(OVERFULL_THREADS), arguments, 0, stream);
}

template <int BITS> cudaError_t sw_cuda_load_row_repeats(uint32_t multiprocessors, uint32_t *blocks)
{
    uint32_t wide = 0;
    uint32_t key_strings = 0;
    uint32_t in_order = 0;
    cudaError_t error = sw_cuda_cooperative_blocks(repeats_kernel<BITS, PLAIN>, OVERFULL_THREADS,
                                                   multiprocessors, OVERFULL_BLOCKS_PER_SM, blocks);
    if (error == cudaSuccess) {
        error = sw_cuda_cooperative_blocks(repeats_kernel<BITS, WIDE>, OVERFULL_THREADS,
                                           multiprocessors, OVERFULL_BLOCKS_PER_SM, &wide);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_cooperative_blocks(repeats_kernel<BITS, KEY_STRINGS>, OVERFULL_THREADS,
                                           multiprocessors, OVERFULL_BLOCKS_PER_SM, &key_strings);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_cooperative_blocks(repeats_kernel<BITS, IN_ORDER>, OVERFULL_THREADS,
                                           multiprocessors, OVERFULL_BLOCKS_PER_SM, &in_order);
    }
    wide = wide < key_strings ? wide : key_strings;
    wide = wide < in_order ? wide : in_order;
    *blocks = *blocks < wide ? *blocks : wide;
    *blocks = *blocks < SW_CUDA_REST_BLOCKS_MAX ? *blocks : SW_CUDA_REST_BLOCKS_MAX;
    return error;
}

#define INSTANTIATE(BITS, ...)                                                              \
    template cudaError_t sw_cuda_launch_row_repeats<BITS>(                                  \
        const struct sw_cuda_rows *, const struct sw_cuda_row_batch<BITS> *, cudaStream_t); \
    template cudaError_t sw_cuda_load_row_repeats<BITS>(uint32_t, uint32_t *);
SW_WIDTHS(INSTANTIATE)
