/* SPDX-License-Identifier: MIT
 *
 * geometry.c - the sizes of a cache.
 */
#include "table/cache/cache_backend.h"
#include "table/config.h"

uint64_t sw_cache_buckets_of(const struct sw_table_config *config, uint64_t capacity)
{
    uint64_t least = config->cache_mode == SW_CACHE_MEMORY ? 2 : 1;
    uint64_t buckets = capacity / SW_CACHE_BUCKET_SLOTS + (capacity % SW_CACHE_BUCKET_SLOTS != 0);
    if (sw_config_has_ids(config) && buckets > config->rows_max / SW_CACHE_BUCKET_SLOTS) {
        buckets = config->rows_max / SW_CACHE_BUCKET_SLOTS; /* each slot has an id */
    }
    return buckets > least ? buckets : least;
}

uint64_t sw_cache_buckets_max(const struct sw_table_config *config)
{
    bool grows = config->max_capacity_slots > config->capacity_slots;
    return sw_cache_buckets_of(config, grows ? config->max_capacity_slots : config->capacity_slots);
}

uint64_t sw_cache_buckets_grown(uint64_t buckets, uint64_t most, uint64_t entries)
{
    while (buckets < most && entries > buckets * (SW_CACHE_BUCKET_SLOTS / 2)) {
        buckets = buckets > most / 2 ? most : buckets * 2;
    }
    return buckets;
}

struct sw_cache_slots sw_cache_slots_of(const struct sw_table_config *config)
{
    struct sw_cache_slots slots = {
        .buckets = sw_cache_buckets_of(config, config->capacity_slots),
        .seed = config->seed,
        .ids = sw_config_has_ids(config) ? config->rows_max : 0,
        .value_bytes = sw_config_value_bytes(config),
        .two = config->cache_mode == SW_CACHE_MEMORY,
        .policy = config->cache_policy,
    };
    return slots;
}

void sw_cache_facts(uint64_t buckets, uint64_t buckets_max, uint64_t bytes,
                    struct sw_backend_facts *facts)
{
    *facts = (struct sw_backend_facts){
        .bucket_slots = SW_CACHE_BUCKET_SLOTS,
        .buckets = buckets,
        .capacity_slots = buckets * SW_CACHE_BUCKET_SLOTS,
        .max_capacity_slots = buckets_max * SW_CACHE_BUCKET_SLOTS,
        .occupied_max = buckets * SW_CACHE_BUCKET_SLOTS,
        .bytes_reserved = bytes,
    };
}
