/* SPDX-License-Identifier: MIT
 *
 * answers.cu - checks of a get's answers.
 */
#include "bench/timing/answers.h"

#include <string.h>

#include "bench/study/device.cuh"

#define BLOCK 256

static __device__ inline uint64_t thread_number(void)
{
    return (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
}

/* Adds once for each warp. All lanes must take part. */
static __device__ inline void add_ballot(uint64_t *sum, bool counts)
{
    unsigned int set = __ballot_sync(0xffffffffU, counts);
    if (threadIdx.x % 32 == 0 && set != 0) {
        atomicAdd((unsigned long long *)sum, (unsigned long long)__popc(set));
    }
}

bool sw_timing_poison(struct sw_timing_arrays *arrays, uint64_t count)
{
    return sw_study_ok(cudaMemset(arrays->answers, 0xff, count * arrays->key_bytes),
                       "poisoning the answers") &&
           sw_study_done("poisoning the answers");
}

template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    mark_kernel(Key *answers, const uint64_t *found, uint64_t count)
{
    uint64_t i = thread_number();
    if (i < count && (found[i / 64] >> (i % 64) & 1) == 0) {
        answers[i] = (Key)~0ULL;
    }
}

bool sw_timing_mark_absent(void *answers, uint32_t key_bytes, const uint64_t *found, uint64_t count)
{
    sw_study_by_width(key_bytes, [&](auto key) {
        using Key = decltype(key);
        mark_kernel<<<sw_study_blocks(count, BLOCK), BLOCK>>>((Key *)answers, found, count);
    });
    return sw_study_done("marking absent keys");
}

/* --- answers with an origin ------------------------------------------------------------------- */

/* An answer is right if keys[answer] is the same key. If only the last value counts, the answer
 * must also be no earlier than the origin. The study checks this for every occurrence of the key,
 * so only the last one passes. */
template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    check_kernel(const Key *keys, const Key *answers, const uint32_t *origins, uint64_t first,
                 uint64_t count, struct sw_timing_judge judge, struct sw_timing_check *tally)
{
    uint64_t i = thread_number();
    bool present = false;
    bool unfound = false;
    bool wrong = false;
    if (i < count) {
        uint64_t origin = origins == NULL ? first + i : origins[i];
        Key answer = answers[i];
        bool found = answer != (Key)~0ULL;
        present = origins == NULL || origin != SW_TIMING_ABSENT;
        unfound = present && !found;
        if (present && found) {
            wrong = answer >= judge.written || (judge.last && answer < origin) ||
                    keys[answer] != keys[origin];
        } else if (!present) {
            wrong = found;
        }
    }
    add_ballot(&tally->present, present);
    add_ballot(&tally->unfound, unfound);
    add_ballot(&tally->wrong, wrong);
}

static bool clear_tally(const struct sw_timing_arrays *arrays)
{
    return sw_study_ok(cudaMemset(arrays->tally, 0, sizeof(struct sw_timing_check)),
                       "checking the answers");
}

static bool read_tally(const struct sw_timing_arrays *arrays, void *result, size_t bytes)
{
    return sw_study_done("checking the answers") &&
           sw_study_ok(cudaMemcpy(result, arrays->tally, bytes, cudaMemcpyDeviceToHost),
                       "reading a check's result");
}

static bool check(struct sw_timing_arrays *arrays, const uint32_t *origins, uint64_t first,
                  uint64_t count, struct sw_timing_judge judge, struct sw_timing_check *result)
{
    struct sw_timing_check *tally = (struct sw_timing_check *)arrays->tally;
    if (!clear_tally(arrays)) {
        return false;
    }
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        check_kernel<<<sw_study_blocks(count, BLOCK), BLOCK>>>((const Key *)arrays->keys,
                                                               (const Key *)arrays->answers,
                                                               origins, first, count, judge, tally);
    });
    return read_tally(arrays, result, sizeof(*result));
}

bool sw_timing_check_queries(struct sw_timing_arrays *arrays, uint64_t count,
                             struct sw_timing_judge judge, struct sw_timing_check *result)
{
    return check(arrays, arrays->origin, 0, count, judge, result);
}

bool sw_timing_check_keys(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          struct sw_timing_judge judge, struct sw_timing_check *result)
{
    return check(arrays, NULL, first, count, judge, result);
}

/* --- counts ----------------------------------------------------------------------------------- */

/* held NULL: only counts */
template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    found_kernel(const Key *answers, uint64_t count, uint8_t *held, uint64_t *tally)
{
    uint64_t i = thread_number();
    bool found = i < count && answers[i] != (Key)~0ULL;
    if (held != NULL && i < count) {
        held[i] = found;
    }
    add_ballot(tally, found);
}

static bool count_found(struct sw_timing_arrays *arrays, uint64_t count, uint8_t *held,
                        uint64_t *found)
{
    if (!clear_tally(arrays)) {
        return false;
    }
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        found_kernel<<<sw_study_blocks(count, BLOCK), BLOCK>>>((const Key *)arrays->answers, count,
                                                               held, (uint64_t *)arrays->tally);
    });
    return read_tally(arrays, found, sizeof(*found));
}

bool sw_timing_count_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found)
{
    return count_found(arrays, count, NULL, found);
}

bool sw_timing_remember_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found)
{
    return count_found(arrays, count, arrays->held, found);
}

template <typename Key>
static __global__ void __launch_bounds__(BLOCK)
    lost_kernel(struct sw_timing_arrays arrays, uint64_t count)
{
    uint64_t i = thread_number();
    bool lost = i < count && arrays.held[i] != 0 &&
                ((const Key *)arrays.answers)[i] != ((const Key *)arrays.changed)[i];
    add_ballot((uint64_t *)arrays.tally, lost);
}

bool sw_timing_count_lost(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *lost)
{
    if (!clear_tally(arrays)) {
        return false;
    }
    sw_study_by_width(arrays->key_bytes, [&](auto key) {
        using Key = decltype(key);
        lost_kernel<Key><<<sw_study_blocks(count, BLOCK), BLOCK>>>(*arrays, count);
    });
    return read_tally(arrays, lost, sizeof(*lost));
}
