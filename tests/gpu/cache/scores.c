/* SPDX-License-Identifier: MIT
 *
 * scores.c - every operation of the cache behind table.h on CUDA, with scores, ranges of scores and
 * epochs, against the model, with room for every key; and who leaves where there is none.
 */
#include <stdio.h>

#include "tests/gpu/cache/trial.h"
#include "tests/support/cache_scores.h"

static uint64_t report(const char *what, int failed, const char *fault)
{
    if (failed != 0) {
        printf("  %s: %s\n", what, fault);
    }
    return failed != 0;
}

uint64_t case_scores(const struct trial_setting *setting, const struct sw_table_config *config)
{
    uint64_t faults = 0;
    char fault[256] = "";
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        struct cache_scores_seen seen;
        struct cache_scores_trial trial = {
            .seed = setting->seed,
            .batches = 24,
            .ops_max = 500 * setting->scale,
            .key_count = 1000 * setting->scale,
            .floats = slot_bits == 64,
            .reads_overlap = setting->backend == SW_BACKEND_CUDA,
        };
        trial.config = *config;
        trial.config.slot_bits = slot_bits;
        trial.config.capacity_slots = 8 * trial.key_count;
        trial.config.batch_ops_max = trial.ops_max;
        int failed = cache_scores_run(&trial, &seen, fault, sizeof(fault));
        faults += report("model", failed != 0 || seen.evicted != 0, fault);
        trial.hot_share = 2;
        trial.batches = 12;
        failed = cache_scores_run(&trial, &seen, fault, sizeof(fault));
        faults += report("a hot key", failed != 0 || seen.evicted != 0, fault);
        trial.config.capacity_slots = trial.key_count / 2;
        trial.key_count *= 4;
        if (config->cache_policy == SW_CACHE_CUSTOM) {
            failed = cache_scores_evict(&trial, &seen, fault, sizeof(fault));
            faults += report("who leaves", failed != 0 || seen.evicted == 0, fault);
        }
    }
    return faults;
}

/* Batches of one operation on a cache that is too small: what is evicted is told, too. */
uint64_t case_one_by_one(const struct trial_setting *setting, const struct sw_table_config *config)
{
    char fault[256] = "";
    struct cache_scores_seen seen;
    struct cache_scores_trial trial = {
        .config = *config,
        .seed = setting->seed,
        .batches = 500 * setting->scale,
        .ops_max = 1,
        .key_count = 700,
        .floats = true,
    };
    trial.config.capacity_slots = 256;
    trial.config.batch_ops_max = 512;
    int failed = cache_scores_run(&trial, &seen, fault, sizeof(fault));
    bool few = setting->scale > 1 && seen.evicted == 0;
    return report("model", failed != 0 || few, fault);
}
