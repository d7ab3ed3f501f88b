/* SPDX-License-Identifier: MIT
 *
 * verdict.h - judges an answer by the model, on the host or the device.
 *
 * The model has a byte for each number: the generation of the key's value, 0 if it is not stored.
 */
#ifndef SHERWOOD_BENCH_CACHE_VERDICT_H
#define SHERWOOD_BENCH_CACHE_VERDICT_H

#include "bench/cache/draw.h"

enum sw_cachebench_answer {
    SW_CACHEBENCH_ABSENT_RIGHTLY,
    SW_CACHEBENCH_FOUND,
    SW_CACHEBENCH_MISSED,  /* must be present, but was not found */
    SW_CACHEBENCH_GONE,    /* was stored, but may be evicted */
    SW_CACHEBENCH_PHANTOM, /* found, but never stored, or erased */
    SW_CACHEBENCH_WRONG,   /* another value than the written one, or no answer */
    SW_CACHEBENCH_ANSWERS
};

struct sw_cachebench_verdict {
    unsigned long long of[SW_CACHEBENCH_ANSWERS];
};

/* The arrays that have the answers of a call. */
enum sw_cachebench_seen {
    SW_CACHEBENCH_SEEN_RESULTS,         /* only results */
    SW_CACHEBENCH_SEEN_VALUES,          /* results and values_out */
    SW_CACHEBENCH_SEEN_PLACES,          /* results and places */
    SW_CACHEBENCH_SEEN_VALUES_UNMARKED, /* only values_out: every key has a value */
};

struct sw_cachebench_judged {
    struct sw_cachebench_query query;
    enum sw_cachebench_seen seen;
    uint32_t dim;
    uint32_t added;     /* generation that was added to the keys of the window; 0: none */
    uint64_t sure_from; /* stored numbers from here on must be found */
};

/* Judges whether a key was found as it must be; the values come later. `result` is 1 for found, 0
 * for absent. */
SW_HD static inline enum sw_cachebench_answer
sw_cachebench_presence(const struct sw_cachebench_judged *judged, uint64_t number,
                       uint32_t generation, uint32_t result)
{
    if (judged->seen == SW_CACHEBENCH_SEEN_VALUES_UNMARKED) {
        return SW_CACHEBENCH_FOUND;
    }
    if (result > 1) {
        return SW_CACHEBENCH_WRONG;
    }
    if (result == 1) {
        return generation == 0 ? SW_CACHEBENCH_PHANTOM : SW_CACHEBENCH_FOUND;
    }
    if (generation == 0) {
        return SW_CACHEBENCH_ABSENT_RIGHTLY;
    }
    return number >= judged->sure_from ? SW_CACHEBENCH_MISSED : SW_CACHEBENCH_GONE;
}

/* Returns the expected word `word` of key j. */
SW_HD static inline float sw_cachebench_expected(const struct sw_cachebench_judged *judged,
                                                 uint64_t j, uint64_t number, uint32_t word,
                                                 uint32_t generation)
{
    float value = sw_cachebench_word(number, word, generation);
    if (judged->added != 0 && !sw_cachebench_is_fresh(&judged->query, j)) {
        value += sw_cachebench_word(number, word, judged->added);
    }
    return value;
}

#endif
