/* SPDX-License-Identifier: MIT
 *
 * options.h - the command line of the memory bandwidth study.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_OPTIONS_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/study/options.h"
#include "table/table.h"

#define SW_BANDWIDTH_LIST_MAX SW_STUDY_LIST_MAX
#define SW_BANDWIDTH_REPS_MAX 1000
#define SW_BANDWIDTH_LOAD_MAX 16.0 /* of table.h, for tables that hand back what does not fit */

struct sw_bandwidth_options {
    uint32_t capacity_log2;
    double loads[SW_BANDWIDTH_LIST_MAX]; /* F: keys offered / slots */
    uint32_t loads_count;
    uint32_t block_sizes[SW_BANDWIDTH_LIST_MAX]; /* of look-ups, beside the table's own */
    uint32_t block_sizes_count;
    uint32_t copy_log2;   /* bytes of a copy; 0: the bytes of the slots */
    uint32_t reps;        /* timed repetitions of each ceiling and each get */
    uint32_t insert_reps; /* and of each insert */
    uint32_t batch_log2;
    uint32_t max_probe;
    enum sw_choice bulk;
    enum sw_choice hints;
    bool shapes;       /* instead of the table */
    uint32_t l2_fetch; /* bytes, asked of the device; 0: as it is */
    uint32_t device;
    uint64_t seed;
    char commit[128]; /* "": not given */
    char output[512]; /* folder; created */
    bool quick;
};

/* Reads the command line. On DONE the text of --help was printed on stdout, on WRONG one sentence
 * on stderr. */
enum sw_study_parsed sw_bandwidth_options_parse(struct sw_bandwidth_options *options, int argc,
                                                char **argv);

/* "auto", "never", "always". */
const char *sw_bandwidth_choice_name(enum sw_choice choice);

#endif
