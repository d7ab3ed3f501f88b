/* SPDX-License-Identifier: MIT
 *
 * keys.h - the study's arrays in device memory: keys, queries, answers and their checks.
 *
 * Key i of an insert has the value i. Repeated keys among the draws are kept; the last one wins, so
 * the value of a stored key is the index of its last occurrence.
 *
 * Every function that returns bool waits for the device, and on false has printed one line on
 * stderr. For one thread.
 */
#ifndef SHERWOOD_BENCH_TIMING_KEYS_H
#define SHERWOOD_BENCH_TIMING_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SW_TIMING_ABSENT UINT32_MAX /* the origin of a query for a key that is not stored */

struct sw_timing_arrays {
    uint32_t key_bytes; /* 4 or 8; of a value too */
    void *keys;
    void *values;     /* 0, 1, 2, .. */
    void *sorted;     /* the distinct keys, ascending */
    void *queries;    /* keys of a get */
    uint32_t *origin; /* of each query: an index in keys, or SW_TIMING_ABSENT */
    void *previous;   /* answers */
    uint64_t *found;
    void *tally; /* of the check */
};

/* Which draw of the generator: seed and a number used once. */
struct sw_timing_draw {
    uint64_t seed;
    uint64_t number;
};

/* What a get got wrong. */
struct sw_timing_check {
    uint64_t present; /* queries of stored keys */
    uint64_t missed;  /* of these, not found */
    uint64_t wrong;   /* found with another value than the last written, or found but not stored */
};

/* Room for count operations, count below 2^32. On false nothing is allocated. */
bool sw_timing_arrays_open(struct sw_timing_arrays *arrays, uint32_t key_bytes, uint64_t count);
void sw_timing_arrays_close(struct sw_timing_arrays *arrays);

/* Fills memory with words uniform over 32 bits: Philox4_32_10 of cuRAND. bytes is a multiple of 4.
 */
bool sw_timing_fill(void *memory, size_t bytes, struct sw_timing_draw draw);

/* Whether two pieces of memory of so many bytes, a multiple of 4, are equal. */
bool sw_timing_equal(const void *a, const void *b, size_t bytes, bool *equal);

/* Fresh keys, uniform over the width; *distinct receives how many different ones there are. */
bool sw_timing_draw_keys(struct sw_timing_arrays *arrays, uint64_t count,
                         struct sw_timing_draw draw, uint64_t *distinct);

/* Queries and poisoned answers. miss_percent of the queries are uniform draws among the keys that
 * are not stored; the others are the inserted keys in an order of their own (at 0 every inserted
 * key is asked for once). */
bool sw_timing_draw_queries(struct sw_timing_arrays *arrays, uint64_t count, uint64_t distinct,
                            uint32_t miss_percent, struct sw_timing_draw draw);

/* Looks at every answer. */
bool sw_timing_check_answers(struct sw_timing_arrays *arrays, uint64_t count,
                             struct sw_timing_check *check);

#ifdef __cplusplus
}
#endif

#endif
