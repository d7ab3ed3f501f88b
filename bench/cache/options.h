/* SPDX-License-Identifier: MIT
 *
 * options.h - the command line of the cache study.
 */
#ifndef SHERWOOD_BENCH_CACHE_OPTIONS_H
#define SHERWOOD_BENCH_CACHE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/cache/library.h"
#include "bench/study/options.h"

#define SW_CACHEBENCH_REPS_MAX 1000
#define SW_CACHEBENCH_LIST_MAX 16
#define SW_CACHEBENCH_DIM_MAX 256
#define SW_CACHEBENCH_WINDOW_PART 4 /* 1/4 of the capacity: keys that are surely present */

/* Enum name, name on the command line and in the files, description. */
#define SW_CACHEBENCH_EXPERIMENT_MAP(X)                                              \
    X(CEILINGS, "ceilings", "what memory gives: copies, gathers, writes; CUDA")      \
    X(FILL, "fill", "insert and find from load to load, final load, first eviction") \
    X(RETENTION, "retention", "which share of the highest random scores is kept")    \
    X(OPERATIONS, "operations", "every operation, at --dims and --loads")

enum sw_cachebench_experiment {
#define SW_CACHEBENCH_EXPERIMENT_ENUM(name, text, what) SW_CACHEBENCH_DO_##name,
    SW_CACHEBENCH_EXPERIMENT_MAP(SW_CACHEBENCH_EXPERIMENT_ENUM)
#undef SW_CACHEBENCH_EXPERIMENT_ENUM
        SW_CACHEBENCH_EXPERIMENTS
};

struct sw_cachebench_options {
    unsigned on_host; /* 1: backend cpu; 0: cuda */
    int device;
    bool experiments[SW_CACHEBENCH_EXPERIMENTS];
    const struct sw_cachebench_library *libraries[SW_CACHEBENCH_LIBRARIES_MAX]; /* NULL ends it */
    bool operations[SW_CACHEBENCH_OPERATIONS];
    double loads[SW_CACHEBENCH_LIST_MAX]; /* loads of the experiment operations */
    uint32_t loads_count;
    double fill_loads[SW_CACHEBENCH_LIST_MAX]; /* loads of the experiment fill, ascending */
    uint32_t fill_loads_count;
    uint32_t dims[SW_CACHEBENCH_LIST_MAX];
    uint32_t dims_count;
    uint64_t capacity; /* in entries; 0: 128 M, or half of that above dimension 32 */
    uint64_t fill_capacity;
    uint32_t fill_dim;
    uint64_t batch; /* operations of a call */
    double hit_ratio;
    uint64_t window; /* draws the present keys from this many newest keys; 0: a quarter of the
                        capacity, which is the maximum */
    uint32_t offers[SW_CACHEBENCH_LIST_MAX]; /* retention: multiples of the capacity */
    uint32_t offers_count;
    uint32_t reps;
    double seconds; /* a series that takes longer ends after its second repetition */
    uint64_t seed;
    char commit[64];
    char output[512];        /* folder; created */
    char library_names[256]; /* names separated by commas; empty: all */
    bool modes[2];           /* which modes of Sherwood run: memory, throughput */
    bool quick;
    bool lists_libraries; /* only lists the libraries */
};

/* Reads the command line. DONE: it printed --help or --list-libraries on stdout. WRONG: it printed
 * one sentence on stderr. */
enum sw_study_parsed sw_cachebench_options_parse(struct sw_cachebench_options *options, int argc,
                                                 char **argv);

/* Static storage. */
const char *sw_cachebench_experiment_name(enum sw_cachebench_experiment experiment);
const char *sw_cachebench_operation_name(enum sw_cachebench_operation operation);

#endif
