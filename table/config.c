/* SPDX-License-Identifier: MIT
 *
 * config.c - checks of a table's configuration that are the same for all engines, and the memory
 * that a table may use.
 */
#include "table/config.h"

#include <stdarg.h>
#include <stdio.h>

#include "table/engine.h"
#include "table/host/memory.h"

/* No machine can address larger arrays. The limit also keeps all products within 64 bits. */
#define SLOTS_MAX (1ULL << 56)
#define BATCH_OPS_MAX (1U << 28)

int sw_config_refuse(char *reason, size_t reason_size, const char *format, ...)
{
    if (reason != NULL && reason_size > 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason, reason_size, format, arguments);
        va_end(arguments);
    }
    return SW_E_INVALID;
}

const char *sw_cache_policy_name(enum sw_cache_policy policy)
{
    static const char *const names[] = {"lru", "lfu", "epoch-lru", "epoch-lfu", "custom"};
    return (unsigned)policy < sizeof(names) / sizeof(names[0]) ? names[policy] : "?";
}

uint32_t sw_config_value_bytes(const struct sw_table_config *config)
{
    return config->is_set             ? 0
           : config->value_bytes != 0 ? config->value_bytes
                                      : config->slot_bits / 16;
}

int sw_config_own(const struct sw_table_config *config, const char *engine, uint32_t fields,
                  char *reason, size_t reason_size)
{
    const struct {
        uint32_t field;
        bool set;
        const char *name;
    } all[] = {
        {SW_FIELD_MAX_CAPACITY, config->max_capacity_slots > config->capacity_slots,
         "a maximum capacity above the capacity"},
        {SW_FIELD_MAX_PROBE, config->max_probe != 0, "max_probe"},
        {SW_FIELD_BULK, config->tuning.bulk != SW_CHOICE_AUTO, "tuning of bulk writes"},
        {SW_FIELD_RANGES, config->tuning.ranges != SW_CHOICE_AUTO, "tuning of ranges"},
        {SW_FIELD_HINTS, config->tuning.hints != SW_CHOICE_AUTO, "tuning of hints"},
        {SW_FIELD_CACHE_WRITING, config->tuning.cache_writing != SW_CACHE_WRITING_AUTO,
         "tuning of a cache's writes"},
        {SW_FIELD_HASH_FUNCTIONS, config->hash_functions != 0, "a number of hash functions"},
        {SW_FIELD_VALUE_BYTES, config->value_bytes != 0, "value_bytes"},
        {SW_FIELD_CACHE_MODE, config->cache_mode != SW_CACHE_MEMORY, "a cache mode"},
        {SW_FIELD_CACHE_POLICY, config->cache_policy != SW_CACHE_LRU, "a cache policy"},
        {SW_FIELD_ROWS_MAX, config->rows_max != 0, "a maximum of rows"},
        {SW_FIELD_ROWS_IN, config->rows_in != SW_ROWS_IN_GPU || config->rows_gpu_bytes != 0,
         "a place for rows"},
        {SW_FIELD_KEY_STRINGS, config->key_text_bytes != 0, "texts of keys"},
        {SW_FIELD_SET, config->is_set, "keys without values"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].set && (fields & all[i].field) == 0) {
            return sw_config_refuse(reason, reason_size, "the engine %s does not support %s",
                                    engine, all[i].name);
        }
    }
    return SW_OK;
}

int sw_config_valid(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    if ((unsigned)config->backend > SW_BACKEND_CUDA) {
        return sw_config_refuse(reason, reason_size, "the backend must be auto, cpu or cuda");
    }
    if (config->slot_bits != 64 && config->slot_bits != 128) {
        return sw_config_refuse(reason, reason_size, "slots must have 64 or 128 bits, not %u",
                                (unsigned)config->slot_bits);
    }
    if (config->batch_ops_max == 0 || config->batch_ops_max > BATCH_OPS_MAX) {
        return sw_config_refuse(reason, reason_size,
                                "a batch must hold between 1 and %u operations, not %u",
                                BATCH_OPS_MAX, (unsigned)config->batch_ops_max);
    }
    if (config->capacity_slots > SLOTS_MAX || config->max_capacity_slots > SLOTS_MAX) {
        return sw_config_refuse(reason, reason_size, "the capacity must be at most 2^56 slots");
    }
    return SW_OK;
}

uint64_t sw_table_host_memory(uint64_t mapped)
{
    return sw_memory_limit(mapped);
}
