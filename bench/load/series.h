/* SPDX-License-Identifier: MIT
 *
 * series.h - the keys and latencies of each second of a run, as rows of a CSV file.
 *
 * Every worker counts its latencies in buckets of its own, which only grow; about once a second the
 * main thread adds them up and subtracts the sums of the last time. Buckets are as in histogram.h,
 * but 128 to a power of two: a percentile is at most 0.8 % above the true one.
 */
#ifndef SHERWOOD_LOAD_SERIES_H
#define SHERWOOD_LOAD_SERIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/cli/output.h"

#define SW_LOAD_SERIES_BITS 7
#define SW_LOAD_SERIES_LINEAR (2U << SW_LOAD_SERIES_BITS)
#define SW_LOAD_SERIES_BUCKETS \
    (SW_LOAD_SERIES_LINEAR + (63U - SW_LOAD_SERIES_BITS) * (1U << SW_LOAD_SERIES_BITS))

/* Counts of one worker. Only the worker writes them; any thread may read. Zero bytes are empty
 * counts. */
struct sw_load_series_counts {
    atomic_uint_fast64_t buckets[SW_LOAD_SERIES_BUCKETS];
};

/* Belongs to the main thread. */
struct sw_load_series {
    FILE *out; /* of `output`; NULL: there is no series */
    struct sw_cli_output output;
    const char *phase;
    uint64_t start_ns, row_ns; /* of the phase, of the current row */
    uint64_t keys;             /* until that row */
    uint32_t second;
    uint64_t before[SW_LOAD_SERIES_BUCKETS];
    uint64_t now[SW_LOAD_SERIES_BUCKETS];
};

void sw_load_series_record(struct sw_load_series_counts *counts, uint64_t latency_ns);

/* Creates the file, beside an older one, and writes the names of the columns. False with errno set.
 */
bool sw_load_series_open(struct sw_load_series *series, const char *path);
/* Begins a phase; the workers' counts are zero. */
void sw_load_series_start(struct sw_load_series *series, const char *phase, uint64_t now_ns);
/* Is the current row a second old? */
bool sw_load_series_is_due(const struct sw_load_series *series, uint64_t now_ns);
/* Adds one worker's counts to the row. */
void sw_load_series_add(struct sw_load_series *series, const struct sw_load_series_counts *counts);
/* Writes the row, if anything was added; `keys_done` is the phase's. */
void sw_load_series_row(struct sw_load_series *series, uint64_t keys_done, uint64_t now_ns);
/* Gives the file its name, unless no phase began. False with errno set: something could not be
 * written, and an older file stays. */
bool sw_load_series_close(struct sw_load_series *series);

#endif
