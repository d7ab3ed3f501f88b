/* SPDX-License-Identifier: MIT
 *
 * config.c - checks of a table's configuration that do not depend on how the engine works.
 */
#include "table/config.h"

#include <stdarg.h>
#include <stdio.h>

/* Arrays larger than this cannot be addressed on any machine; keeps all products in 64 bits. */
#define SLOTS_MAX (1ULL << 56)
#define BATCH_OPS_MAX (1U << 28)
#define VALUE_BYTES_MIN 4U
#define VALUE_BYTES_MAX 1024U

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

const char *sw_engine_name(enum sw_engine engine)
{
    switch (engine) {
    case SW_ENGINE_ROBIN_HOOD:
        return "robin_hood";
    case SW_ENGINE_CUCKOO:
        return "cuckoo";
    case SW_ENGINE_CACHE:
        return "cache";
    }
    return NULL;
}

uint32_t sw_config_value_bytes(const struct sw_table_config *config)
{
    return config->value_bytes != 0 ? config->value_bytes : config->slot_bits / 16;
}

/* A field that only one engine has. */
struct own_field {
    const char *name;
    bool set;
    bool has; /* this engine has it */
};

static int check_own_fields(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    const bool robin_hood = config->engine == SW_ENGINE_ROBIN_HOOD;
    const bool cuckoo = config->engine == SW_ENGINE_CUCKOO;
    const bool cache = config->engine == SW_ENGINE_CACHE;
    const struct own_field fields[] = {
        {"a maximum capacity above the capacity",
         config->max_capacity_slots > config->capacity_slots, robin_hood || cache},
        {"max_probe", config->max_probe != 0, robin_hood || cuckoo},
        {"tuning of bulk writes", config->tuning.bulk != SW_CHOICE_AUTO, robin_hood},
        {"tuning of ranges", config->tuning.ranges != SW_CHOICE_AUTO, robin_hood},
        {"tuning of hints", config->tuning.hints != SW_CHOICE_AUTO, robin_hood},
        {"tuning of a cache's writes", config->tuning.cache_writing != SW_CACHE_WRITING_AUTO,
         cache},
        {"a number of hash functions", config->hash_functions != 0, cuckoo},
        {"value_bytes", config->value_bytes != 0, cache},
        {"a cache mode", config->cache_mode != SW_CACHE_MEMORY, cache},
        {"a cache policy", config->cache_policy != SW_CACHE_LRU, cache},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].set && !fields[i].has) {
            return sw_config_refuse(reason, reason_size, "the engine %s has no use for %s",
                                    sw_engine_name(config->engine), fields[i].name);
        }
    }
    return SW_OK;
}

static int check_engine(const struct sw_table_config *config, char *reason, size_t reason_size)
{
    if (sw_engine_name(config->engine) == NULL) {
        return sw_config_refuse(reason, reason_size,
                                "the engine must be robin_hood, cuckoo or cache");
    }
    int status = check_own_fields(config, reason, reason_size);
    if (status != SW_OK) {
        return status;
    }
    if (config->hash_functions != 0 && config->hash_functions != 2 && config->hash_functions != 3) {
        return sw_config_refuse(reason, reason_size, "there must be 2 or 3 hash functions, not %u",
                                (unsigned)config->hash_functions);
    }
    uint32_t bytes = sw_config_value_bytes(config);
    if (bytes < VALUE_BYTES_MIN || bytes > VALUE_BYTES_MAX || bytes % 4 != 0) {
        return sw_config_refuse(reason, reason_size,
                                "values must have 4 to 1024 bytes, a multiple of 4, not %u",
                                (unsigned)bytes);
    }
    if ((unsigned)config->cache_mode > SW_CACHE_THROUGHPUT) {
        return sw_config_refuse(reason, reason_size, "the cache mode must be memory or throughput");
    }
    if ((unsigned)config->cache_policy > SW_CACHE_CUSTOM) {
        return sw_config_refuse(reason, reason_size,
                                "the cache policy must be lru, lfu, epoch-lru, epoch-lfu or "
                                "custom");
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
    return check_engine(config, reason, reason_size);
}
