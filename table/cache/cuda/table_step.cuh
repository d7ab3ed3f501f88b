/* SPDX-License-Identifier: MIT
 *
 * table_step.cuh - one operation of a table's batch: what it does, by a tile under the locks of
 * its key's buckets, and how it is counted. Included after operate.inl.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_TABLE_STEP_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_TABLE_STEP_CUH

#include "table/cache/cuda/table.cuh"

/* Loads the key and the operation of number `index`, which may lie in host memory. */
static __device__ __forceinline__ uint64_t
sw_cache_load_operation(const struct sw_cache_table_batch *batch, uint64_t index)
{
    uint64_t key = sw_cache_table_key(batch->keys, batch->key_bytes, index);
    batch->scratch.keys[index] = key;
    if (batch->ops != NULL) {
        batch->scratch.ops[index] = batch->ops[index];
    }
    return key;
}

static __device__ __forceinline__ uint32_t sw_cache_op_of(const struct sw_cache_table_batch *batch,
                                                          uint64_t index)
{
    return batch->ops != NULL ? batch->scratch.ops[index] : batch->op;
}

static __device__ __forceinline__ uint32_t
sw_cache_actions_of(const struct sw_cache_table_batch *batch, uint32_t op)
{
    return sw_cache_table_uses(
        sw_cache_table_actions(op, batch->previous != NULL, batch->slots.ids != 0), op,
        batch->slots.policy, batch->scores != NULL);
}

/* Returns the step of an operation; `index` is its index in the batch. */
static __device__ __forceinline__ struct sw_cache_step
sw_cache_table_step(const struct sw_cache_table_batch *batch, uint64_t index, uint64_t key,
                    uint32_t op)
{
    uint64_t offset = index * batch->slots.value_bytes;
    struct sw_cache_step step;
    step.actions = sw_cache_actions_of(batch, op);
    step.element = sw_cache_table_element(op);
    step.key = key;
    step.index = index;
    step.given = sw_cache_table_given(batch->scores, batch->slots.policy, index);
    step.value = step.actions & SW_CACHE_DO_KEEP ? NULL : batch->values + offset;
    step.out = batch->previous + offset;
    step.score_out = batch->scores_out == NULL ? NULL : batch->scores_out + index;
    return step;
}

/* Returns the list of evicted entries. */
static __device__ __forceinline__ struct sw_cache_sink
sw_cache_table_sink(const struct sw_cache_table_batch *batch)
{
    struct sw_cache_sink sink = {NULL, NULL, NULL, NULL};
    if (batch->leftover_keys != NULL) {
        sink.keys = batch->scratch.left;
        sink.values = batch->leftover_values;
        sink.scores = batch->leftover_scores;
        sink.count = &batch->tally->list.listed;
    }
    return sink;
}

/* Returns the value of an operation with these actions on an absent key: zeros, or no id. */
static __device__ __forceinline__ const uint8_t *
sw_cache_no_value(const struct sw_cache_table_batch *batch, uint32_t actions)
{
    return actions & SW_CACHE_DO_KEEP ? batch->scratch.ones : batch->scratch.zeros;
}

/* Stores the result of an operation, if the batch requests answers. */
static __device__ __forceinline__ void sw_cache_note(const struct sw_cache_table_batch *batch,
                                                     uint64_t index, uint32_t result)
{
    if (batch->found != NULL || batch->not_admitted != NULL) {
        batch->scratch.results[index] = (uint8_t)result;
    }
}

/* Counts an operation in the block's words, by atomics (M6). */
static __device__ __forceinline__ void sw_cache_count_one(uint32_t *words, uint32_t buckets,
                                                          uint32_t op, uint32_t actions,
                                                          uint32_t result)
{
    bool hit = result == SW_CACHE_HIT;
    uint32_t *its_class = words + SW_CACHE_WORD_CLASS + 3 * sw_cache_table_class(op);
    atomicAdd(&its_class[hit], 1U);
    atomicAdd(&its_class[2], buckets);
    if (hit && (actions & (SW_CACHE_DO_WRITE | SW_CACHE_DO_ADD))) {
        atomicAdd(&words[SW_CACHE_WORD_UPDATED], 1U);
    }
    if (hit && (actions & SW_CACHE_DO_ERASE)) {
        atomicAdd(&words[SW_CACHE_WORD_DELETED], 1U);
    }
    if (result == SW_CACHE_INSERTED || result == SW_CACHE_REPLACED) {
        atomicAdd(&words[SW_CACHE_WORD_INSERTED], 1U);
    }
    if (result == SW_CACHE_REPLACED) {
        atomicAdd(&words[SW_CACHE_WORD_EVICTED], 1U);
    }
    if (result == SW_CACHE_REFUSED) {
        atomicAdd(&words[SW_CACHE_WORD_NOT_ADMITTED], 1U);
    }
}

/* Open and close the words of a block, in shared memory: set them to zero; add them to the tally.
 * All threads. */
static __device__ __forceinline__ void sw_cache_open_words(uint32_t *words)
{
    if (threadIdx.x < SW_CACHE_WORD_COUNT) {
        words[threadIdx.x] = 0;
    }
    __syncthreads(); /* M2: the words are zero */
}

static __device__ __forceinline__ void
sw_cache_close_words(const struct sw_cache_table_batch *batch, const uint32_t *words)
{
    __syncthreads(); /* M2: the words of all threads */
    if (threadIdx.x < SW_CACHE_WORD_COUNT) {
        sw_cache_add_to(&batch->tally->words[threadIdx.x], words[threadIdx.x]);
    }
}

#if SW_CACHE_LANES > 1

/* Carries out operation `index`, under the locks of its buckets. Returns its result in every
 * lane. */
static __device__ __forceinline__ uint32_t sw_cache_carry_out(
    struct sw_cache_tile g, const struct sw_cache_table_batch *batch,
    const struct sw_cache_candidates *candidates, uint64_t key, uint64_t index, uint32_t *words)
{
    uint32_t op = sw_cache_op_of(batch, index);
    struct sw_cache_step step = sw_cache_table_step(batch, index, key, op);
    struct sw_cache_sink sink = sw_cache_table_sink(batch);
    if (g.lane == 0 && step.score_out != NULL) {
        *step.score_out = 0; /* the value if the key is absent afterwards */
    }
    step.score_out = step.actions & SW_CACHE_DO_ERASE ? NULL : step.score_out;
    uint32_t result = sw_cache_operate(g, &batch->slots, &batch->time, &step, candidates, &sink,
                                       batch->previous != NULL);
    if (g.lane == 0) {
        sw_cache_note(batch, index, result);
        sw_cache_count_one(words, batch->slots.two ? 2 : 1, op, step.actions, result);
    }
    sw_cache_join(g); /* M3: all lanes see this operation's stores before the next one */
    return result;
}

#endif

#endif
