/* SPDX-License-Identifier: MIT
 *
 * answers.h - checks of a get's answers, on the device: every one is looked at.
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

/* What a get got wrong. */
struct sw_timing_check {
    uint64_t present; /* queries of stored keys */
    uint64_t unfound; /* of these, not found */
    uint64_t wrong;   /* found with a value never written for the key, or found but not stored */
};

/* Sets answers[0, count) to all ones. */
bool sw_timing_poison(struct sw_timing_arrays *arrays, uint64_t count);

/* answers[i] becomes all ones where bit i % 64 of word i / 64 of `found` is 0. */
bool sw_timing_mark_absent(void *answers, uint32_t key_bytes, const uint64_t *found,
                           uint64_t count);

/* How the answers are judged. `last`: of repeated keys only the last value is right, which is so
 * checked if every occurrence is asked for. `written`: keys that an answer may be an index of. */
struct sw_timing_judge {
    uint64_t written;
    bool last;
};

/* answers[i] to queries[i], which have origins. */
bool sw_timing_check_queries(struct sw_timing_arrays *arrays, uint64_t count,
                             struct sw_timing_judge judge, struct sw_timing_check *check);

/* answers[i] to keys[first + i]. */
bool sw_timing_check_keys(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          struct sw_timing_judge judge, struct sw_timing_check *check);

/* How many of answers[0, count) are not all ones. */
bool sw_timing_count_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found);

/* held[i]: whether answers[i] is not all ones; *found counts them. */
bool sw_timing_remember_found(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *found);

/* How many queries that are held have an answer that is not changed[i]. */
bool sw_timing_count_lost(struct sw_timing_arrays *arrays, uint64_t count, uint64_t *lost);

#ifdef __cplusplus
}
#endif

#endif
