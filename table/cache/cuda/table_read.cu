/* SPDX-License-Identifier: MIT
 *
 * table_read.cu - a table's batches of reads, scans, and CLEAR.
 */
#include "table/cache/cuda/look_up.cuh"
#include "table/cache/cuda/table_end.cuh"
#include "table/device/bits.cuh"

/* Returns the score of the entry at `slot` after operation `index`. PLAIN: a batch of GETs alone,
 * without scores; each is a use, and the caller ignores the returned score. */
template <bool PLAIN>
static __device__ __forceinline__ uint64_t use(const struct sw_cache_table_batch *batch,
                                               uint32_t index, uint64_t slot)
{
    const struct sw_cache_slots *slots = &batch->slots;
    if (PLAIN) {
        return sw_cache_touch(slots, &batch->time, index, 1, slot);
    }
    uint32_t op = batch->ops != NULL ? batch->ops[index] : batch->op;
    uint32_t actions = sw_cache_table_uses(sw_cache_table_actions(op, false, false), op,
                                           slots->policy, batch->scores != NULL);
    if (actions & SW_CACHE_DO_USE) {
        uint64_t given = sw_cache_table_given(batch->scores, slots->policy, index);
        return sw_cache_touch(slots, &batch->time, index, given, slot);
    }
    return batch->scores_out == NULL ? 0 : __ldcg(&sw_cache_entry_at(slots, slot)->score);
}

/* Looks up key `index`, if the batch has that many keys, and writes the answer; adds misses, hits
 * and probes to `words`. All threads of a block. */
template <bool PLAIN>
static __device__ __forceinline__ void get_one(const struct sw_cache_table_batch *batch,
                                               uint32_t index, uint32_t *words)
{
    const struct sw_cache_slots *slots = &batch->slots;
    bool valid = index < batch->count;
    uint64_t key = valid ? sw_cache_table_key(batch->keys, batch->key_bytes, index) : 0;
    struct sw_cache_candidates candidates = sw_cache_candidates_of(slots, key);
    uint64_t slot = valid ? sw_cache_find_one(slots, &candidates, key) : SW_CACHE_NOWHERE;
    bool found = slot != SW_CACHE_NOWHERE;
    uint64_t score = found ? use<PLAIN>(batch, index, slot) : 0;
    if (!PLAIN && valid && batch->scores_out != NULL) {
        batch->scores_out[index] = score;
    }
    const uint32_t block_first = index - threadIdx.x;
    sw_bits_answer<SW_CACHE_THREADS>(batch->found, batch->count, block_first, found);
    sw_bits_answer<SW_CACHE_THREADS>(batch->not_admitted, batch->count, block_first, false);
    uint32_t warp_first = index - threadIdx.x % 32;
    if (batch->previous != NULL && warp_first < batch->count) {
        sw_cache_copy_values<true>(slots, slot,
                                   batch->previous + (uint64_t)warp_first * slots->value_bytes,
                                   batch->count - warp_first);
    }
    bool second = slots->two && !(found && slot / SW_CACHE_BUCKET_SLOTS == candidates.first);
    uint32_t hits = (uint32_t)__popc(__ballot_sync(0xffffffffU, found));
    uint32_t all = (uint32_t)__popc(__ballot_sync(0xffffffffU, valid));
    uint32_t more = (uint32_t)__popc(__ballot_sync(0xffffffffU, valid && second));
    if (threadIdx.x % 32 == 0) { /* M6: each word is a sum */
        atomicAdd(&words[0], all - hits);
        atomicAdd(&words[1], hits);
        atomicAdd(&words[2], all + more);
    }
}

template <bool PLAIN>
static __global__ void __launch_bounds__(SW_CACHE_THREADS, 4)
    get_kernel(const struct sw_cache_table_batch batch)
{
    __shared__ uint32_t words[3];
    if (threadIdx.x < 3) {
        words[threadIdx.x] = 0;
    }
    __syncthreads(); /* M2: the words are zero */
    for (uint32_t first = blockIdx.x * SW_CACHE_THREADS; first < batch.count;
         first += gridDim.x * SW_CACHE_THREADS) {
        get_one<PLAIN>(&batch, first + threadIdx.x, words);
    }
    __syncthreads(); /* M2: the words of all threads; M7: and their answers */
    if (threadIdx.x == 0) {
        for (uint32_t w = 0; w < 3; w++) {
            sw_cache_add_to(&batch.tally->words[SW_CACHE_WORD_CLASS + 3 * SW_CLASS_GET + w],
                            words[w]);
        }
        sw_cache_end_table_block(&batch);
    }
}

cudaError_t sw_cache_table_read(const struct sw_cache_table_batch *batch, cudaStream_t stream)
{
    uint32_t blocks = sw_cache_look_up_blocks(batch->count);
    bool plain = batch->ops == NULL && batch->op == SW_GET && batch->scores == NULL &&
                 batch->scores_out == NULL && batch->slots.policy != SW_CACHE_CUSTOM;
    if (plain) {
        get_kernel<true><<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    } else {
        get_kernel<false><<<blocks, SW_CACHE_THREADS, 0, stream>>>(*batch);
    }
    return cudaGetLastError();
}

/* Fills the record after kernels that do not fill it. */
static __global__ void end_kernel(const struct sw_cache_table_batch batch)
{
    sw_cache_fill_record(&batch);
}

cudaError_t sw_cache_table_end(const struct sw_cache_table_batch *batch, cudaStream_t stream)
{
    end_kernel<<<1, 1, 0, stream>>>(*batch);
    return cudaGetLastError();
}

cudaError_t sw_cache_table_clear(const struct sw_cache_table_batch *batch, cudaStream_t stream)
{
    cudaError_t error =
        sw_cache_launch_clear(&batch->slots, batch->totals, &batch->tally->cleared, stream);
    return error == cudaSuccess ? sw_cache_table_end(batch, stream) : error;
}

cudaError_t sw_cache_table_scan(const struct sw_cache_table_batch *batch,
                                const struct sw_cache_window *what, cudaStream_t stream)
{
    cudaError_t error =
        sw_cache_launch_list(&batch->slots, &batch->tally->list, what, batch->key_bytes, stream);
    return error == cudaSuccess ? sw_cache_table_end(batch, stream) : error;
}
