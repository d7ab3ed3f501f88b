/* SPDX-License-Identifier: MIT
 *
 * combined.c - writes of a cache behind table.h that are carried out together: with room for every
 * key, against the cache on the CPU.
 */
#include "tests/gpu/combined.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cache/trial.h"

#define KEYS 1000
#define OPERATIONS 6000 /* of a round */

static struct sw_table_config configuration(const struct sw_table_config *config,
                                            uint32_t slot_bits, uint32_t value_bytes)
{
    struct sw_table_config table = *config;
    table.slot_bits = slot_bits;
    table.value_bytes = value_bytes;
    table.batch_ops_max = OPERATIONS;
    return table;
}

static struct sw_table *create(struct trial_faults *faults, const struct sw_table_config *config)
{
    char reason[256] = "";
    struct sw_table *table = NULL;
    if (sw_table_create(config, &table, reason, sizeof(reason)) != SW_OK) {
        trial_fault(faults, "create: %s", reason);
    }
    return table;
}

/* --- with room for every key ------------------------------------------------------------------ */

static bool run_rounds(struct combined *combined, struct random *random, uint32_t rounds)
{
    static const enum sw_op ops[] = {SW_GET, SW_SET, SW_GET, SW_SET_ABSENT, SW_DELETE};
    for (uint32_t n = 0; n < rounds; n++) {
        struct combined_round round = {
            .batches = n % 4 == 3 ? COMBINED_BATCHES_MAX : 2 + (uint32_t)random_below(random, 59),
            .count_max = n % 4 == 3 ? 3 : 200,
            .large = 5,
            .queues = 1 + n % COMBINED_QUEUES,
            .op = ops[n % (sizeof(ops) / sizeof(ops[0]))],
            .reads = n % COMBINED_QUEUES == 0,
            .clears = n % 4 == 2,
            .fresh = 5,
            .deletes = 20,
            .universe = n % 3 == 1 ? 100 : KEYS,
            .operations = OPERATIONS,
        };
        if (!combined_run(combined, &round)) {
            return false;
        }
    }
    return true;
}

static void compare_tables(struct trial_faults *faults, struct sw_table *const tables[2])
{
    struct sw_table_stats stats[2];
    for (int s = 0; s < 2; s++) {
        char violation[256] = "";
        if (sw_table_check(tables[s], violation, sizeof(violation)) != SW_OK) {
            trial_fault(faults, "table %d: %s", s, violation);
        }
        sw_table_stats(tables[s], &stats[s]);
    }
    if (stats[0].occupied != stats[1].occupied || stats[1].counters.evicted != 0) {
        trial_fault(faults, "occupied: %llu, tested %llu; %llu evicted",
                    (unsigned long long)stats[0].occupied, (unsigned long long)stats[1].occupied,
                    (unsigned long long)stats[1].counters.evicted);
    }
}

static void with_room(struct trial_faults *faults, const struct trial_setting *setting,
                      struct sw_table_config config)
{
    uint32_t rounds = 5 + setting->scale;
    config.capacity_slots = 4 * (KEYS + (uint64_t)rounds * OPERATIONS);
    struct sw_table_config oracle = config;
    oracle.backend = SW_BACKEND_CPU;
    struct sw_table *tables[2] = {create(faults, &oracle), create(faults, &config)};
    if (tables[0] != NULL && tables[1] != NULL) {
        struct combined combined;
        struct random random = {setting->seed + config.value_bytes};
        if (!combined_open(&combined, tables[0], tables[1], OPERATIONS, KEYS,
                           random_next(&random)) ||
            !run_rounds(&combined, &random, rounds)) {
            trial_fault(faults, "%u-bit keys, %u bytes: %s", config.slot_bits / 2,
                        config.value_bytes, combined.failure);
        }
        combined_close(&combined);
        compare_tables(faults, tables);
    }
    sw_table_destroy(tables[0]);
    sw_table_destroy(tables[1]);
}

uint64_t case_combined(const struct trial_setting *setting, const struct sw_table_config *config)
{
    static const uint32_t sizes[] = {4, 8, 24, 64};
    struct trial_faults faults = {.name = "combined"};
    if (config->cache_policy == SW_CACHE_CUSTOM || config->cache_policy == SW_CACHE_EPOCH_LRU ||
        config->tuning.cache_writing != SW_CACHE_WRITING_LOCKS) {
        return 0; /* a table does not have this policy, or cannot choose this way of writing */
    }
    for (uint32_t slot_bits = 64; slot_bits <= 128; slot_bits += 64) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            with_room(&faults, setting, configuration(config, slot_bits, sizes[s]));
        }
    }
    return faults.count;
}
