/* SPDX-License-Identifier: MIT
 *
 * options.h - the command line of the study of rows.
 */
#ifndef SHERWOOD_BENCH_ROWS_OPTIONS_H
#define SHERWOOD_BENCH_ROWS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/cache/library.h"
#include "bench/study/options.h"

#define SW_ROWBENCH_REPS_MAX 1000
#define SW_ROWBENCH_LIST_MAX 16
#define SW_ROWBENCH_BATCHES_MIN 4 /* capacity / batch: the smallest load holds a call's keys */

/* Enum name, name on the command line and in the files, description. */
#define SW_ROWBENCH_OPERATION_MAP(X)                                               \
    X(GET, "get", "rows by key; --hit-ratio of the keys are present")              \
    X(GET_SKEWED, "get_skewed", "rows of present keys, drawn by Zipf's law")       \
    X(SET_STORED, "set_stored", "rows of present keys are replaced")               \
    X(SET_FRESH, "set_fresh", "rows of absent keys are stored")                    \
    X(DELETE, "delete", "present keys are removed")                                \
    X(ADD, "add", "added to rows of present keys")                                 \
    X(ADD_TENTH, "add_hot_tenth", "the same; a tenth of the call adds to one row") \
    X(ADD_HALF, "add_hot_half", "the same; half of the call adds to one row")

enum sw_rowbench_operation {
#define SW_ROWBENCH_OPERATION_ENUM(name, text, what) SW_ROWBENCH_##name,
    SW_ROWBENCH_OPERATION_MAP(SW_ROWBENCH_OPERATION_ENUM)
#undef SW_ROWBENCH_OPERATION_ENUM
        SW_ROWBENCH_OPERATIONS
};

struct sw_rowbench_options {
    unsigned on_host; /* 1: backend cpu; 0: cuda */
    int device;
    bool operations[SW_ROWBENCH_OPERATIONS];
    uint32_t value_bytes[SW_ROWBENCH_LIST_MAX];
    uint32_t value_bytes_count;
    double loads[SW_ROWBENCH_LIST_MAX]; /* ascending */
    uint32_t loads_count;
    uint64_t memory; /* bytes of slots and rows: the capacity is a power of two that fits */
    uint64_t capacity_max;
    unsigned rows_in;        /* enum sw_rows_in */
    uint64_t rows_gpu_bytes; /* bytes on the GPU, for a table with rows in both memories */
    uint64_t batch;          /* operations of a call */
    double hit_ratio;
    double skew;
    uint32_t reps;
    double seconds; /* a series that takes longer ends after its second repetition */
    uint64_t seed;
    bool quick;
    char commit[64];
    char output[512];
};

const char *sw_rowbench_operation_name(enum sw_rowbench_operation operation);

/* Returns the slots of a table with rows of `value_bytes`; 0: fewer than four calls fit. */
uint64_t sw_rowbench_capacity(const struct sw_rowbench_options *options, uint32_t value_bytes);

enum sw_study_parsed sw_rowbench_options_parse(struct sw_rowbench_options *options, int argc,
                                               char **argv);

#endif
