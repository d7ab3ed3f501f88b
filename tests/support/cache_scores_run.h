/* SPDX-License-Identifier: MIT
 *
 * cache_scores_run.h - a run of cache_scores.h: what its three files share.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CACHE_SCORES_RUN_H
#define SHERWOOD_TESTS_SUPPORT_CACHE_SCORES_RUN_H

#include <string.h>

#include "tests/support/cache_model.h"
#include "tests/support/cache_scores.h"
#include "tests/support/io_memory.h"
#include "tests/support/random.h"

struct cache_scores {
    const struct cache_scores_trial *trial;
    struct cache_scores_seen *seen;
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_info info;
    struct cache_model *model;
    struct random random;
    uint64_t alike; /* a key whose hash is nearly that of key 1 */
    uint64_t clock, rounds, epoch;
    /* I/O memory, [ops_max] each */
    uint8_t *ops, *keys, *values, *previous, *left_keys, *left_values;
    uint64_t *scores, *scores_out, *left_scores, *found, *not_admitted;
    struct io_memory io;
    struct sw_batch batch;
    /* what must be */
    uint8_t *expected_value;
    uint64_t expected_left;
    uint64_t *must_keys, *must_scores; /* [ops_max] of those that must leave */
    uint8_t *must_values;
    struct sw_counters counters;
    uint8_t *places; /* [key_count] of cache_scores_evict: where each key is */
    char *fault;
    size_t fault_size;
    bool failed;
};

/* Creates the table, its model and the arrays. Returns false and sets the fault if there is no such
 * table. Ends the process if memory is short. */
bool cache_scores_open(struct cache_scores *run, const struct cache_scores_trial *trial,
                       struct cache_scores_seen *seen, char *fault, size_t fault_size);
void cache_scores_close(struct cache_scores *run);

/* Notes the first fault. */
__attribute__((format(printf, 2, 3))) void cache_scores_fail(struct cache_scores *run,
                                                             const char *format, ...);

/* Between two batches: the scanner; counts, lists and perhaps erases a range of scores; lists
 * everything; perhaps goes on to another epoch (cache_scores_ranges.c). */
void cache_scores_audit(struct cache_scores *run);

static inline uint64_t cache_scores_below(struct cache_scores *run, uint64_t limit)
{
    return random_below(&run->random, limit);
}

static inline uint64_t cache_scores_key(const struct cache_scores *run, const void *keys,
                                        uint64_t index)
{
    uint64_t key = 0;
    memcpy(&key, (const uint8_t *)keys + index * run->info.key_bytes, run->info.key_bytes);
    return key;
}

#endif
