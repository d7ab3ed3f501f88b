/* SPDX-License-Identifier: MIT
 *
 * place.c - the cache study's arrays in host memory.
 */
#include "bench/cache/place.inl"

static bool judge_evicted(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                          uint64_t numbers, uint32_t dim, uint64_t seed,
                          struct sw_cachebench_verdict *verdict)
{
    return judge_evicted_in(&sw_study_host, arrays, model, numbers, dim, seed, verdict);
}

const struct sw_cachebench_place sw_cachebench_host = {
    &sw_study_host, expand, draw, judge, judge_evicted, note, NULL,
};
