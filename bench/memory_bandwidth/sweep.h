/* SPDX-License-Identifier: MIT
 *
 * sweep.h - insert and get of the table at each F, counted by the table.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_SWEEP_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/memory_bandwidth/options.h"
#include "bench/memory_bandwidth/report.h"
#include "bench/memory_bandwidth/workload.h"
#include "table/table.h"

/* Medians, a second. */
struct sw_bandwidth_ceilings {
    double copy;                          /* bytes, of the better copy */
    double bytes[SW_STUDY_ACCESSES];      /* of the best shape of each access */
    double operations[SW_STUDY_ACCESSES]; /* likewise */
};

/* Measures over the number of bytes of the table's slots. On a failure prints one line on stderr
 * and returns false. */
bool sw_bandwidth_measure_ceilings(const struct sw_bandwidth_options *options,
                                   struct sw_bandwidth_report *report,
                                   struct sw_bandwidth_ceilings *ceilings);

struct sw_bandwidth_study {
    const struct sw_bandwidth_options *options;
    struct sw_bandwidth_report *report;
    const struct sw_bandwidth_ceilings *ceilings;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_bandwidth_arrays arrays;
    uint32_t block_size; /* of the table's look-ups; 0: its own */
    uint32_t *leftovers; /* a number for each batch of the largest F */
    uint64_t draws;      /* made so far; 0 is the ceilings' */
    double started;      /* host clock, for the progress lines */
    bool is_correct;     /* every operand was found again so far */
};

/* Keys offered at F, at least 64. */
uint64_t sw_bandwidth_count(const struct sw_bandwidth_options *options, double load);

/* Runs every F of the options: inserts and gets, of a block size gets alone. On false something
 * failed and one line on stderr says what; results that are wrong are no failure: they are
 * reported, and is_correct is false. */
bool sw_bandwidth_sweep(struct sw_bandwidth_study *study);

#endif
