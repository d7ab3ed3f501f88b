/* SPDX-License-Identifier: MIT
 *
 * rows.cu - a large batch that writes, in pieces for which rows have room (rows.cuh).
 */
#include "table/cache/cuda/rows.cuh"

/* Puts operations in the parts of their buckets. THROUGHPUT mode. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    part_kernel(const struct sw_cache_piece piece)
{
    sw_cuda_follow();
    const struct sw_cache_rows *rows = &piece.rows;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    if (id >= piece.count) {
        return;
    }
    uint64_t key = piece.launch.work.batch.keys[piece.first + id];
    struct sw_cache_home home = sw_cache_home_of(&piece.launch.slots, key);
    uint64_t part = home.first / rows->part_rows;
    uint32_t code = SW_CACHE_PART_CODE(home.first % rows->part_rows, home.digest);
    uint32_t at = atomicAdd(&rows->part_counts[part].ops, 1U);
    if (at < rows->part_ops) {
        *(uint2 *)(rows->parts + part * rows->part_ops + at) = make_uint2(id, code);
    } else {
        rows->rest[atomicAdd(rows->rest_count, 1U)] = id;
    }
}

static cudaError_t launch_in_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    cudaError_t error =
        sw_cuda_launch_following(piece->first != 0, part_kernel, sw_cache_blocks(piece->count),
                                 SW_CACHE_THREADS, stream, *piece);
    if (error != cudaSuccess) {
        return error;
    }
    return piece->rows.are_long ? sw_cache_launch_long_rows(piece, stream)
                                : sw_cache_launch_short_rows(piece, stream);
}

static cudaError_t launch_in_two(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    cudaError_t error = sw_cache_launch_present_in_rows(piece, stream);
    if (error == cudaSuccess) {
        error = sw_cache_launch_newcomers(piece, stream);
    }
    return error == cudaSuccess ? sw_cache_launch_values(piece, stream) : error;
}

static cudaError_t launch_piece(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    cudaError_t error =
        piece->launch.slots.two ? launch_in_two(piece, stream) : launch_in_one(piece, stream);
    if (error != cudaSuccess) {
        return error;
    }
    return sw_cache_launch_write_some(&piece->launch, piece->rows.rest, piece->rows.rest_count,
                                      piece->first, stream);
}

/* The next piece has the other counter. */
static void swap_counters(struct sw_cache_rows *rows)
{
    uint32_t *used = rows->rest_count;
    rows->rest_count = rows->rest_count_next;
    rows->rest_count_next = used;
}

cudaError_t sw_cache_launch_rows(const struct sw_cache_launch *launch, struct sw_cache_rows *rows,
                                 cudaStream_t stream)
{
    uint64_t count = launch->work.batch.count;
    uint64_t first = 0;
    cudaError_t error = cudaSuccess;
    do {
        uint64_t left = count - first;
        struct sw_cache_piece piece = {*launch, *rows, first, 0};
        piece.count = (uint32_t)(left < rows->ops_max ? left : rows->ops_max);
        piece.launch.totals.keep = launch->totals.keep || piece.count < left;
        error = launch_piece(&piece, stream);
        swap_counters(rows);
        first += piece.count;
    } while (error == cudaSuccess && first < count);
    return error;
}

cudaError_t sw_cache_warm_up_rows(const struct sw_cache_launch *launch, struct sw_cache_rows *rows,
                                  cudaStream_t stream)
{
    struct sw_cache_launch empty = *launch;
    cudaError_t error = cudaSuccess;
    for (uint32_t op = 0; op < SW_CACHE_OP_COUNT && error == cudaSuccess; op++) {
        empty.work.batch.op = (enum sw_cache_op)op;
        if (!sw_cache_op_writes(op)) {
            continue;
        }
        if (sw_cache_is_of_present(&launch->slots, &empty.work.batch)) {
            error = sw_cache_launch_present(&empty, stream);
        } else if (rows->ops_max > 0 &&
                   sw_cache_op_suits_rows(&launch->slots, empty.work.batch.op)) {
            error = sw_cache_launch_rows(&empty, rows, stream);
        }
    }
    return error;
}
