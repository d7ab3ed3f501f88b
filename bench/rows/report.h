/* SPDX-License-Identifier: MIT
 *
 * report.h - the files of the study of rows: raw.csv, summary.csv, run_info.txt.
 *
 * The files are written line by line, so that an interrupted run keeps its rows.
 */
#ifndef SHERWOOD_BENCH_ROWS_REPORT_H
#define SHERWOOD_BENCH_ROWS_REPORT_H

#include <stdio.h>

#include "bench/rows/options.h"
#include "bench/rows/place.h"
#include "bench/study/span.h"

struct sw_rowbench_report {
    FILE *raw;     /* a row for each repetition */
    FILE *summary; /* columns study,library,operation,slot_bits,F,batch,metric,value,unit */
    FILE *run_info;
    double started;  /* host clock, for the progress line */
    uint32_t series; /* number of series done, and in total */
    uint32_t series_max;
};

/* What a series of repetitions measures. */
struct sw_rowbench_subject {
    const char *library;
    enum sw_rowbench_operation operation;
    uint32_t value_bytes;
    double load;
    uint64_t batch;
    uint64_t capacity;
    double ceiling; /* rows per second of memory alone; 0: none */
};

/* All repetitions of a subject except the warm-up. The answers include the warm-up's. */
struct sw_rowbench_series {
    double seconds[SW_ROWBENCH_REPS_MAX]; /* by the host's clock */
    uint32_t count;
    double events[SW_ROWBENCH_REPS_MAX]; /* by CUDA events */
    uint32_t events_count;               /* number of repetitions with events */
    unsigned long long answers[SW_ROWBENCH_ANSWERS];
};

/* Creates the folder and the files. On false one line on stderr says why, and nothing is open. */
bool sw_rowbench_report_open(struct sw_rowbench_report *report, const char *folder);
/* False, with one line on stderr, if anything could not be written. */
bool sw_rowbench_report_close(struct sw_rowbench_report *report);

/* Writes the row of a repetition in the series. */
void sw_rowbench_report_rep(struct sw_rowbench_report *report,
                            const struct sw_rowbench_subject *subject,
                            const struct sw_rowbench_series *series,
                            const struct sw_study_took *took);
/* Writes the summary rows and the progress line. Sorts the series. The ratio to the ceiling uses
 * events if the series has them, because the ceiling does. */
void sw_rowbench_report_series(struct sw_rowbench_report *report,
                               const struct sw_rowbench_subject *subject,
                               struct sw_rowbench_series *series);
/* Reports what could not be measured, and why: a summary row without a value. */
void sw_rowbench_report_none(struct sw_rowbench_report *report,
                             const struct sw_rowbench_subject *subject, const char *reason);
void sw_rowbench_report_ceiling(struct sw_rowbench_report *report, enum sw_rowbench_move move,
                                uint32_t value_bytes, uint64_t batch, double rate);

#endif
