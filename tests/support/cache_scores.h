/* SPDX-License-Identifier: MIT
 *
 * cache_scores.h - random batches of every operation on a table whose engine is the cache, with
 * scores, ranges of scores and epochs, against the model.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CACHE_SCORES_H
#define SHERWOOD_TESTS_SUPPORT_CACHE_SCORES_H

#include "table/table.h"

struct cache_scores_trial {
    struct sw_table_config config; /* engine cache */
    uint64_t seed;
    uint32_t batches;
    uint32_t ops_max;   /* operations of a batch, at most */
    uint64_t key_count; /* keys there are */
    uint32_t hot_share; /* N: every N-th operation on average is on one key; 0: no hot key */
    bool floats;        /* values are of 32-bit floats; otherwise of integers */
    bool reads_overlap; /* the reads of a batch overlap: what scores_out says of a repeated key is
                           that of one of them */
};

/* Counts of events. A test checks by them that it covered its subject. */
struct cache_scores_seen {
    uint64_t evicted, not_admitted, erased_by_score, matched, listed, epochs;
    uint64_t operations; /* bit 1 << enum sw_op: was carried out on a present key */
};

/* Runs it: every answer, counter, eviction, entry and score is compared. A backend that does not
 * promise array order for different keys must be given so much room that nobody leaves. 0, or 1
 * with the first fault as text. */
int cache_scores_run(const struct cache_scores_trial *trial, struct cache_scores_seen *seen,
                     char *fault, size_t fault_size);

/* Offers each of key_count keys once, to a cache with the policy CUSTOM that is too small for them:
 * afterwards each is held, was evicted or was turned away, whatever the order was. 0, or 1 with the
 * first fault as text. `batches` has no part in it. */
int cache_scores_evict(const struct cache_scores_trial *trial, struct cache_scores_seen *seen,
                       char *fault, size_t fault_size);

#endif
