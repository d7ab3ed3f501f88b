/* SPDX-License-Identifier: MIT
 *
 * draw.h - keys, values and scores of the cache study, one formula for host and device.
 *
 * Key number i is a bijection of i, so numbers stand for keys: those from 0 on are inserted one
 * after the other, those from SW_CACHEBENCH_ABSENT on never are. The words of a value are floats
 * that hold small integers, a function of number, word and generation: a sum of two is exact, and a
 * mixture of two writes equals no key's value.
 */
#ifndef SHERWOOD_BENCH_CACHE_DRAW_H
#define SHERWOOD_BENCH_CACHE_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "table/mix.h"

#define SW_CACHEBENCH_ABSENT (1ULL << 40)
#define SW_CACHEBENCH_GENERATIONS 250 /* numbered from 1; 0: the key is not stored */

/* Scores of the policy CUSTOM. NONE: the policy is LRU. RISING: later numbers have higher scores.
 */
enum sw_cachebench_scores {
    SW_CACHEBENCH_SCORES_NONE,
    SW_CACHEBENCH_SCORES_RISING,
    SW_CACHEBENCH_SCORES_RANDOM
};

/* The keys of a call, all different. */
struct sw_cachebench_query {
    uint64_t count; /* at most 2^28 */
    uint64_t fresh; /* this many, evenly spread, have the numbers fresh_from, fresh_from + 1, .. */
    uint64_t fresh_from;
    uint64_t window; /* the others are distinct numbers of from .. from + window - 1; window is at
                        least count - fresh */
    uint64_t from;
    uint64_t start; /* their order: number i is from + (i * step + start) mod window; step is below
                       2^32 and has no divisor in common with window */
    uint64_t step;
    uint64_t seed; /* seed of the keys */
};

SW_HD static inline uint64_t sw_cachebench_key(uint64_t number, uint64_t seed)
{
    return sw_mix_64(number, seed);
}

SW_HD static inline uint64_t sw_cachebench_number_of(uint64_t key, uint64_t seed)
{
    return sw_unmix_64(key, seed);
}

SW_HD static inline bool sw_cachebench_is_fresh(const struct sw_cachebench_query *query, uint64_t j)
{
    return (j + 1) * query->fresh / query->count != j * query->fresh / query->count;
}

SW_HD static inline uint64_t sw_cachebench_number(const struct sw_cachebench_query *query,
                                                  uint64_t j)
{
    uint64_t fresh_before = j * query->fresh / query->count;
    if (sw_cachebench_is_fresh(query, j)) {
        return query->fresh_from + fresh_before;
    }
    return query->from + ((j - fresh_before) * query->step + query->start) % query->window;
}

/* Neither 0 nor near 2^64, which some libraries keep for themselves. */
SW_HD static inline uint64_t sw_cachebench_score(enum sw_cachebench_scores scores, uint64_t number,
                                                 uint64_t seed)
{
    return scores == SW_CACHEBENCH_SCORES_RISING
               ? number + 1
               : (sw_mix_64(number, ~seed * 0x9e3779b97f4a7c15ULL) >> 2) + 1;
}

SW_HD static inline float sw_cachebench_word(uint64_t number, uint32_t word, uint32_t generation)
{
    uint32_t place = (uint32_t)number * 0x9e3779b9U + word;
    return (float)(sw_mix_32(place, generation * 0x85ebca6bULL) & 0xfffff);
}

#endif
