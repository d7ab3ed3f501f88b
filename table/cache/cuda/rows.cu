/* SPDX-License-Identifier: MIT
 *
 * rows.cu - a large batch that writes, in pieces for which rows have room (rows.cuh).
 */
#include "table/cache/cuda/rows.cuh"

#include "table/cache/cuda/bins.cuh"

/* The key of an operation, which may lie in host memory: it is loaded once. */
static __device__ __forceinline__ uint64_t take_key(const struct sw_cache_piece *piece, uint32_t id)
{
    uint64_t index = piece->first + id;
    uint64_t key = sw_cache_table_key(piece->batch.keys, piece->batch.key_bytes, index);
    piece->batch.scratch.keys[index] = key;
    return key;
}

/* Puts operations in the parts of their buckets. THROUGHPUT mode. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    part_kernel(const struct sw_cache_piece piece)
{
    sw_cuda_follow();
    const struct sw_cache_rows *rows = &piece.rows;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    uint32_t at = 0;
    if (id < piece.count) {
        struct sw_cache_home home = sw_cache_home_of(&piece.batch.slots, take_key(&piece, id));
        uint64_t part = home.first / rows->part_rows;
        uint32_t code = SW_CACHE_PART_CODE(home.first % rows->part_rows, home.digest);
        at = atomicAdd(&rows->part_counts[part].ops, 1U);
        if (at < rows->part_ops) {
            *(uint2 *)(rows->parts + part * rows->part_ops + at) = make_uint2(id, code);
        }
    }
    sw_cache_leave_for_later(rows, at >= rows->part_ops, id);
}

/* Counts the operations of each row; places[id] is which one of its row an operation is. MEMORY
 * mode. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    count_kernel(const struct sw_cache_piece piece)
{
    sw_cuda_follow();
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    if (id < piece.count) {
        struct sw_cache_home home = sw_cache_home_of(&piece.batch.slots, take_key(&piece, id));
        piece.rows.places[id] = atomicAdd(piece.rows.counts + home.first, 1U);
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
    cudaError_t error =
        sw_cuda_launch_following(piece->first != 0, count_kernel, sw_cache_blocks(piece->count),
                                 SW_CACHE_THREADS, stream, *piece);
    if (error == cudaSuccess) {
        error = sw_cache_launch_present(piece, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cache_launch_newcomers(piece, stream);
    }
    return error == cudaSuccess ? sw_cache_launch_values(piece, stream) : error;
}

static cudaError_t launch_piece(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    cudaError_t error =
        piece->batch.slots.two ? launch_in_two(piece, stream) : launch_in_one(piece, stream);
    struct sw_cache_chosen rest = {piece->first, piece->count, piece->rows.rest,
                                   piece->rows.rest_count};
    return error == cudaSuccess ? sw_cache_launch_bins(&piece->batch, &rest, true, stream) : error;
}

/* The next piece has the other counter. */
static void swap_counters(struct sw_cache_rows *rows)
{
    uint32_t *used = rows->rest_count;
    rows->rest_count = rows->rest_count_next;
    rows->rest_count_next = used;
}

static cudaError_t launch_pieces(const struct sw_cache_table_batch *batch, bool plain,
                                 struct sw_cache_rows *rows, cudaStream_t stream)
{
    uint32_t most =
        rows->ops_max < batch->scratch.bins.ops_max ? rows->ops_max : batch->scratch.bins.ops_max;
    cudaError_t error = cudaSuccess;
    uint64_t first = 0;
    do {
        uint64_t left = batch->count - first;
        struct sw_cache_piece piece = {*batch, *rows, first, 0, plain};
        piece.count = (uint32_t)(left < most ? left : most);
        error = launch_piece(&piece, stream);
        swap_counters(rows);
        first += piece.count;
    } while (error == cudaSuccess && first < batch->count);
    return error;
}

/* Whether it is a SET, and nothing but bits is answered. */
static bool is_plain(const struct sw_cache_table_batch *batch)
{
    bool uses = batch->slots.policy != SW_CACHE_CUSTOM || batch->scores != NULL;
    return batch->op == SW_SET && uses && batch->previous == NULL && batch->scores_out == NULL &&
           batch->leftover_keys == NULL;
}

bool sw_cache_rows_suit(const struct sw_cache_table_batch *batch, const struct sw_cache_rows *rows)
{
    return rows->ops_max > 0 && batch->ops == NULL && (!batch->slots.two || is_plain(batch)) &&
           batch->count >= rows->ops_min &&
           batch->count <= (uint64_t)rows->ops_max * SW_CACHE_PIECES_MAX;
}

cudaError_t sw_cache_launch_rows(const struct sw_cache_table_batch *batch,
                                 struct sw_cache_rows *rows, cudaStream_t stream)
{
    return launch_pieces(batch, is_plain(batch), rows, stream);
}

cudaError_t sw_cache_warm_up_rows(const struct sw_cache_table_batch *batch,
                                  struct sw_cache_rows *rows, cudaStream_t stream)
{
    struct sw_cache_table_batch nothing = *batch;
    nothing.count = 0;
    cudaError_t error = launch_pieces(&nothing, true, rows, stream);
    return error == cudaSuccess && !batch->slots.two ? launch_pieces(&nothing, false, rows, stream)
                                                     : error;
}
