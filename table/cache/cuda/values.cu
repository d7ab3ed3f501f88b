/* SPDX-License-Identifier: MIT
 *
 * values.cu - the last kernel of a slice in MEMORY mode: copies values to their places, and answers
 * (rows.cuh). No two values go to one slot, and nothing else writes slots meanwhile (M8).
 */
#include "table/cache/cuda/copy.cuh"
#include "table/cache/cuda/places.cuh"
#include "table/device/occupancy.cuh"

/* Returns source and destination of the value of operation `id`; `from` NULL: the value goes
 * nowhere. */
static __device__ __forceinline__ struct sw_cache_transfer
transfer_of(const struct sw_cache_slice *slice, uint32_t id)
{
    const struct sw_cache_table_batch *batch = &slice->batch;
    uint64_t index = slice->first + id;
    uint64_t place = slice->rows.places[id];
    uint64_t slot = SW_CACHE_PLACE_SLOT(place);
    struct sw_cache_transfer transfer = {NULL, NULL};
    /* another row may have evicted the entry from its second bucket */
    if (place < SW_CACHE_PLACE_NONE &&
        sw_cache_entry_at(&batch->slots, slot)->key == batch->scratch.keys[index]) {
        transfer.from = batch->values + index * batch->slots.value_bytes;
        transfer.to = sw_cache_value_at(&batch->slots, slot);
    }
    return transfer;
}

/* Answers and counts the results. All threads. */
static __device__ __forceinline__ void answer(const struct sw_cache_slice *slice, uint32_t id)
{
    const struct sw_cache_table_batch *batch = &slice->batch;
    uint32_t result = SW_CACHE_ROW_REST;
    if (id < slice->count) {
        result = SW_CACHE_PLACE_RESULT(slice->rows.places[id]);
    }
    if (result != SW_CACHE_ROW_REST && (batch->found != NULL || batch->not_admitted != NULL)) {
        batch->scratch.results[slice->first + id] = (uint8_t)result;
    }
    sw_cache_count_results(&batch->tally->list, result, result == SW_CACHE_ROW_REST);
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS,
                                         SW_CUDA_RESIDENT_BLOCKS(SW_CACHE_THREADS, 6))
    values_kernel(const struct sw_cache_slice slice)
{
    __shared__ struct sw_cache_transfer transfers[SW_CACHE_THREADS];
    sw_cuda_follow();
    uint32_t id = blockIdx.x * SW_CACHE_THREADS + threadIdx.x;
    struct sw_cache_transfer transfer = {NULL, NULL};
    if (id < slice.count) {
        transfer = transfer_of(&slice, id);
    }
    answer(&slice, id);
    struct sw_cache_transfer *mine = transfers + threadIdx.x / 32 * 32;
    uint32_t count =
        sw_cache_append_transfers(mine, 0, transfer.from != NULL, transfer.from, transfer.to);
    __syncwarp(); /* M3: the list of all lanes */
    sw_cache_copy_transfers(mine, count, slice.batch.slots.value_bytes);
}

cudaError_t sw_cache_launch_values(const struct sw_cache_slice *slice, cudaStream_t stream)
{
    return sw_cuda_launch_following(true, values_kernel, sw_cache_blocks(slice->count),
                                    SW_CACHE_THREADS, stream, *slice);
}
