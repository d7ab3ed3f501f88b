/* SPDX-License-Identifier: MIT
 *
 * cache_table.h - random batches on a table whose engine is the cache, against the model.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_CACHE_TABLE_H
#define SHERWOOD_TESTS_SUPPORT_CACHE_TABLE_H

#include "table/table.h"

struct cache_table_trial {
    struct sw_table_config config; /* engine cache; policy LRU, LFU or EPOCH_LFU */
    uint64_t seed;
    uint32_t batches;
    uint32_t ops_max;   /* operations of a batch, at most */
    uint64_t key_count; /* keys there are */
};

/* Runs it: every answer, counter, eviction and entry is compared. A backend that does not promise
 * array order for different keys must be given so much room that nobody leaves. 0, or 1 with the
 * first fault as text; *evicted receives how many left. */
int cache_table_run(const struct cache_table_trial *trial, uint64_t *evicted, char *fault,
                    size_t fault_size);

/* Fills a table of LFU or EPOCH_LFU, uses every entry, and offers newcomers. The table must turn
 * them away and report it. Keys of a batch are distinct, so order does not matter. Ignores
 * `batches` and `key_count`. Returns 0, or 1 with the first fault as text. */
int cache_table_turn_away(const struct cache_table_trial *trial, char *fault, size_t fault_size);

#endif
