/* SPDX-License-Identifier: MIT
 *
 * report.h - the study's files: raw.csv, insert.csv, get.csv, ceilings.csv, summary.csv,
 * run_info.txt.
 *
 * The files are written line by line, so that an interrupted run keeps its rows and processes can
 * share the files.
 */
#ifndef SHERWOOD_BENCH_TIMING_REPORT_H
#define SHERWOOD_BENCH_TIMING_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/study/report.h"
#include "bench/study/span.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sw_timing_progress;

struct sw_timing_report {
    FILE *raw;    /* a row for each repetition */
    FILE *insert; /* copies of the rows of operation insert */
    FILE *get;    /* copies of the rows of all gets */
    FILE *ceilings;
    FILE *summary;
    FILE *run_info;
    struct sw_timing_progress *progress; /* may be NULL */
};

/* The configuration that a row belongs to. */
struct sw_timing_subject {
    const char *library;
    const char *operation;
    uint32_t slot_bits;
    double load;         /* F; 0: the field stays empty */
    uint64_t batch;      /* operations a call; 0: the field stays empty */
    uint32_t block_size; /* threads; 0: the library's own, the field stays empty */
};

/* The series that runs. The process of a library writes it, the study's process reads it. */
struct sw_timing_progress {
    struct sw_timing_subject subject; /* its texts are `library` and `operation` */
    char library[32];
    char operation[64];
    double begun; /* host clock */
    bool is_running;
};

/* One repetition. Fields that do not apply to the operation stay empty: see `has_distinct` and
 * `has_check`. */
struct sw_timing_rep {
    uint32_t number; /* from 1 */
    uint64_t operations;
    struct sw_study_took took;
    bool has_distinct;
    uint64_t distinct; /* different keys in the calls */
    uint64_t occupied; /* entries in the table afterwards */
    int64_t drops;
    bool has_check;
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
/* A value that is NAN says that the library does not have the metric. */
void sw_timing_report_summary(struct sw_timing_report *report,
                              const struct sw_timing_subject *subject, const char *metric,
                              double value, const char *unit);
/* If the process of a library ended within a series: writes a row `unfinished` with the seconds
 * that the series had run, and appends the series to `text`. */
void sw_timing_report_unfinished(struct sw_timing_report *report, char *text, size_t text_size);
#ifdef __cplusplus
}
#endif

#endif
