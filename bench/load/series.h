/* SPDX-License-Identifier: MIT
 *
 * series.h - the keys and latencies of each second of a run, as rows of a CSV file.
 *
 * Every worker counts its latencies in its own buckets, whose counts only grow. About once a second
 * the main thread adds them up and subtracts the previous sums. Buckets are as in histogram.h, but
 * 128 to a power of two: a percentile is at most 0.8 % above the true one.
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
    FILE *out; /* the file in `output`; NULL: no series */
    struct sw_cli_output output;
    const char *phase;
    uint64_t start_ns, row_ns; /* start of the phase, and of the current row */
    uint64_t keys;             /* keys before the current row */
    uint32_t second;
    uint64_t before[SW_LOAD_SERIES_BUCKETS];
    uint64_t now[SW_LOAD_SERIES_BUCKETS];
};

void sw_load_series_record(struct sw_load_series_counts *counts, uint64_t latency_ns);

/* Creates a file beside the old one, and writes the names of the columns. Returns false with errno
 * set. */
bool sw_load_series_open(struct sw_load_series *series, const char *path);
/* Begins a phase. The workers' counts must be zero. */
void sw_load_series_start(struct sw_load_series *series, const char *phase, uint64_t now_ns);
/* Returns whether the current row has lasted a second. */
bool sw_load_series_is_due(const struct sw_load_series *series, uint64_t now_ns);
/* Adds one worker's counts to the row. */
void sw_load_series_add(struct sw_load_series *series, const struct sw_load_series_counts *counts);
/* Writes the row, unless nothing was added. `keys_done` counts the keys of the phase. */
void sw_load_series_row(struct sw_load_series *series, uint64_t keys_done, uint64_t now_ns);
/* Gives the file its final name, unless no phase began. Returns false with errno set if a write
 * failed; then an older file stays. */
bool sw_load_series_close(struct sw_load_series *series);

#endif
