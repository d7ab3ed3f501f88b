/* SPDX-License-Identifier: MIT
 *
 * marks.cuh - the marks of a full bucket, made by a whole warp.
 */
#ifndef SHERWOOD_TABLE_CACHE_CUDA_MARKS_CUH
#define SHERWOOD_TABLE_CACHE_CUDA_MARKS_CUH

#include "table/cache/score.h"
#include "table/cache/slots.h"
#include "table/device/warp_reduce.cuh"

/* Does the same as sw_cache_mark_bucket, by a whole warp with four slots per lane. */
static __device__ __noinline__ void sw_cache_mark_by_warp(const uint8_t *scores_at, uint32_t stride,
                                                          uint8_t *marks,
                                                          struct sw_cache_head *head)
{
    uint32_t slot = 4 * (threadIdx.x % 32);
    uint64_t scores[4];
    uint64_t base = UINT64_MAX;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        scores[k] = __ldcg(sw_cache_score_at(scores_at, stride, slot + k));
        base = sw_cache_least(base, scores[k]);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        base = sw_cache_least(base, __shfl_xor_sync(0xffffffffU, base, step));
    }
    uint32_t shift = 0;
#pragma unroll
    for (uint32_t step = 32; step > 0; step /= 2) {
        uint32_t within = 0;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            within += sw_cache_shift_for(scores[k] - base) < shift + step;
        }
        within = sw_reduce_add(within);
        shift += within < SW_CACHE_BUCKET_SLOTS / 2 ? step : 0;
    }
    uint32_t fresh = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        fresh |= sw_cache_mark_of(base, shift, scores[k]) << (8 * k);
    }
    *(uint32_t *)(marks + slot) = fresh;
    if (slot == 0) {
        head->base = base;
        head->shift = shift;
    }
    __syncwarp(); /* M3: the marks and the head */
}

/* Makes the marks of the bucket `unmarked` of each lane; SW_CACHE_NOWHERE: none. All lanes of a
 * warp. */
static __device__ __forceinline__ void sw_cache_make_marks_of(const struct sw_cache_slots *slots,
                                                              uint64_t unmarked)
{
    uint32_t lanes = __ballot_sync(0xffffffffU, unmarked != SW_CACHE_NOWHERE);
    for (; lanes != 0; lanes &= lanes - 1) {
        uint64_t bucket = __shfl_sync(0xffffffffU, unmarked, __ffs((int)lanes) - 1);
        uint64_t first = bucket * SW_CACHE_BUCKET_SLOTS;
        __syncwarp(); /* M3: the warp sees the entries that the lanes have stored */
        sw_cache_mark_by_warp((const uint8_t *)&sw_cache_entry_at(slots, first)->score,
                              slots->entry_stride, slots->marks + first, slots->heads + bucket);
    }
}

#endif
