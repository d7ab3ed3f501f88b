/* SPDX-License-Identifier: MIT
 *
 * options.h - the command line of the cuckoo study.
 */
#ifndef SHERWOOD_BENCH_CUCKOO_OPTIONS_H
#define SHERWOOD_BENCH_CUCKOO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/study/options.h"

#define SW_CBENCH_REPS_MAX 1000

/* Enum name, name on the command line and in the files, description. */
#define SW_CBENCH_EXPERIMENT_MAP(X)                                                      \
    X(INSERT, "insert", "2^s keys into an empty table of 2^25, s = 10 .. 24")            \
    X(LOOKUP, "lookup", "2^24 look-ups, 0, 10, .. 100 % of them miss, table of 2^25")    \
    X(SIZE, "size", "n = 2^24 keys into tables of 1.01n .. 2.0n")                        \
    X(BOUND, "bound", "n = 2^24 keys into a table of 1.4n, chains of 0.2 .. 19.2 log n") \
    X(BOTH, "insert_and_lookup", "insert and look-ups in one call, half of them miss")

/* The tables, by number. */
enum sw_cbench_table {
    SW_CBENCH_ROBIN_HOOD,
    SW_CBENCH_CUCKOO2 = 2,
    SW_CBENCH_CUCKOO3 = 3,
    SW_CBENCH_BGHT_CHT, /* from here on: peers */
    SW_CBENCH_BGHT_B16,
    SW_CBENCH_TABLES
};

enum sw_cbench_experiment {
#define SW_CBENCH_EXPERIMENT_ENUM(name, text, what) SW_CBENCH_##name,
    SW_CBENCH_EXPERIMENT_MAP(SW_CBENCH_EXPERIMENT_ENUM)
#undef SW_CBENCH_EXPERIMENT_ENUM
        SW_CBENCH_EXPERIMENTS
};

struct sw_cbench_options {
    unsigned on_host; /* 1: backend cpu; 0: cuda */
    int device;
    bool experiments[SW_CBENCH_EXPERIMENTS];
    bool tables[SW_CBENCH_TABLES];
    uint32_t keys_log2;  /* n, and the largest s */
    uint32_t first_log2; /* the smallest s */
    uint32_t table_log2; /* of experiments 1 and 2 */
    uint32_t reps;
    double bound;           /* l of the chain bound l * log2 n; experiment 4 varies l */
    unsigned size_is_total; /* 1: a size counts the cells of all arrays; 0: of each */
    uint64_t seed;
    char commit[64];
    char output[512]; /* folder; created */
    bool quick;
};

/* Reads the command line. DONE: it printed --help on stdout. WRONG: it printed one sentence on
 * stderr. */
enum sw_study_parsed sw_cbench_options_parse(struct sw_cbench_options *options, int argc,
                                             char **argv);

/* Static storage. */
const char *sw_cbench_experiment_name(enum sw_cbench_experiment experiment);

#endif
