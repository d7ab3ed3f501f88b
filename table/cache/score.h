/* SPDX-License-Identifier: MIT
 *
 * score.h - the score policies, for host and device. Except under CUSTOM, a use never lowers a
 * score, so a lower bound of a score stays valid.
 *
 * Threads: pure functions of their arguments.
 */
#ifndef SHERWOOD_TABLE_CACHE_SCORE_H
#define SHERWOOD_TABLE_CACHE_SCORE_H

#include "table/cache/cache.h"
#include "table/mix.h"

/* The time of a batch. */
struct sw_cache_time {
    uint64_t tick;  /* LRU: tick of the batch's first operation */
    uint64_t epoch; /* EPOCH policies */
    uint64_t round; /* EPOCH_LRU: batches that used entries in this epoch, up to 2^32 - 1 */
};

SW_HD static inline uint64_t sw_cache_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the score of a new entry that operation `index` inserts. */
SW_HD static inline uint64_t sw_cache_score_new(uint32_t policy, const struct sw_cache_time *time,
                                                uint64_t index, uint64_t given)
{
    switch (policy) {
    case SW_CACHE_LRU:
        return time->tick + index;
    case SW_CACHE_EPOCH_LRU:
        return time->epoch << 32 | time->round;
    case SW_CACHE_EPOCH_LFU:
        return time->epoch << 32 | sw_cache_least(given, UINT32_MAX);
    default:
        return given;
    }
}

/* Returns the score after a use of an entry that had `score`. */
SW_HD static inline uint64_t sw_cache_score_used(uint32_t policy, const struct sw_cache_time *time,
                                                 uint64_t index, uint64_t given, uint64_t score)
{
    uint64_t fresh = sw_cache_score_new(policy, time, index, given);
    switch (policy) {
    case SW_CACHE_LFU:
        return given < UINT64_MAX - score ? score + given : UINT64_MAX;
    case SW_CACHE_EPOCH_LFU:
        given = sw_cache_least(given, UINT32_MAX) + (score & UINT32_MAX);
        return time->epoch << 32 | sw_cache_least(given, UINT32_MAX);
    case SW_CACHE_CUSTOM:
        return fresh;
    default:
        return fresh > score ? fresh : score;
    }
}

/* Returns the mark of a score. A mark is one byte per slot, a lower bound of the score. 0: below
 * base; 1 + n: n steps of 2^shift above base; 255: anywhere above that. */
SW_HD static inline uint32_t sw_cache_mark_of(uint64_t base, uint32_t shift, uint64_t score)
{
    if (score < base) {
        return 0;
    }
    uint64_t steps = (score - base) >> shift;
    return steps < 254 ? (uint32_t)steps + 1 : 255;
}

/* Returns the smallest shift at which `above` (a score minus base) has a mark below 255. */
SW_HD static inline uint32_t sw_cache_shift_for(uint64_t above)
{
#ifdef __CUDA_ARCH__
    uint32_t bits = 64 - (uint32_t)__clzll((long long)above);
#else
    uint32_t bits = above == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(above);
#endif
    uint32_t shift = bits > 8 ? bits - 8 : 0;
    return above >> shift < 254 ? shift : shift + 1;
}

#endif
