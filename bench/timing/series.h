/* SPDX-License-Identifier: MIT
 *
 * series.h - the repetitions of one configuration: their number and their medians.
 *
 *     sw_timing_series_begin(&series, ..);
 *     while (sw_timing_series_more(&series)) {
 *         measure; sw_timing_series_take(&series, &rep);
 *     }
 *     sw_timing_series_end(&series, ..);
 *
 * The first repetition warms up: it is checked, but not reported, unless it alone took longer than
 * the series may. Threads: one.
 */
#ifndef SHERWOOD_BENCH_TIMING_SERIES_H
#define SHERWOOD_BENCH_TIMING_SERIES_H

#include "bench/timing/report.h"

#include "bench/timing/options.h"

struct sw_timing_series {
    struct sw_timing_subject subject;
    struct sw_timing_report *report;
    double started; /* start of the study by the host's clock, for the progress line */
    double begun;   /* start of the series */
    double budget;  /* seconds */
    uint32_t wanted;
    uint32_t taken;                     /* repetitions, the warm-up included */
    uint32_t count;                     /* how many of these are reported */
    double seconds[SW_TIMING_REPS_MAX]; /* by the host's clock */
    double events[SW_TIMING_REPS_MAX];  /* by CUDA events */
    uint32_t events_count;              /* number of repetitions with events */
    struct sw_timing_rep warm_up;
    uint64_t slots;      /* slots of the table, for the load */
    uint64_t operations; /* of the last repetition */
    uint64_t distinct;
    /* this and the next fields: the worst of all repetitions, including the warm-up */
    bool has_distinct;
    bool has_check;
    int64_t drops;
    uint64_t missed;
    uint64_t wrong;
};

void sw_timing_series_begin(struct sw_timing_series *series, struct sw_timing_report *report,
                            const struct sw_timing_subject *subject, uint32_t wanted,
                            double budget);

/* Returns whether to make another repetition. */
bool sw_timing_series_more(struct sw_timing_series *series);

/* Adds a repetition and numbers it. The subject's batch must be known by now. */
void sw_timing_series_take(struct sw_timing_series *series, const struct sw_timing_rep *rep);

/* Writes the summary rows and the progress line. Returns whether no check found anything. */
bool sw_timing_series_end(struct sw_timing_series *series);

/* Median rate, after sw_timing_series_end. */
double sw_timing_series_gops(struct sw_timing_series *series);

#endif
