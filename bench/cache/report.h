/* SPDX-License-Identifier: MIT
 *
 * report.h - the cache study's files: raw.csv, summary.csv, tables.txt, run_info.txt.
 *
 * The files are written line by line, so that an interrupted run keeps its rows.
 */
#ifndef SHERWOOD_BENCH_CACHE_REPORT_H
#define SHERWOOD_BENCH_CACHE_REPORT_H

#include <stdio.h>

#include "bench/cache/options.h"
#include "bench/cache/place.h"
#include "bench/study/span.h"

struct sw_cachebench_report {
    FILE *raw;     /* a row for each repetition */
    FILE *summary; /* columns study,library,operation,slot_bits,F,batch,metric,value,unit */
    FILE *tables;
    FILE *run_info;
    double started; /* host clock, for the progress line */
};

/* The configuration that a series of repetitions measures. */
struct sw_cachebench_subject {
    const char *experiment;
    const char *library;
    char operation[48]; /* name and dimension: find_dim64 */
    uint32_t dim;
    double load; /* requested load */
    uint64_t batch;
    uint64_t capacity;
};

struct sw_cachebench_rep {
    struct sw_study_took took;
    double load; /* load before the call */
    uint64_t batch;
    struct sw_cachebench_verdict verdict;
};

/* All repetitions of a subject except the warm-up. The verdict includes the warm-up. */
struct sw_cachebench_series {
    double seconds[SW_CACHEBENCH_REPS_MAX]; /* by the host's clock */
    uint32_t count;
    double events[SW_CACHEBENCH_REPS_MAX]; /* by CUDA events */
    uint32_t events_count;                 /* number of repetitions with events */
    double load;                           /* load of the last repetition */
    struct sw_cachebench_verdict verdict;  /* sum over the repetitions */
};

/* Creates the folder and the files. On false one line on stderr says why, and nothing is open. */
bool sw_cachebench_report_open(struct sw_cachebench_report *report, const char *folder,
                               double started);
/* False, with one line on stderr, if anything could not be written. */
bool sw_cachebench_report_close(struct sw_cachebench_report *report);

/* Adds a repetition; writes its row, unless it is the warm-up. */
void sw_cachebench_report_rep(struct sw_cachebench_report *report,
                              const struct sw_cachebench_subject *subject,
                              struct sw_cachebench_series *series,
                              const struct sw_cachebench_rep *rep, bool is_warm_up);
/* Writes the summary rows and the progress line. Sorts the series. Returns whether every answer was
 * right. */
bool sw_cachebench_report_series(struct sw_cachebench_report *report,
                                 const struct sw_cachebench_subject *subject,
                                 struct sw_cachebench_series *series);
/* Reports a figure that is not a rate: a summary row and a progress line. */
void sw_cachebench_report_figure(struct sw_cachebench_report *report,
                                 const struct sw_cachebench_subject *subject, const char *metric,
                                 double value, const char *unit);
/* Reports a check of `entries` entries: summary rows and one progress line. Returns whether
 * every answer was right. */
bool sw_cachebench_report_verdict(struct sw_cachebench_report *report,
                                  const struct sw_cachebench_subject *subject, uint64_t entries,
                                  const struct sw_cachebench_verdict *verdict);
/* Reports a summary row without a value: the figure could not be measured, or the library does not
 * support it. */
void sw_cachebench_report_none(struct sw_cachebench_report *report,
                               const struct sw_cachebench_subject *subject, const char *reason);
void sw_cachebench_report_ceiling(struct sw_cachebench_report *report,
                                  const struct sw_cachebench_ceiling *ceiling);

/* Missed, wrong and phantom answers. */
uint64_t sw_cachebench_faults(const struct sw_cachebench_verdict *verdict);

#endif
