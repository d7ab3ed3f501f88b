/* SPDX-License-Identifier: MIT
 *
 * rows.cu - executes a large batch that writes, in slices that the rows have room for (rows.cuh).
 */
#include "table/cache/cuda/rows.cuh"

#include "table/cache/cuda/bins.cuh"

/* Loads the key of an operation, once: it may lie in host memory. */
static __device__ __forceinline__ uint64_t take_key(const struct sw_cache_slice *slice, uint32_t id)
{
    uint64_t index = slice->first + id;
    uint64_t key = sw_cache_table_key(slice->batch.keys, slice->batch.key_bytes, index);
    slice->batch.scratch.keys[index] = key;
    return key;
}

/* Moves operations to the ranges of their buckets. THROUGHPUT mode. An atomic reserves a place
 * (M6); one_bucket reads the ranges (M1). */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    range_kernel(const struct sw_cache_slice slice)
{
    sw_cuda_follow();
    const struct sw_cache_rows *rows = &slice.rows;
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    uint32_t at = 0;
    if (id < slice.count) {
        struct sw_cache_candidates candidates =
            sw_cache_candidates_of(&slice.batch.slots, take_key(&slice, id));
        uint64_t range = candidates.first / rows->range_rows;
        uint32_t code = SW_CACHE_RANGE_CODE(candidates.first % rows->range_rows, candidates.digest);
        at = atomicAdd(&rows->range_counts[range].ops, 1U);
        if (at < rows->range_ops) {
            *(uint2 *)(rows->ranges + range * rows->range_ops + at) = make_uint2(id, code);
        }
    }
    sw_cache_leave_for_later(rows, at >= rows->range_ops, id);
}

/* Counts the operations of each row; places[id] is the rank of an operation in its row (M6: the
 * word before the addition). MEMORY mode. */
static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    count_kernel(const struct sw_cache_slice slice)
{
    sw_cuda_follow();
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    if (id < slice.count) {
        struct sw_cache_candidates candidates =
            sw_cache_candidates_of(&slice.batch.slots, take_key(&slice, id));
        slice.rows.places[id] = atomicAdd(slice.rows.counts + candidates.first, 1U);
    }
}

static cudaError_t launch_in_one(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    cudaError_t error =
        sw_cuda_launch_following(slice->first != 0, range_kernel, sw_cache_blocks(slice->count),
                                 SW_CACHE_THREADS, stream, *slice);
    if (error != cudaSuccess) {
        return error;
    }
    return slice->rows.are_long ? sw_cache_launch_long_rows(slice, stream)
                                : sw_cache_launch_short_rows(slice, stream);
}

static cudaError_t launch_in_two(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    cudaError_t error =
        sw_cuda_launch_following(slice->first != 0, count_kernel, sw_cache_blocks(slice->count),
                                 SW_CACHE_THREADS, stream, *slice);
    if (error == cudaSuccess) {
        error = sw_cache_launch_present(slice, stream);
    }
    if (error == cudaSuccess) {
        error = sw_cache_launch_newcomers(slice, stream);
    }
    return error == cudaSuccess ? sw_cache_launch_values(slice, stream) : error;
}

static cudaError_t launch_piece(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    cudaError_t error =
        slice->batch.slots.two ? launch_in_two(slice, stream) : launch_in_one(slice, stream);
    struct sw_cache_chosen rest = {slice->first, slice->count, slice->rows.rest,
                                   slice->rows.rest_count};
    return error == cudaSuccess ? sw_cache_launch_bins(&slice->batch, &rest, true, stream) : error;
}

/* The next slice uses the other counter. */
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
        struct sw_cache_slice slice = {*batch, *rows, first, 0, plain};
        slice.count = (uint32_t)(left < most ? left : most);
        error = launch_piece(&slice, stream);
        swap_counters(rows);
        first += slice.count;
    } while (error == cudaSuccess && first < batch->count);
    return error;
}

/* Returns whether the batch is a SET whose only answers are bits, with scores if the policy is
 * CUSTOM. */
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
