/* SPDX-License-Identifier: MIT
 *
 * engine.c - the options as a table's configuration, and what holds of them by engine.
 */
#include <stdio.h>
#include <uv.h>

#include "server/config/options.h"
#include "table/table.h"

/* Of a value that is not stated: with its length as much as a cache line. */
#define VALUE_BYTES_STANDARD 64U
/* Of options that the cache engine does not have; options.c says the same as text. */
#define MAX_LOAD_STANDARD 0.85
#define STASH_STANDARD (64U * 1024U)

enum sw_value_format sw_config_value_format(const struct sw_config *config)
{
    return config->engine == SW_ENGINE_CACHE ? (enum sw_value_format)config->value_format
                                             : SW_VALUE_INTEGER;
}

const char *sw_config_redis_policy(const struct sw_config *config)
{
    if (config->engine != SW_ENGINE_CACHE) {
        return "noeviction";
    }
    return config->policy == SW_CACHE_LFU || config->policy == SW_CACHE_EPOCH_LFU ? "allkeys-lfu"
                                                                                  : "allkeys-lru";
}

uint32_t sw_config_stored_bytes(const struct sw_config *config)
{
    if (config->engine != SW_ENGINE_CACHE) {
        return config->key_bits / 8;
    }
    if (config->value_bytes == 0) {
        return VALUE_BYTES_STANDARD;
    }
    return config->value_bytes +
           (config->value_format == SW_VALUE_STRING ? SW_VALUE_LENGTH_BYTES : 0);
}

void sw_config_table(const struct sw_config *config, struct sw_table_config *table)
{
    sw_table_config_init(table);
    table->backend = (enum sw_backend_kind)config->backend;
    table->engine = (enum sw_engine)config->engine;
    table->slot_bits = config->key_bits * 2;
    table->capacity_slots = config->capacity;
    table->max_capacity_slots = config->max_capacity;
    table->max_load = config->max_load;
    table->max_probe = config->max_probe;
    table->seed = config->seed;
    table->batch_ops_max = config->round_ops_max > config->frame_ops_max ? config->round_ops_max
                                                                         : config->frame_ops_max;
    table->stash_slots = config->stash;
    table->threads = config->threads;
    table->device = (int)config->device;
    if (table->engine == SW_ENGINE_CUCKOO) {
        table->hash_functions = config->hash_functions;
    }
    if (table->engine == SW_ENGINE_CACHE) {
        table->value_bytes = sw_config_stored_bytes(config);
        table->cache_mode = (enum sw_cache_mode)config->cache_mode;
        table->cache_policy = (enum sw_cache_policy)config->policy;
    }
}

uint64_t sw_config_table_bytes(const struct sw_config *config)
{
    struct sw_table_config table;
    sw_config_table(config, &table);
    return sw_table_config_bytes(&table);
}

bool sw_config_outgrows_memory(const struct sw_config *config, uint64_t *bytes, uint64_t *installed)
{
    struct sw_config largest = *config;
    *bytes = 0;
    *installed = uv_get_total_memory(); /* 0: unknown */
    if (config->max_capacity <= config->capacity) {
        return false;
    }
    largest.capacity = config->max_capacity;
    *bytes = sw_config_table_bytes(&largest);
    return *installed > 0 && *bytes > *installed;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Is an option set that this engine does not have? */
static int check_own_options(const struct sw_config *config, char *error, size_t error_bytes)
{
    const bool cache = config->engine == SW_ENGINE_CACHE;
    const bool cuckoo = config->engine == SW_ENGINE_CUCKOO;
    const struct {
        const char *name, *engine;
        bool misplaced;
    } rows[] = {
        {"max-capacity", "robin_hood",
         config->max_capacity > config->capacity && (cache || cuckoo)},
        {"max-load", "robin_hood", config->max_load != MAX_LOAD_STANDARD && cache},
        {"max-probe", "robin_hood", config->max_probe != 0 && cache},
        {"stash", "robin_hood", config->stash != STASH_STANDARD && cache},
        {"hash-functions", "cuckoo", config->hash_functions != 3 && !cuckoo},
        {"value-bytes", "cache", config->value_bytes != 0 && !cache},
        {"value-format", "cache", config->value_format != SW_VALUE_STRING && !cache},
        {"policy", "cache", config->policy != SW_CACHE_LRU && !cache},
        {"cache-mode", "cache", config->cache_mode != SW_CACHE_MEMORY && !cache},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].misplaced) {
            snprintf(error, error_bytes,
                     "%s is no option of the %s engine: leave it out, or choose the %s engine",
                     rows[i].name, sw_option_text(config, "engine"), rows[i].engine);
            return -1;
        }
    }
    return 0;
}

static int check_value_bytes(const struct sw_config *config, char *error, size_t error_bytes)
{
    uint32_t bytes = config->value_bytes;
    if (bytes % 4 != 0) {
        snprintf(error, error_bytes, "value-bytes %u is not a multiple of 4: %u would be", bytes,
                 bytes / 4 * 4 + 4);
        return -1;
    }
    if (config->engine == SW_ENGINE_CACHE && sw_config_stored_bytes(config) > SW_VALUE_BYTES_MAX) {
        snprintf(error, error_bytes,
                 "value-bytes %u is too many: strings have at most %u, for their length takes %u "
                 "more (value-format fixed has %u)",
                 bytes, SW_VALUE_BYTES_MAX - SW_VALUE_LENGTH_BYTES, SW_VALUE_LENGTH_BYTES,
                 SW_VALUE_BYTES_MAX);
        return -1;
    }
    return 0;
}

int sw_config_check_table(const struct sw_config *config, char *error, size_t error_bytes)
{
    struct sw_table_config table;
    char reason[256] = "";
    if (config->max_capacity != 0 && config->max_capacity < config->capacity) {
        snprintf(error, error_bytes,
                 "max-capacity %llu is less than capacity %llu: the table starts with capacity "
                 "slots and may grow to max-capacity; 0: no more than capacity",
                 (unsigned long long)config->max_capacity, (unsigned long long)config->capacity);
        return -1;
    }
    if (check_own_options(config, error, error_bytes) != 0 ||
        check_value_bytes(config, error, error_bytes) != 0) {
        return -1;
    }
    sw_config_table(config, &table);
    if (sw_table_config_check(&table, reason, sizeof reason) != SW_OK) {
        snprintf(error, error_bytes, "the table cannot be built: %s", reason);
        return -1;
    }
    return 0;
}
