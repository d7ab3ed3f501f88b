/* SPDX-License-Identifier: MIT
 *
 * report.h - the output of every study: its files, the facts of run_info.txt, medians.
 *
 * Files are written line by line, so that an interrupted run keeps its rows and processes can share
 * the files. Threads: one.
 */
#ifndef SHERWOOD_BENCH_STUDY_REPORT_H
#define SHERWOOD_BENCH_STUDY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/study/span.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SW_STUDY_SUMMARY_HEADER "study,library,operation,slot_bits,F,batch,metric,value,unit\n"

/* A file of a report, for a FILE * in the study's struct. */
struct sw_study_file {
    size_t offset; /* offset of the FILE * in the report */
    const char *name;
    const char *header; /* its first line, or "" */
};

/* Creates the folder and the files, whose list ends with a name that is NULL, and writes the
 * header lines. On false one line on stderr says why, and nothing is open. */
bool sw_study_files_open(void *report, const struct sw_study_file *files, const char *study,
                         const char *folder);
/* Closes the files and sets the pointers to NULL. Returns false, with one line on stderr, if a
 * write failed. */
bool sw_study_files_close(void *report, const struct sw_study_file *files, const char *study);

/* Makes a folder and those above it, as mkdir -p does. On false errno says why. */
bool sw_study_make_folder(const char *folder);

/* Writes a row of summary.csv that begins with `subject` (the columns study to batch). NAN leaves
 * the field empty: the library does not have this metric. */
void sw_study_summary(FILE *summary, const char *subject, const char *metric, double value,
                      const char *unit);
/* Writes the columns study to batch. The load has `digits` digits. A load or a batch of 0 leaves
 * the field empty. */
#define SW_STUDY_SUBJECT_MAX 192
void sw_study_subject(char subject[SW_STUDY_SUBJECT_MAX], const char *study, const char *library,
                      const char *operation, uint32_t slot_bits, double load, int digits,
                      uint64_t batch);

/* Lines "name: value" of any study's run: date, command, version, commit (what the build knows, if
 * that is empty), processor, driver, kernel. Those about the device are device.h's. */
void sw_study_facts(FILE *out, const char *commit, int argc, char **argv);

/* Writes the field of a time by events, in milliseconds; empty if there is none. */
void sw_study_events(FILE *out, const struct sw_study_took *took);

/* Returns seconds of a monotonic clock. */
double sw_study_clock(void);

/* Return the median, and the smallest value that at least `percent` of the values do not exceed.
 * Both sort the values. count is at least 1. */
double sw_study_median(double *values, uint32_t count);
double sw_study_percentile(double *values, uint32_t count, double percent);

#ifdef __cplusplus
}
#endif

#endif
