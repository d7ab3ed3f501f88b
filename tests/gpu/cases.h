/* SPDX-License-Identifier: MIT
 *
 * cases.h - what is done to a pair of tables. Each case returns false after pair_fail.
 */
#ifndef SHERWOOD_TESTS_GPU_CASES_H
#define SHERWOOD_TESTS_GPU_CASES_H

#include "tests/gpu/pair.h"

struct scale {
    uint64_t slots;     /* capacity of the main cases */
    uint32_t batch;     /* operations of a batch */
    uint32_t rounds;    /* of random batches */
    uint32_t big_slots; /* of the case with batches larger than 2^18 */
    uint32_t big_batch;
    uint32_t hot; /* operations on one key in a batch */
    enum sw_backend_kind tested;
};

struct test_case {
    const char *name;
    bool (*run)(struct pair *pair, const struct scale *scale, double load);
    double load;         /* given to run */
    double room;         /* the table's maximum load is this much above; 0: 0.015 */
    uint32_t max_probe;  /* 0: derived */
    uint32_t slots;      /* 0: of the scale */
    uint32_t batch;      /* 0: of the scale */
    uint32_t stash;      /* 0: left-overs are handed back */
    bool several_queues; /* work of several streams meets */
    bool slow;           /* only with --full */
};

/* cases.c: contents and layout */
bool case_mixed(struct pair *pair, const struct scale *scale, double load);
bool case_each_operation(struct pair *pair, const struct scale *scale, double load);
bool case_delete_half(struct pair *pair, const struct scale *scale, double load);
bool case_extremes(struct pair *pair, const struct scale *scale, double load);
bool case_hot_key(struct pair *pair, const struct scale *scale, double load);
bool case_big_batch(struct pair *pair, const struct scale *scale, double load);
bool case_scan_and_clear(struct pair *pair, const struct scale *scale, double load);

/* cases_limits.c: the probe cap, the maximum load, queues */
bool case_one_home(struct pair *pair, const struct scale *scale, double load);
bool case_one_home_repeated(struct pair *pair, const struct scale *scale, double load);
bool case_scan_long_run(struct pair *pair, const struct scale *scale, double load);
bool case_one_home_mixed(struct pair *pair, const struct scale *scale, double load);
bool case_groups_at_limit(struct pair *pair, const struct scale *scale, double load);
bool case_refused_whole(struct pair *pair, const struct scale *scale, double load);
bool case_in_flight(struct pair *pair, const struct scale *scale, double load);
bool case_threads(struct pair *pair, const struct scale *scale, double load);

/* Fills `in` with operations on keys [0, universe): every eighth on one of 8 hot keys. deletes: of
 * a hundred, how many delete. */
void fill_random(struct pair *pair, uint32_t count, uint64_t universe, uint32_t deletes);

#endif
