/* SPDX-License-Identifier: MIT
 *
 * device_place.cu - the cache study's arrays in device memory, and the ceilings of that memory.
 */
#include "bench/cache/place.inl"

#include "bench/study/ceilings.h"
#include "bench/study/report.h"

static bool measure_ceiling(struct sw_study_memory *memory, enum sw_study_access access,
                            struct sw_cachebench_ceiling *ceiling)
{
    double seconds[SW_CACHEBENCH_CEILING_REPS + 1]; /* the first repetition warms up */
    struct sw_study_timed timed = {};
    for (double &taken : seconds) {
        if (!sw_study_access_run(memory, sw_study_shape_usual(access), &timed)) {
            return false;
        }
        taken = timed.seconds;
    }
    ceiling->name = sw_study_access_name(access);
    ceiling->bytes = memory->bytes;
    ceiling->moved = timed.dram_bytes;
    ceiling->lines = timed.operations;
    ceiling->seconds = sw_study_median(seconds + 1, SW_CACHEBENCH_CEILING_REPS);
    return true;
}

static bool device_measure_ceilings(uint64_t bytes, uint64_t slots, uint64_t seed,
                                    struct sw_cachebench_ceiling *ceilings)
{
    struct sw_study_memory memory;
    if (!sw_study_memory_open(&memory, bytes, seed)) {
        return false;
    }
    bool done = measure_ceiling(&memory, SW_STUDY_COPY_UINT4, ceilings) &&
                measure_ceiling(&memory, SW_STUDY_GATHER_128, ceilings + 1);
    sw_study_memory_close(&memory);
    return done && sw_cachebench_write_ceiling(slots, ceilings + 2);
}

static bool judge_evicted(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                          uint64_t numbers, uint32_t dim, uint64_t seed,
                          struct sw_cachebench_verdict *verdict)
{
    return judge_evicted_in(&sw_study_device, arrays, model, numbers, dim, seed, verdict);
}

const struct sw_cachebench_place *sw_cachebench_device(void)
{
    static const struct sw_cachebench_place place = {
        &sw_study_device, expand, draw, judge, judge_evicted, note, device_measure_ceilings,
    };
    return &place;
}
