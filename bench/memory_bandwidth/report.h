/* SPDX-License-Identifier: MIT
 *
 * report.h - the study's files: memcpy.csv, gather.csv, insert.csv, get.csv, shapes.csv,
 * summary.csv and run_info.txt.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_REPORT_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/memory_bandwidth/workload.h"
#include "bench/study/ceilings.h"
#include "bench/study/span.h"

struct sw_bandwidth_report {
    FILE *memcpy; /* a row a repetition, of these five */
    FILE *gather;
    FILE *insert;
    FILE *get;
    FILE *shapes;
    FILE *summary;
    FILE *run_info;
};

/* The configuration that a summary row belongs to. */
struct sw_bandwidth_subject {
    const char *library;
    const char *operation;
    uint32_t slot_bits; /* 0: those of the table */
    double load;        /* F; 0: the field stays empty */
    uint64_t batch;     /* operations a batch; 0: the field stays empty */
};

/* One repetition of insert or get. */
struct sw_bandwidth_rep {
    double load;
    uint64_t batch;
    uint32_t block_size; /* threads; 0: the table's own, the field stays empty */
    uint32_t number;     /* from 1 */
    uint64_t operations;
    uint64_t batches;
    struct sw_study_took took;
    uint64_t probes; /* as the table counted them */
    uint64_t failures;
    uint64_t hits;
    uint64_t misses;
    double copy_rate; /* bytes a second of the ceilings */
    double gather_rate;
};

/* A bucket and a tile of shapes.h. */
struct sw_bandwidth_shape {
    uint32_t slots; /* of a bucket */
    uint32_t lanes; /* threads of a tile: they share a key */
    uint32_t keys;  /* keys in flight for each tile, of a get */
};

/* Bytes of a bucket: what a probe reads. */
#define SW_BANDWIDTH_BUCKET_BYTES 32U
#define SW_BANDWIDTH_SLOT_BITS 64U

/* Creates the folder and the files, and writes the header lines. On false one line on stderr says
 * why, and nothing is open. */
bool sw_bandwidth_report_open(struct sw_bandwidth_report *report, const char *folder);

/* Closes the files. False, with one line on stderr, if anything could not be written. */
bool sw_bandwidth_report_close(struct sw_bandwidth_report *report);

void sw_bandwidth_report_copy(struct sw_bandwidth_report *report, const char *operation,
                              uint64_t payload_bytes, uint64_t dram_bytes, uint32_t number,
                              double seconds);
void sw_bandwidth_report_access(struct sw_bandwidth_report *report,
                                const struct sw_study_shape *shape, uint32_t number,
                                const struct sw_study_timed *timed);
void sw_bandwidth_report_insert(struct sw_bandwidth_report *report,
                                const struct sw_bandwidth_rep *rep,
                                const struct sw_bandwidth_account *account);
void sw_bandwidth_report_get(struct sw_bandwidth_report *report,
                             const struct sw_bandwidth_rep *rep);
void sw_bandwidth_report_shape(struct sw_bandwidth_report *report,
                               const struct sw_bandwidth_shape *shape, const char *operation,
                               uint32_t slot_bits, double load, uint32_t number,
                               uint64_t operations, double seconds);
void sw_bandwidth_report_summary(struct sw_bandwidth_report *report,
                                 const struct sw_bandwidth_subject *subject, const char *metric,
                                 double value, const char *unit);

/* Returns the bytes a second of the probed buckets, for a repetition of `seconds`. */
double sw_bandwidth_rate(const struct sw_bandwidth_rep *rep, double seconds);

#endif
