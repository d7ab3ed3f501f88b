/* SPDX-License-Identifier: MIT
 *
 * step.cuh - the operations of a batch, one by one. Included after operate.inl.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_STEP_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_STEP_CUH

#include "table/cache/cuda/launch.cuh"

/* What operation `index` does. */
template <uint32_t OP>
static __device__ __forceinline__ struct sw_cache_step
sw_cache_step_of(const struct sw_cache_launch *launch, uint64_t index, uint64_t key, uint64_t given)
{
    const struct sw_cache_batch *batch = &launch->work.batch;
    uint64_t offset = index * launch->slots.value_bytes;
    struct sw_cache_step step;
    step.acts = sw_cache_acts(OP, false);
    step.element = batch->element;
    step.key = key;
    step.index = index;
    step.given = given;
    step.value = (const uint8_t *)batch->values + offset;
    step.out = (uint8_t *)batch->values_out + offset;
    step.score_out = NULL;
    if (OP == SW_CACHE_FIND_OR_INSERT && batch->scores_out != NULL) {
        step.score_out = batch->scores_out + index;
    }
    if (OP == SW_CACHE_ACCUM_OR_ASSIGN && batch->accumulate != NULL) {
        uint32_t insert = SW_CACHE_ACT_INSERT;
        step.acts &= batch->accumulate[index] ? ~insert : insert;
    }
    return step;
}

/* Where those are listed that leave. */
template <uint32_t OP>
static __device__ __forceinline__ struct sw_cache_sink
sw_cache_sink_of(const struct sw_cache_launch *launch)
{
    const struct sw_cache_batch *batch = &launch->work.batch;
    struct sw_cache_sink sink = {NULL, NULL, NULL, NULL};
    if (OP == SW_CACHE_INSERT_AND_EVICT) {
        sink = {batch->evicted_keys, (uint8_t *)batch->evicted_values, batch->evicted_scores,
                &launch->tally->listed};
    }
    return sink;
}

#endif
