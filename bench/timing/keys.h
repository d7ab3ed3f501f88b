/* SPDX-License-Identifier: MIT
 *
 * keys.h - the study's arrays in device memory, and the functions that draw keys, queries and
 * values.
 *
 * keys[0, stored) are the keys of an insert. The space after them is for fresh keys, which differ
 * from all stored keys. Key i has the value i. Keys may repeat.
 *
 * 0, all ones and all ones - 1 are never drawn: other libraries use them as marks.
 *
 * Every function that returns bool waits for the device, and on false has printed one line on
 * stderr. For one thread.
 */
#ifndef SHERWOOD_BENCH_TIMING_KEYS_H
#define SHERWOOD_BENCH_TIMING_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/study/order.h"
#include "bench/study/random.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SW_TIMING_ABSENT UINT32_MAX /* the origin of a query for a key that is not stored */

/* A value is an index of keys. In an update it also has a generation, from 1 on, in the higher
 * bits. All ones is no value. */
#define SW_TIMING_INDEX_BITS 28
#define SW_TIMING_GENERATIONS 14

struct sw_timing_arrays {
    uint32_t key_bytes; /* 4 or 8; of a value too */
    uint64_t room;      /* elements of each array, at most 2^SW_TIMING_INDEX_BITS */
    void *keys;
    void *values;     /* 0, 1, 2, .. */
    void *sorted;     /* the distinct stored keys, ascending */
    void *queries;    /* keys of a get, an update or a delete */
    uint32_t *origin; /* for each query of a get: an index in keys, or SW_TIMING_ABSENT */
    void *answers;
    void *changed; /* new values for an update of the queries */
    uint8_t *held; /* whether the last recorded get found the query */
    void *tally;   /* counters of the checks */
};

/* Random bits of a draw, for orders: splitmix64 (Sebastiano Vigna, public domain). */
static inline uint64_t sw_timing_random(struct sw_study_draw draw)
{
    uint64_t z = draw.seed * 0x9e3779b97f4a7c15ULL + draw.number;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* On failure nothing is allocated. */
bool sw_timing_arrays_open(struct sw_timing_arrays *arrays, uint32_t key_bytes, uint64_t room);
void sw_timing_arrays_close(struct sw_timing_arrays *arrays);

/* Memory beside the arrays; NULL if there is none. */
void *sw_timing_alloc(size_t bytes);
void sw_timing_free(void *memory);
/* Copies between any two of device and host memory. */
bool sw_timing_copy(void *to, const void *from, size_t bytes);

/* Draws keys[0, count) uniformly over the width; *distinct receives the number of different keys.
 */
bool sw_timing_draw_keys(struct sw_timing_arrays *arrays, uint64_t count, struct sw_study_draw draw,
                         uint64_t *distinct);

/* Draws keys[first, first + count) uniformly from the keys that are not among the `distinct` sorted
 * ones. Overwrites queries. */
bool sw_timing_draw_fresh(struct sw_timing_arrays *arrays, uint64_t first, uint64_t count,
                          uint64_t distinct, struct sw_study_draw draw, uint64_t *fresh_distinct);

/* Draws queries[0, wanted). miss_percent of them are uniform draws among the absent keys; the
 * others are stored keys in an order of their own. With miss_percent 0 the first `stored` queries
 * contain every stored key once; more queries repeat them. */
bool sw_timing_draw_queries(struct sw_timing_arrays *arrays, uint64_t wanted, uint64_t stored,
                            uint64_t distinct, uint32_t miss_percent, struct sw_study_draw draw);

/* Draws queries[0, wanted), at most `distinct`: different stored keys. Draws their new values,
 * `changed`, of a generation that depends on the draw. */
bool sw_timing_draw_changes(struct sw_timing_arrays *arrays, uint64_t wanted, uint64_t distinct,
                            struct sw_study_draw draw);

#ifdef __cplusplus
}
#endif

#endif
