/* SPDX-License-Identifier: MIT
 *
 * values.cu - copies the values of a piece of a batch to and from their places, and answers: in
 * MEMORY mode (rows.cuh). Values that are read lie in the cache, or in the batch if it brought
 * them: they are copied before any is written.
 */
#include "table/cache/cuda/copy.cuh"
#include "table/cache/cuda/places.cuh"

enum copying { COPY_READ, COPY_WRITTEN };

template <enum copying WHICH>
static __device__ __forceinline__ struct sw_cache_way way_of(const struct sw_cache_piece *piece,
                                                             uint32_t id)
{
    const struct sw_cache_slots *slots = &piece->launch.slots;
    const struct sw_cache_batch *batch = &piece->launch.work.batch;
    const uint8_t *given = (const uint8_t *)batch->values + piece->first * slots->value_bytes;
    uint32_t bytes = slots->value_bytes;
    uint64_t place = piece->rows.places[id];
    uint64_t number = SW_CACHE_PLACE_NUMBER(place);
    struct sw_cache_way way = {NULL, NULL};
    if (WHICH == COPY_WRITTEN) {
        bool writes = place < SW_CACHE_PLACE_NONE;
        /* it may have left its second bucket, and its row does not know */
        if (writes && sw_cache_entry_at(slots, number)->key != batch->keys[piece->first + id]) {
            writes = false;
        }
        way.from = writes ? given + (uint64_t)id * bytes : NULL;
        way.to = sw_cache_value_at(slots, number);
        return way;
    }
    way.from =
        place & SW_CACHE_PLACE_BATCH ? given + number * bytes : sw_cache_value_at(slots, number);
    bool echo = !(place & (SW_CACHE_PLACE_READ | SW_CACHE_PLACE_BATCH));
    bool rest = SW_CACHE_PLACE_RESULT(place) == SW_CACHE_ROW_REST;
    way.to = (uint8_t *)batch->values_out + (piece->first + id) * bytes;
    way.from = echo ? given + (uint64_t)id * bytes : way.from;
    way.from = rest ? NULL : way.from;
    return way;
}

/* Tells and counts what became of the operation. All threads. */
static __device__ __forceinline__ void answer(const struct sw_cache_piece *piece, uint32_t id)
{
    const struct sw_cache_batch *batch = &piece->launch.work.batch;
    uint32_t result = SW_CACHE_ROW_REST;
    if (id < piece->count) {
        result = SW_CACHE_PLACE_RESULT(piece->rows.places[id]);
    }
    if (result != SW_CACHE_ROW_REST && batch->results != NULL) {
        batch->results[piece->first + id] = (uint8_t)result;
    }
    sw_cache_count_results(piece->launch.tally, result, result == SW_CACHE_ROW_REST, false);
}

template <enum copying WHICH>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, 6)
    values_kernel(const struct sw_cache_piece piece)
{
    __shared__ struct sw_cache_way ways[SW_CACHE_THREADS];
    sw_cuda_follow();
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    struct sw_cache_way way = {NULL, NULL};
    if (id < piece.count) {
        way = way_of<WHICH>(&piece, id);
    }
    if (WHICH == COPY_WRITTEN) {
        answer(&piece, id);
    }
    struct sw_cache_way *mine = ways + threadIdx.x / 32 * 32;
    uint32_t count = sw_cache_append_ways(mine, 0, way.from != NULL, way.from, way.to);
    __syncwarp();
    sw_cache_copy_ways(mine, count, piece.launch.slots.value_bytes);
}

template <enum copying WHICH>
static cudaError_t launch_one(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, values_kernel<WHICH>, sw_cache_blocks(piece->count),
                                    SW_CACHE_THREADS, stream, *piece);
}

cudaError_t sw_cache_launch_values(const struct sw_cache_piece *piece, cudaStream_t stream)
{
    const struct sw_cache_batch *batch = &piece->launch.work.batch;
    cudaError_t error = cudaSuccess;
    if (batch->op == SW_CACHE_FIND_OR_INSERT) {
        error = launch_one<COPY_READ>(piece, stream);
    }
    return error == cudaSuccess ? launch_one<COPY_WRITTEN>(piece, stream) : error;
}
