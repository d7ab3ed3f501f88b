/* SPDX-License-Identifier: MIT
 *
 * cache_model.h - what a cache must answer: the plainest code that follows table.h.
 *
 * It uses the cache's own code only for the buckets of a key. A bucket is searched slot by slot;
 * the entry that leaves is found by looking at every score.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CACHE_MODEL_H
#define SHERWOOD_TESTS_SUPPORT_CACHE_MODEL_H

#include "table/cache/cache.h"

struct cache_model;

/* The model of a table whose engine is the cache. Ends the program if there is no memory. */
struct cache_model *cache_model_of_table(const struct sw_table_config *config,
                                         const struct sw_table_info *info);
void cache_model_destroy(struct cache_model *model);

/* One operation: what it does to its key's entry, and whether it makes one where there is none. */
struct cache_model_step {
    uint64_t key;
    const void *value;             /* of those that add, write or insert */
    uint64_t given;                /* to the score */
    enum sw_cache_element element; /* of what is added */
    bool adds, writes, uses, erases, inserts;
    /* What leaves for a newcomer; each may be NULL. */
    uint64_t *evicted_key;
    void *evicted_value;
    uint64_t *evicted_score;
};

/* Applies it. A use takes a tick of the clock, and is a round. */
enum sw_cache_result cache_model_apply(struct cache_model *model,
                                       const struct cache_model_step *step);
void cache_model_clear(struct cache_model *model);
void cache_model_set_epoch(struct cache_model *model, uint64_t epoch);
/* The clock and the rounds of the operation that is applied next; otherwise they go on by
 * themselves.
 */
void cache_model_set_time(struct cache_model *model, uint64_t clock, uint64_t rounds);
/* Removes the entries with min <= score <= max. */
void cache_model_erase_scores(struct cache_model *model, uint64_t min, uint64_t max);

/* The value of a key, NULL if it is absent; its score. */
const void *cache_model_find(const struct cache_model *model, uint64_t key, uint64_t *score);
/* The entry at a slot: false if it is empty. */
bool cache_model_slot(const struct cache_model *model, uint64_t slot, uint64_t *key,
                      const void **value, uint64_t *score);
uint64_t cache_model_size(const struct cache_model *model);

#endif
