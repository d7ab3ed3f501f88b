/* SPDX-License-Identifier: MIT
 *
 * cache_backend.c - what the cache's backends have in common.
 */
#include "table/cache/cache_backend.h"

#include "table/config.h"

int sw_cache_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    if (config->capacity_slots == 0 || config->capacity_slots > 1ULL << 48) {
        return sw_config_refuse(reason, reason_size, "a cache must have from 1 to 2^48 slots");
    }
    return SW_OK;
}

struct sw_cache_slots sw_cache_slots_of(const struct sw_table_config *config)
{
    struct sw_cache_slots slots = {
        .buckets = (config->capacity_slots - 1) / SW_CACHE_BUCKET_SLOTS + 1,
        .seed = config->seed,
        .value_bytes = sw_config_value_bytes(config),
        .two = config->cache_mode == SW_CACHE_MEMORY,
        .policy = config->cache_policy,
    };
    if (slots.two && slots.buckets < 2) {
        slots.buckets = 2;
    }
    return slots;
}

uint64_t sw_cache_bytes(const struct sw_table_config *config)
{
    struct sw_cache_slots slots = sw_cache_slots_of(config);
    return slots.buckets * sw_cache_bucket_bytes(slots.value_bytes);
}

void sw_cache_facts(const struct sw_cache_slots *slots, uint64_t bytes,
                    struct sw_backend_facts *facts)
{
    *facts = (struct sw_backend_facts){
        .bucket_slots = SW_CACHE_BUCKET_SLOTS,
        .buckets = slots->buckets,
        .capacity_slots = slots->buckets * SW_CACHE_BUCKET_SLOTS,
        .max_capacity_slots = slots->buckets * SW_CACHE_BUCKET_SLOTS,
        .occupied_max = slots->buckets * SW_CACHE_BUCKET_SLOTS,
        .bytes_reserved = bytes,
    };
}
