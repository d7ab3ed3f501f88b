/* SPDX-License-Identifier: MIT
 *
 * report.h - the study's files: raw.csv, ceilings.csv, summary.csv, run_info.txt.
 */
#ifndef SHERWOOD_BENCH_TIMING_REPORT_H
#define SHERWOOD_BENCH_TIMING_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sw_timing_report {
    FILE *raw;      /* a row a repetition */
    FILE *ceilings; /* the same of the ceilings */
    FILE *summary;
    FILE *run_info;
};

/* What a row is about. */
struct sw_timing_subject {
    const char *library;
    const char *operation;
    uint32_t slot_bits;
    double load;    /* F; 0: the field stays empty */
    uint64_t batch; /* operations a batch; 0: the field stays empty */
};

/* One repetition. Fields that say nothing about the operation stay empty: what `is_insert` and
 * `is_checked` say. */
struct sw_timing_rep {
    uint32_t number; /* from 1 */
    uint64_t operations;
    uint64_t batches;
    double seconds;
    bool is_insert;
    uint64_t distinct;
    uint64_t occupied; /* the stash included */
    uint64_t stash;
    bool is_checked;
    uint64_t missed;
    uint64_t wrong;
};

/* Creates the folder and the files, and writes the header lines. On false one line on stderr says
 * why, and nothing is open. */
bool sw_timing_report_open(struct sw_timing_report *report, const char *folder);

/* Closes the files. False, with one line on stderr, if anything could not be written. */
bool sw_timing_report_close(struct sw_timing_report *report);

void sw_timing_report_rep(struct sw_timing_report *report, const struct sw_timing_subject *subject,
                          const struct sw_timing_rep *rep);
void sw_timing_report_ceiling(struct sw_timing_report *report,
                              const struct sw_timing_subject *subject, uint32_t number,
                              uint64_t bytes, uint64_t operations, double seconds);
void sw_timing_report_summary(struct sw_timing_report *report,
                              const struct sw_timing_subject *subject, const char *metric,
                              double value, const char *unit);

/* The median; sorts the values. count is at least 1. */
double sw_timing_median(double *values, uint32_t count);

#endif
