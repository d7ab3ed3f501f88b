/* SPDX-License-Identifier: MIT
 *
 * place.h - the memory of the cache study's arrays, host or device, and the functions that fill and
 * check them.
 *
 * Members that return bool wait until their work is done; on false one line on stderr says why.
 * Threads: one.
 */
#ifndef SHERWOOD_BENCH_CACHE_PLACE_H
#define SHERWOOD_BENCH_CACHE_PLACE_H

#include "bench/cache/library.h"
#include "bench/cache/verdict.h"
#include "bench/study/place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The contents of a call's arrays. */
struct sw_cachebench_draw {
    struct sw_cachebench_query query;
    uint32_t dim;
    uint32_t generation; /* generation of the values */
    enum sw_cachebench_scores scores;
};

/* An update of the model for a call's numbers. */
struct sw_cachebench_note {
    struct sw_cachebench_query query;
    bool window;                /* whether to update the keys of the window */
    uint32_t window_generation; /* generation of the window's keys; 0: erased */
    bool fresh;
    uint32_t fresh_generation;
};

/* The median of SW_CACHEBENCH_CEILING_REPS repetitions. */
struct sw_cachebench_ceiling {
    const char *name;
    uint64_t bytes; /* size of the memory that the accesses cover */
    double seconds; /* duration of a repetition */
    uint64_t moved; /* bytes that a repetition reads and writes */
    uint64_t lines; /* lines that a repetition gathers, or operations; 0: a copy */
};

#define SW_CACHEBENCH_CEILINGS 3
#define SW_CACHEBENCH_CEILING_REPS 5

struct sw_cachebench_place {
    const struct sw_study_place *memory;
    /* Copies results[i] to bit i. */
    bool (*expand)(uint8_t *results, const uint64_t *bits, uint64_t count);
    /* Draws keys, values, accumulate (1 for the keys of the window) and, unless NONE, scores. */
    bool (*draw)(const struct sw_cachebench_arrays *arrays, const struct sw_cachebench_draw *draw);
    /* Compares the answers of a call with the model. Adds to the verdict. */
    bool (*judge)(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                  const struct sw_cachebench_judged *judged, struct sw_cachebench_verdict *verdict);
    /* Judges the evicted entries: FOUND for each that was stored with this value, PHANTOM for a key
     * that was not stored, WRONG for another value. Numbers are below `numbers`. Adds to the
     * verdict. */
    bool (*judge_evicted)(const struct sw_cachebench_arrays *arrays, const uint8_t *model,
                          uint64_t numbers, uint32_t dim, uint64_t seed,
                          struct sw_cachebench_verdict *verdict);
    bool (*note)(uint8_t *model, const struct sw_cachebench_note *note);
    /* NULL on the host. Measures the ceilings of memory over `bytes` (a power of two), and of
     * writes to `slots` slots. */
    bool (*measure_ceilings)(uint64_t bytes, uint64_t slots, uint64_t seed,
                             struct sw_cachebench_ceiling *ceilings);
};

extern const struct sw_cachebench_place sw_cachebench_host;
/* NULL in builds without nvcc. */
const struct sw_cachebench_place *sw_cachebench_device(void);

/* Measures the accesses of 2^20 keys, 60 % of them present, to a half full cache of `slots` slots
 * with values of 64 floats and one bucket a key, in the order of buckets. Only with nvcc. */
bool sw_cachebench_write_ceiling(uint64_t slots, struct sw_cachebench_ceiling *ceiling);

#ifdef __cplusplus
}
#endif

#endif
