/* SPDX-License-Identifier: MIT
 *
 * row_binade.cuh - a warp joins pieces of a chain of sums, one piece a lane (binade.h).
 */
#ifndef SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_BINADE_CUH
#define SHERWOOD_TABLE_ROBIN_HOOD_CUDA_ROWS_ROW_BINADE_CUH

#include "table/device/reduce.cuh"
#include "table/robin_hood/binade.h"

/* Adds the changes of the first `count` lanes to *sum, which lies in the binade. Stops before the
 * first change that does not hold. Returns how many changes it added. All lanes. */
static __device__ __forceinline__ uint32_t row_join(const struct sw_binade &binade,
                                                    const struct sw_binade_change &own,
                                                    uint32_t count, uint32_t *sum)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t units = sw_binade_units(*sum);
    struct sw_binade_change joined = own; /* with those of lower lanes */
#pragma unroll
    for (uint32_t by = 1; by < 32; by *= 2) {
        struct sw_binade_change before = sw_binade_none();
        before.even = __shfl_up_sync(SW_WARP_ALL, joined.even, by);
        before.odd = __shfl_up_sync(SW_WARP_ALL, joined.odd, by);
        joined = lane >= by ? sw_binade_join(&before, &joined) : joined;
    }
    const uint32_t after = sw_binade_after(&joined, units);
    const uint32_t before = __shfl_up_sync(SW_WARP_ALL, after, 1);
    const bool holds = sw_binade_holds(&own, lane == 0 ? units : before);
    const uint32_t left = __ballot_sync(SW_WARP_ALL, lane >= count || !holds);
    const uint32_t added = left == 0 ? 32 : (uint32_t)__ffs((int)left) - 1;
    const uint32_t last = __shfl_sync(SW_WARP_ALL, after, (int)(added + 31) % 32);
    *sum = added > 0 ? sw_binade_sum(&binade, last) : *sum;
    return added;
}

#endif
