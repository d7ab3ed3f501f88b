/* SPDX-License-Identifier: MIT
 *
 * options.h - the command line of the timing study.
 */
#ifndef SHERWOOD_BENCH_TIMING_OPTIONS_H
#define SHERWOOD_BENCH_TIMING_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/study/options.h"

#define SW_TIMING_LIST_MAX SW_STUDY_LIST_MAX
#define SW_TIMING_REPS_MAX 1000

/* Operations that the command line selects: enum name, name on the command line, description. */
#define SW_TIMING_OPERATION_MAP(X)                                                     \
    X(MEMORY, "ceilings", "rates of copies, random gathers and compare-and-swaps")     \
    X(INSERT, "insert", "all keys into an empty table, in one call")                   \
    X(GET, "get", "a query for each inserted key, at each share of misses")            \
    X(GET_BATCH, "get_batch", "get of batches of different sizes")                     \
    X(UPSERT, "upsert_at_F", "new values for stored keys")                             \
    X(DELETE, "delete", "stored keys are removed")                                     \
    X(INSERT_BATCH, "insert_batch", "fresh keys into a table that is nearly at F")     \
    X(BESIDE, "insert_and_update", "updates beside inserts: is any lost?")             \
    X(BLOCKS, "blocks", "insert, get and insert_batch at each block size")             \
    X(HINTS, "hints", "Sherwood: get with and without displacement hints")             \
    X(COUNTERS, "counters", "Sherwood: get with and without its counters")             \
    X(GROWTH, "growth", "Sherwood: a table at load 0.9 moves to twice the slots")      \
    X(HOLES, "holes", "Sherwood: deletes that leave holes, gets and inserts after")    \
    X(PINNED, "get_256_pinned", "Sherwood: 256 keys in host memory, submit to answer") \
    X(SETS, "sets", "Sherwood: keys without values beside pairs, in turn")             \
    X(HOT, "hot", "Sherwood: writes from host memory, many of them of one key")        \
    X(AUDIT, "audit", "Sherwood: every slot is read after the inserts, entries counted")

enum sw_timing_operation {
#define SW_TIMING_OPERATION_ENUM(name, text, what) SW_TIMING_##name,
    SW_TIMING_OPERATION_MAP(SW_TIMING_OPERATION_ENUM)
#undef SW_TIMING_OPERATION_ENUM
        SW_TIMING_OPERATIONS
};

struct sw_timing_options {
    uint32_t capacity_log2;
    char libraries[512];                    /* names with commas between; empty: all */
    bool operations[SW_TIMING_OPERATIONS];  /* which are wanted */
    uint32_t slot_bits[SW_TIMING_LIST_MAX]; /* 64, 128 */
    uint32_t slot_bits_count;
    double loads[SW_TIMING_LIST_MAX]; /* F: keys offered / slots, (0, 1] */
    uint32_t loads_count;
    uint32_t misses[SW_TIMING_LIST_MAX]; /* percent of a get's keys that are not stored */
    uint32_t misses_count;
    double batch_loads[SW_TIMING_LIST_MAX]; /* loads F at which batches of get are measured */
    uint32_t batch_loads_count;
    uint64_t get_batches[SW_TIMING_LIST_MAX]; /* operations */
    uint32_t get_batches_count;
    uint64_t insert_batches[SW_TIMING_LIST_MAX];
    uint32_t insert_batches_count;
    uint64_t upsert_batches[SW_TIMING_LIST_MAX];
    uint32_t upsert_batches_count;
    uint64_t delete_batches[SW_TIMING_LIST_MAX];
    uint32_t delete_batches_count;
    uint32_t block_sizes[SW_TIMING_LIST_MAX];
    uint32_t block_sizes_count;
    uint32_t reps;          /* timed repetitions */
    uint32_t pinned_reps;   /* of get_256_pinned */
    double series_seconds;  /* a series of Sherwood ends after this time */
    double peer_seconds;    /* the same for peers */
    double library_seconds; /* the study stops a library after this time */
    uint32_t device;
    uint64_t seed;
    char commit[64];
    char output[512]; /* folder; created */
    bool found;       /* Sherwood's writes report which keys were stored */
    bool quick;
    bool lists_libraries; /* only lists the libraries */
};

/* Reads the command line. On DONE the text of --help was printed on stdout, on WRONG one sentence
 * on stderr. */
enum sw_study_parsed sw_timing_options_parse(struct sw_timing_options *options, int argc,
                                             char **argv);

/* Static storage. */
const char *sw_timing_operation_name(enum sw_timing_operation operation);

/* Whether the library is among those asked for. */
bool sw_timing_library_wanted(const struct sw_timing_options *options, const char *name);

#endif
