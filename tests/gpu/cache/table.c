/* SPDX-License-Identifier: MIT
 *
 * table.c - the cache behind table.h on CUDA against the model, with room for every key: there the
 * order between different keys makes no difference.
 */
#include "tests/gpu/cache/trial.h"

#include <stdio.h>

#include "tests/support/cache_table.h"

uint64_t case_table(const struct trial_setting *setting, const struct sw_table_config *config)
{
    uint64_t faults = 0;
    char fault[256] = "";
    uint64_t evicted = 0;
    if (config->cache_policy == SW_CACHE_CUSTOM || config->cache_policy == SW_CACHE_EPOCH_LRU) {
        return 0; /* none of a table's, or not followed by the model */
    }
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        struct cache_table_trial trial = {
            .seed = setting->seed,
            .batches = 30,
            .ops_max = 500 * setting->scale,
            .key_count = 1000 * setting->scale,
        };
        trial.config = *config;
        trial.config.slot_bits = slot_bits;
        trial.config.capacity_slots = 8 * trial.key_count;
        trial.config.batch_ops_max = trial.ops_max;
        if (cache_table_run(&trial, &evicted, fault, sizeof(fault)) != 0 || evicted != 0) {
            printf("  table: %s (%llu evicted)\n", fault, (unsigned long long)evicted);
            faults++;
        }
        trial.config.capacity_slots = 4 * trial.ops_max;
        if (config->cache_policy != SW_CACHE_LRU &&
            cache_table_turn_away(&trial, fault, sizeof(fault)) != 0) {
            printf("  newcomers turned away: %s\n", fault);
            faults++;
        }
    }
    return faults;
}
