/* SPDX-License-Identifier: MIT
 *
 * table_erase.cu - a table's batches of DELETE alone.
 *
 * One thread per operation looks its key up. If the batch does not request which operation erased
 * an entry, the operation that clears its digest counts. Otherwise the first operation in array
 * order must count: all operations that find the entry set its score to UINT64_MAX. Then each
 * lowers the score to its own number (atomicMin). The operation whose number remains has erased the
 * entry.
 */
#include "table/cache/cuda/look_up.cuh"
#include "table/cache/cuda/table_end.cuh"
#include "table/device/bits.cuh"
#include "table/device/warp_reduce.cuh"

static __device__ __forceinline__ uint64_t find(const struct sw_cache_table_batch *batch,
                                                uint32_t index)
{
    uint64_t key = sw_cache_table_key(batch->keys, batch->key_bytes, index);
    struct sw_cache_candidates candidates = sw_cache_candidates_of(&batch->slots, key);
    return sw_cache_find_one(&batch->slots, &candidates, key);
}

/* Adds the operations of a block to the batch's words. All threads. */
static __device__ __forceinline__ void count(const struct sw_cache_table_batch *batch,
                                             uint32_t hits, uint32_t misses)
{
    __shared__ uint32_t sums[2];
    uint64_t *words = batch->tally->words;
    if (threadIdx.x < 2) {
        sums[threadIdx.x] = 0;
    }
    __syncthreads(); /* M2: the sums are zero */
    hits = sw_reduce_add(hits);
    misses = sw_reduce_add(misses);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums[0], misses);
        atomicAdd(&sums[1], hits);
    }
    __syncthreads(); /* M2: the sums of all warps */
    if (threadIdx.x == 0) {
        uint64_t *its_class = words + SW_CACHE_WORD_CLASS + 3 * SW_CLASS_DELETE;
        sw_cache_add_to(&its_class[0], sums[0]);
        sw_cache_add_to(&its_class[1], sums[1]);
        sw_cache_add_to(&its_class[2], (sums[0] + sums[1]) * (batch->slots.two ? 2 : 1));
        sw_cache_add_to(&words[SW_CACHE_WORD_DELETED], sums[1]);
        sw_cache_end_table_block(batch);
    }
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS, 4)
    erase_kernel(const struct sw_cache_table_batch batch)
{
    uint32_t hits = 0;
    uint32_t misses = 0;
    for (uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x; index < batch.count;
         index += gridDim.x * SW_CACHE_THREADS) {
        uint64_t slot = find(&batch, index);
        bool hit = slot != SW_CACHE_NOWHERE && sw_cache_clear_digest(&batch.slots, slot);
        hits += hit;
        misses += !hit;
    }
    count(&batch, hits, misses);
}

/* --- with answers ----------------------------------------------------------------------------- */

static __device__ __forceinline__ unsigned long long *
score_at(const struct sw_cache_table_batch *batch, uint64_t slot)
{
    return (unsigned long long *)&sw_cache_entry_at(&batch->slots, slot)->score;
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS, 4)
    find_kernel(const struct sw_cache_table_batch batch)
{
    for (uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x; index < batch.count;
         index += gridDim.x * SW_CACHE_THREADS) {
        uint64_t slot = find(&batch, index);
        batch.scratch.places[index] = slot;
        if (slot != SW_CACHE_NOWHERE) {
            *score_at(&batch, slot) = UINT64_MAX;
        }
    }
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS)
    claim_kernel(const struct sw_cache_table_batch batch)
{
    for (uint32_t index = blockIdx.x * SW_CACHE_THREADS + threadIdx.x; index < batch.count;
         index += gridDim.x * SW_CACHE_THREADS) {
        uint64_t slot = batch.scratch.places[index];
        if (slot != SW_CACHE_NOWHERE) {
            /* M6: the lowest index remains; the next kernel loads it (M1) */
            atomicMin(score_at(&batch, slot), (unsigned long long)index);
        }
    }
}

static __global__ void __launch_bounds__(SW_CACHE_THREADS, 4)
    erase_claimed_kernel(const struct sw_cache_table_batch batch)
{
    uint32_t bytes = batch.slots.value_bytes;
    uint32_t hits = 0;
    uint32_t misses = 0;
    for (uint32_t first = blockIdx.x * SW_CACHE_THREADS; first < batch.count;
         first += gridDim.x * SW_CACHE_THREADS) {
        uint32_t index = first + threadIdx.x;
        bool valid = index < batch.count;
        uint64_t slot = valid ? batch.scratch.places[index] : SW_CACHE_NOWHERE;
        bool hit = slot != SW_CACHE_NOWHERE && __ldcg(score_at(&batch, slot)) == index;
        if (hit) {
            sw_cache_clear_digest(&batch.slots, slot);
        }
        if (valid && batch.scores_out != NULL) {
            batch.scores_out[index] = 0;
        }
        sw_bits_answer<SW_CACHE_THREADS>(batch.found, batch.count, first, hit);
        sw_bits_answer<SW_CACHE_THREADS>(batch.not_admitted, batch.count, first, false);
        uint32_t warp_first = index - threadIdx.x % 32;
        if (batch.previous != NULL && warp_first < batch.count) {
            sw_cache_copy_values<true>(&batch.slots, hit ? slot : SW_CACHE_NOWHERE,
                                       batch.previous + (uint64_t)warp_first * bytes,
                                       batch.count - warp_first);
        }
        hits += hit;
        misses += valid && !hit;
    }
    count(&batch, hits, misses);
}

cudaError_t sw_cache_table_delete(const struct sw_cache_table_batch *batch, cudaStream_t stream)
{
    uint32_t blocks = sw_cache_look_up_blocks(batch->count);
    if (batch->found == NULL && batch->not_admitted == NULL && batch->previous == NULL &&
        batch->scores_out == NULL) {
        erase_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
        return cudaGetLastError();
    }
    find_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    claim_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    erase_claimed_kernel<<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    return cudaGetLastError();
}
