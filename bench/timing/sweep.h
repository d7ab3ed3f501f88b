/* SPDX-License-Identifier: MIT
 *
 * sweep.h - the study of one table: insert and get at each F.
 */
#ifndef SHERWOOD_BENCH_TIMING_SWEEP_H
#define SHERWOOD_BENCH_TIMING_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/timing/keys.h"
#include "bench/timing/options.h"
#include "bench/timing/report.h"
#include "table/table.h"

struct sw_timing_study {
    const struct sw_timing_options *options;
    struct sw_timing_report *report;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_timing_arrays arrays;
    uint32_t slot_bits;
    uint64_t draws;  /* made so far; 0 is the ceilings' */
    double started;  /* host clock, for the progress lines */
    bool is_correct; /* no key was lost and no value wrong so far */
};

/* Keys offered at a load of so many slots, at least 64. */
uint64_t sw_timing_count(double load, uint64_t slots);

/* Host clock in seconds. */
double sw_timing_clock(void);

/* Runs every load of the options. On false something failed and one line on stderr says what;
 * results that are wrong are no failure: they are reported, and is_correct is false. */
bool sw_timing_sweep(struct sw_timing_study *study);

#endif
