/* SPDX-License-Identifier: MIT
 *
 * report.h - the cuckoo study's files: raw.csv, summary.csv, tables.txt, run_info.txt.
 *
 * The files are written line by line, so that an interrupted run keeps its rows.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_REPORT_H
#define SHERWOOD_BENCH_CUCKOO_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/cuckoo/options.h"
#include "bench/study/span.h"

struct sw_cbench_report {
    FILE *raw;     /* a row for each repetition */
    FILE *summary; /* columns study,library,operation,slot_bits,F,batch,metric,value,unit */
    FILE *tables;  /* the report's tables: x, t, MOPS, time, deviation */
    FILE *run_info;
};

/* The configuration that a series of repetitions measures. */
struct sw_cbench_subject {
    enum sw_cbench_experiment experiment;
    char x[32];          /* s, i, size or l, as text */
    char library[24];    /* cuckoo2, cuckoo3, robin_hood, or a peer's name */
    uint32_t table;      /* number of the table (library.h) */
    uint32_t functions;  /* 0: not a cuckoo table */
    uint64_t keys;       /* keys that a call stores or looks up */
    uint64_t operations; /* operations of a call; 0: one for each key */
    uint64_t cells;      /* of the table */
    uint32_t slot_bits;  /* of a cell */
    uint64_t bytes;      /* reserved */
    double load;         /* keys per cell, if every key finds a place */
};

struct sw_cbench_rep {
    struct sw_study_took took;
    uint64_t left; /* keys that were handed back or put into the stash */
    uint64_t missed;
    uint64_t phantom;
};

/* All repetitions of a subject. */
struct sw_cbench_series {
    struct sw_cbench_rep reps[SW_CBENCH_REPS_MAX];
    uint32_t count;
    double mean;           /* seconds by the host's clock */
    double mean_by_events; /* NAN: a repetition has no time by events */
    double deviation;
    double fastest;
    uint64_t left;   /* this and the next ones: the largest of all repetitions */
    uint64_t missed; /* not found, beyond the keys that were handed back */
    uint64_t phantom;
};

static inline uint64_t sw_cbench_operations(const struct sw_cbench_subject *subject)
{
    return subject->operations > 0 ? subject->operations : subject->keys;
}

/* Creates the folder and the files. On false one line on stderr says why, and nothing is open. */
bool sw_cbench_report_open(struct sw_cbench_report *report, const char *folder);
/* False, with one line on stderr, if anything could not be written. */
bool sw_cbench_report_close(struct sw_cbench_report *report);

/* The heading of an experiment in tables.txt. */
void sw_cbench_report_begin(struct sw_cbench_report *report, enum sw_cbench_experiment experiment,
                            const char *what);
/* Sums up the series and writes its rows. If keys were handed back, there is no rate: the insert is
 * not complete. */
void sw_cbench_report_series(struct sw_cbench_report *report,
                             const struct sw_cbench_subject *subject,
                             struct sw_cbench_series *series);
/* Reports a configuration that could not be measured, and why. */
void sw_cbench_report_none(struct sw_cbench_report *report, const struct sw_cbench_subject *subject,
                           const char *reason);

#endif
