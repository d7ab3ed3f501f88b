/* SPDX-License-Identifier: MIT
 *
 * read.cu - batches that read: a thread looks a key up; then the warp copies the values of its 32
 * keys as one stream.
 *
 * Nothing writes digests, keys or values meanwhile. Scores may be: by touches, atomically.
 */
#include "table/cache/cuda/look_up.cuh"

/* Blocks of a multiprocessor at a time, at least. */
#ifndef SW_CACHE_READ_BLOCKS
#define SW_CACHE_READ_BLOCKS 4
#endif

/* What a thread tells of its own key. */
template <uint32_t OP>
static __device__ __forceinline__ void answer(const struct sw_cache_launch *launch, uint64_t index,
                                              uint64_t slot)
{
    const struct sw_cache_batch *batch = &launch->work.batch;
    bool hit = slot != SW_CACHE_NOWHERE;
    if (OP == SW_CACHE_FIND_PLACES) {
        batch->places[index] = hit ? sw_cache_value_at(&launch->slots, slot) : NULL;
    }
    uint64_t score = 0;
    if (hit && batch->touch) {
        score = sw_cache_touch(&launch->slots, &launch->work.time, index,
                               sw_cache_given(&launch->work, index), slot);
    } else if (hit && batch->scores_out != NULL) {
        score = __ldcg(&sw_cache_entry_at(&launch->slots, slot)->score);
    }
    if (hit && batch->scores_out != NULL) {
        batch->scores_out[index] = score;
    }
    if (batch->results != NULL) {
        batch->results[index] = hit ? SW_CACHE_HIT : SW_CACHE_MISS;
    }
}

template <uint32_t OP>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, SW_CACHE_READ_BLOCKS)
    read_kernel(const struct sw_cache_launch launch)
{
    const struct sw_cache_slots *slots = &launch.slots;
    const struct sw_cache_batch *batch = &launch.work.batch;
    uint32_t hits = 0;
    uint32_t misses = 0;
    for (uint32_t first = blockIdx.x * SW_CACHE_THREADS; first < batch->count;
         first += gridDim.x * SW_CACHE_THREADS) {
        uint32_t index = first + threadIdx.x;
        bool valid = index < batch->count;
        uint64_t key = valid ? batch->keys[index] : 0;
        struct sw_cache_home home = sw_cache_home_of(slots, key);
        uint64_t slot = valid ? sw_cache_find_one(slots, &home, key) : SW_CACHE_NOWHERE;
        if (valid) {
            answer<OP>(&launch, index, slot);
        }
        if (OP == SW_CACHE_FIND) {
            uint64_t warp_first = index - threadIdx.x % 32;
            uint8_t *out = (uint8_t *)batch->values_out + warp_first * slots->value_bytes;
            sw_cache_copy_values<false>(slots, slot, out, 32);
        }
        hits += slot != SW_CACHE_NOWHERE;
        misses += valid && slot == SW_CACHE_NOWHERE;
    }
    sw_cache_count_look_ups(launch.tally, hits, misses, false);
    if (threadIdx.x == 0) {
        sw_cache_end_block(launch.tally, &launch.totals);
    }
}

template <uint32_t OP>
static cudaError_t launch_one(const struct sw_cache_launch *launch, cudaStream_t stream)
{
    read_kernel<OP>
        <<<sw_cache_look_up_blocks(launch->work.batch.count), SW_CACHE_THREADS, 0, stream>>>(
            *launch);
    return cudaGetLastError();
}

cudaError_t sw_cache_launch_read(const struct sw_cache_launch *launch, cudaStream_t stream)
{
    switch (launch->work.batch.op) {
    case SW_CACHE_FIND:
        return launch_one<SW_CACHE_FIND>(launch, stream);
    case SW_CACHE_FIND_PLACES:
        return launch_one<SW_CACHE_FIND_PLACES>(launch, stream);
    default:
        return launch_one<SW_CACHE_CONTAINS>(launch, stream);
    }
}
