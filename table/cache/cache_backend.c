/* SPDX-License-Identifier: MIT
 *
 * cache_backend.c - the valid configurations of a cache, and its backends.
 */
#include "table/cache/cache_backend.h"

#include "table/config.h"

#define VALUE_BYTES_MIN 4U
#define VALUE_BYTES_MAX 1024U

/* The largest number of ids. The id of all ones belongs to no entry. */
#define SW_CACHE_IDS_MAX_32 0xffffffffULL
#define SW_CACHE_IDS_MAX (1ULL << 48)

/* Checks a cache of ids, whose slots have one id each. */
static int ids_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const uint64_t least = (config->cache_mode == SW_CACHE_MEMORY ? 2 : 1) * SW_CACHE_BUCKET_SLOTS;
    const uint64_t most = config->slot_bits == 64 ? SW_CACHE_IDS_MAX_32 : SW_CACHE_IDS_MAX;
    const uint64_t slots = config->max_capacity_slots > config->capacity_slots
                               ? config->max_capacity_slots
                               : config->capacity_slots;
    if (config->rows_max < least || config->rows_max > most) {
        return sw_config_refuse(reason, reason_size,
                                "a cache of %u-bit keys must have from %llu to %llu ids, not %llu",
                                (unsigned)config->slot_bits / 2, (unsigned long long)least,
                                (unsigned long long)most, (unsigned long long)config->rows_max);
    }
    if (slots > config->rows_max) {
        return sw_config_refuse(
            reason, reason_size,
            "a cache of %llu ids must have at most that many slots, not %llu: each slot has an id",
            (unsigned long long)config->rows_max, (unsigned long long)slots);
    }
    if (config->rows_in != SW_ROWS_IN_GPU) {
        return sw_config_refuse(reason, reason_size, "the ids of a cache must be in GPU memory");
    }
    return SW_OK;
}

static int valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const uint32_t value_bytes = sw_config_value_bytes(config);
    if (value_bytes < VALUE_BYTES_MIN || value_bytes > VALUE_BYTES_MAX || value_bytes % 4 != 0) {
        return sw_config_refuse(reason, reason_size,
                                "values must have 4 to 1024 bytes, a multiple of 4, not %u",
                                (unsigned)value_bytes);
    }
    if ((unsigned)config->cache_mode > SW_CACHE_THROUGHPUT) {
        return sw_config_refuse(reason, reason_size, "the cache mode must be memory or throughput");
    }
    if ((unsigned)config->cache_policy > SW_CACHE_CUSTOM) {
        return sw_config_refuse(reason, reason_size,
                                "the cache policy must be lru, lfu, epoch-lru, epoch-lfu or "
                                "custom");
    }
    if ((unsigned)config->rows_in > SW_ROWS_IN_HOST || config->rows_gpu_bytes != 0) {
        return sw_config_refuse(reason, reason_size,
                                "the values of a cache are in GPU memory or in host memory as a "
                                "whole: gpu+host is for rows");
    }
    if (config->capacity_slots == 0 || config->capacity_slots > 1ULL << 48 ||
        config->max_capacity_slots > 1ULL << 48) {
        return sw_config_refuse(reason, reason_size, "a cache must have from 1 to 2^48 slots");
    }
    if (config->rows_max != 0 && !sw_config_has_ids(config)) {
        return sw_config_refuse(
            reason, reason_size,
            "a cache must have value_bytes or rows_max, not both: ids are values");
    }
    return sw_config_has_ids(config) ? ids_valid(config, reason, reason_size) : SW_OK;
}

/* Bytes of a table's cache: keys, values, scores, digests, marks and heads. */
static uint64_t bytes(const struct sw_table_config *config)
{
    struct sw_cache_slots slots = sw_cache_slots_of(config);
    return slots.buckets * sw_cache_bucket_bytes(slots.value_bytes);
}

const struct sw_engine_parts sw_cache_engine = {
    .name = "cache",
    .fields = SW_FIELD_MAX_CAPACITY | SW_FIELD_CACHE_WRITING | SW_FIELD_VALUE_BYTES |
              SW_FIELD_CACHE_MODE | SW_FIELD_CACHE_POLICY | SW_FIELD_ROWS_IN | SW_FIELD_ROWS_MAX,
    .valid = valid,
    .bytes = bytes,
    .cpu = &sw_cache_backend_cpu,
    .cuda = sw_cache_backend_cuda,
};
