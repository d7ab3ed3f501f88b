/* SPDX-License-Identifier: MIT
 *
 * rows.cu - a large batch that writes, in pieces for which rows have room.
 */
#include "table/cache/cuda/rows.cuh"

/* Makes the number 0 again. */
static __global__ void end_kernel(uint32_t *rest_count)
{
    *rest_count = 0;
}

static cudaError_t launch_piece(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    cudaError_t error = sw_cache_launch_present(piece, stream);
    if (error == cudaSuccess) {
        error = sw_cache_launch_newcomers(piece, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cache_launch_values(piece, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cache_launch_write_some(&piece->launch, piece->rows.rest, piece->rows.rest_count,
                                           piece->first, stream);
    }
    end_kernel<<<1, 1, 0, stream>>>(piece->rows.rest_count);
    return error == cudaSuccess ? cudaGetLastError() : error;
}

cudaError_t sw_cache_launch_rows(const struct sw_cache_launch *launch,
                                 const struct sw_cache_rows *rows, cudaStream_t stream)
{
    uint64_t count = launch->work.batch.count;
    struct sw_cache_piece piece = {*launch, *rows, 0, 0};
    cudaError_t error = cudaSuccess;
    do {
        uint64_t left = count - piece.first;
        piece.count = (uint32_t)(left < rows->ops_max ? left : rows->ops_max);
        piece.launch.totals.keep = launch->totals.keep || piece.count < left;
        error = launch_piece(&piece, stream);
        piece.first += piece.count;
    } while (error == cudaSuccess && piece.first < count);
    return error;
}

cudaError_t sw_cache_warm_up_rows(const struct sw_cache_launch *launch,
                                  const struct sw_cache_rows *rows, cudaStream_t stream)
{
    struct sw_cache_piece piece = {*launch, *rows, 0, 0};
    cudaError_t error = cudaSuccess;
    piece.launch.work.batch.evicted_values = rows->places; /* asked for: a kernel of its own */
    for (uint32_t op = 0; op < SW_CACHE_OP_COUNT && error == cudaSuccess; op++) {
        piece.launch.work.batch.op = (enum sw_cache_op)op;
        if (sw_cache_op_writes(op) &&
            sw_cache_is_of_present(&launch->slots, &piece.launch.work.batch)) {
            error = sw_cache_launch_present(&piece, stream);
        } else if (sw_cache_op_writes(op) && op != SW_CACHE_ACCUM_OR_ASSIGN && rows->ops_max > 0) {
            error = launch_piece(&piece, stream);
        }
    }
    return error;
}
