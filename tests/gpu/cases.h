/* SPDX-License-Identifier: MIT
 *
 * cases.h - what is done to a pair of tables. Each case returns false after pair_fail.
 */
#ifndef SHERWOOD_TESTS_GPU_CASES_H
#define SHERWOOD_TESTS_GPU_CASES_H

#include "tests/gpu/pair.h"

/* How large a case's table and its batches are. */
enum case_size {
    SIZE_MAIN,
    SIZE_FOLDED, /* batches in which one key is repeated more often than a segment of the bulk path
                    has room for (table/robin_hood/cuda/) */
    SIZE_BIG,    /* batches larger than 2^18: other kernels answer their reads */
    SIZE_COUNT
};

struct scale {
    struct {
        uint64_t slots;
        uint32_t batch; /* operations of a batch */
    } size[SIZE_COUNT];
    uint32_t rounds; /* of random batches */
    enum sw_backend_kind tested;
};

/* Tunings of the table that a case runs with, besides the table's own choice. */
enum case_tunings {
    TUNINGS_ONE,        /* one of all, another for each case and seed */
    TUNINGS_OWN_BLOCKS, /* bulk and hints, each forced and forbidden; the kernels' own block sizes
                         */
    TUNINGS_ALL
};

struct test_case {
    const char *name;
    bool (*run)(struct pair *pair, const struct scale *scale, double load);
    double load;         /* given to run */
    double room;         /* the table's maximum load is this much above; 0: 0.015 */
    enum case_size size; /* of the scale, where the next two are 0 */
    uint32_t slots;
    uint32_t batch;
    uint32_t max_probe; /* 0: derived */
    uint32_t stash;     /* 0: left-overs are handed back */
    uint32_t growth;    /* times the first capacity the table may grow to; 0: it does not grow */
    enum case_tunings tunings;
    bool sets;           /* also with key sets: all batches by pair_run */
    bool several_queues; /* work of several streams meets */
    bool slow;           /* only with --full, and only with the table's own choice */
    bool full_only;      /* only with --full */
};

/* case_list.c */
const struct test_case *test_cases(size_t *count);

/* cases.c: contents and layout */
bool case_mixed(struct pair *pair, const struct scale *scale, double load);
bool case_delete_half(struct pair *pair, const struct scale *scale, double load);
bool case_big_batch(struct pair *pair, const struct scale *scale, double load);

/* cases_limits.c: the probe cap, the maximum load */
bool case_scan_long_run(struct pair *pair, const struct scale *scale, double load);
bool case_full(struct pair *pair, const struct scale *scale, double load);

/* cases_bulk.c: batches of one upsert, merged in bulk or not */
bool case_repeated(struct pair *pair, const struct scale *scale, double load);
bool case_merged_answers(struct pair *pair, const struct scale *scale, double load);
bool case_alternating(struct pair *pair, const struct scale *scale, double load);
#define PILE_MAX_PROBE 6 /* or 0 */
#define RUN_MAX_PROBE 1500
bool case_pile(struct pair *pair, const struct scale *scale, double load);
bool case_long_run(struct pair *pair, const struct scale *scale, double load);
bool case_beyond_ranges(struct pair *pair, const struct scale *scale, double load);

/* cases_ranges.c: batches that are carried out range by range */
bool case_hot_keys(struct pair *pair, const struct scale *scale, double load);
bool case_small(struct pair *pair, const struct scale *scale, double load);

/* cases_flight.c: bulk batches, clears and resizes with several batches at work */
bool case_pipeline(struct pair *pair, const struct scale *scale, double load);

/* cases_hints.c: present keys and their nearest neighbours in nearly full tables */
bool case_neighbours(struct pair *pair, const struct scale *scale, double load);

/* cases_holes.c: deletes that leave holes */
bool case_holes(struct pair *pair, const struct scale *scale, double load);

/* cases_edges.c: an overfull stash, deletes in bulk, resizes that cannot be */
bool case_stash_over(struct pair *pair, const struct scale *scale, double load);
bool case_delete_bulk(struct pair *pair, const struct scale *scale, double load);
bool case_resize_cannot(struct pair *pair, const struct scale *scale, double load);
bool case_resize_unpolled(struct pair *pair, const struct scale *scale, double load);

/* cases_combined.c: write batches of several queues that are carried out together */
bool case_combined(struct pair *pair, const struct scale *scale, double load);
bool case_combined_at_limit(struct pair *pair, const struct scale *scale, double load);
bool case_combined_growth(struct pair *pair, const struct scale *scale, double load);
bool case_combined_stash_over(struct pair *pair, const struct scale *scale, double load);

/* huge.c: a table of `slots` 64-bit slots on the tested backend alone, meant for more than 2^32 of
 * them. Prints a line for each way of inserting; returns whether all passed. */
bool run_huge(enum sw_backend_kind tested, uint64_t slots, uint64_t seed);

/* The number of entries at which a table of side 0's capacity has the load. */
uint64_t entries_at(const struct pair *pair, double load);

/* The i-th of keys that all have the same home bucket (the middle one), in scattered order. */
uint64_t one_home_key(const struct pair *pair, uint64_t i);

/* Fills `in` with operations on keys [0, universe): every eighth on one of 8 hot keys. deletes: of
 * a hundred, how many delete. */
void fill_random(struct pair *pair, uint32_t count, uint64_t universe, uint32_t deletes);

#endif
