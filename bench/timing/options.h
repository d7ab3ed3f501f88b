/* SPDX-License-Identifier: MIT
 *
 * options.h - what the timing study is asked to do: its command line.
 */
#ifndef SHERWOOD_BENCH_TIMING_OPTIONS_H
#define SHERWOOD_BENCH_TIMING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define SW_TIMING_LIST_MAX 32
#define SW_TIMING_REPS_MAX 1000

struct sw_timing_options {
    uint32_t capacity_log2;
    uint32_t slot_bits[SW_TIMING_LIST_MAX]; /* 64, 128 */
    uint32_t slot_bits_count;
    double loads[SW_TIMING_LIST_MAX]; /* F: keys offered / slots, (0, 1] */
    uint32_t loads_count;
    uint32_t misses[SW_TIMING_LIST_MAX]; /* percent of a get's keys that are not stored */
    uint32_t misses_count;
    uint32_t reps;        /* timed repetitions of get */
    uint32_t insert_reps; /* and of insert */
    uint32_t batch_log2;
    uint32_t max_probe;
    uint32_t device;
    uint64_t seed;
    char output[512]; /* folder; created */
};

enum sw_timing_parsed { SW_TIMING_RUN, SW_TIMING_HELP, SW_TIMING_WRONG };

/* Reads the command line. On HELP the text was printed on stdout, on WRONG one sentence on stderr.
 */
enum sw_timing_parsed sw_timing_options_parse(struct sw_timing_options *options, int argc,
                                              char **argv);

#endif
