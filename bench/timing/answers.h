/* SPDX-License-Identifier: MIT
 *
 * answers.h - checks every answer of a get, on the device.
 *
 * A key that was not found has the answer all ones. Every function waits for the device, and on
 * false has printed one line on stderr. For one thread.
 */
#ifndef SHERWOOD_BENCH_TIMING_ANSWERS_H
#define SHERWOOD_BENCH_TIMING_ANSWERS_H

#include "bench/timing/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Faults of a get. */
struct sw_timing_check {
    uint64_t present; /* queries of stored keys */
    uint64_t unfound; /* how many of these were not found */
    uint64_t wrong;   /* found with a value never written for the key, or found but not stored */
};

/* Sets answers[0, count) to all ones. */
bool sw_timing_poison(struct sw_timing_arrays *arrays, uint64_t count);

/* Sets answers[i] to all ones if bit i % 64 of word i / 64 of `found` is 0. */
bool sw_timing_mark_absent(void *answers, uint32_t key_bytes, const uint64_t *found,
                           uint64_t count);

/* How to judge the answers. `last`: only the last value of a repeated key is right; the caller must
 * check every occurrence. `written`: number of keys whose index an answer may be. */
struct sw_timing_judge {
    uint64_t written;
    bool last;
};

/* Checks answers[i] for queries[i], which have origins. */
bool sw_timing_check_queries(struct sw_timing_arrays *arrays, uint64_t count,
                             struct sw_timing_judge judge, struct sw_timing_check *check);

/* Checks answers[i] for keys[first + i]. */
bool sw_timing_check_keys(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          struct sw_timing_judge judge, struct sw_timing_check *check);

/* Counts the elements of answers[0, count) that are not all ones. */
bool sw_timing_count_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found);

/* Sets held[i] to whether answers[i] is not all ones; *found counts these. */
bool sw_timing_remember_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found);

/* Counts the held queries whose answer is not changed[i]. */
bool sw_timing_count_lost(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *lost);

#ifdef __cplusplus
}
#endif

#endif
