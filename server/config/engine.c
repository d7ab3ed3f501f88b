/* SPDX-License-Identifier: MIT
 *
 * engine.c - turns the options into the configuration of a table, and checks the options that
 * depend on the engine.
 */
#include <stdio.h>
#include <uv.h>

#include "server/config/options.h"
#include "table/configuration.h"
#include "table/status.h"

/* The default size of a value in the table, its length included: a cache line. */
#define VALUE_BYTES_STANDARD 64U
#define CACHE_VALUE_BYTES_MAX 1024U

bool sw_config_has_rows(const struct sw_config *config)
{
    return config->engine == SW_ENGINE_ROBIN_HOOD && config->value_bytes != 0;
}

bool sw_config_is_set(const struct sw_config *config)
{
    return config->engine == SW_ENGINE_ROBIN_HOOD && config->value_type == SW_TYPE_NONE;
}

uint32_t sw_config_value_type(const struct sw_config *config)
{
    if (sw_config_has_rows(config) || sw_config_is_set(config)) {
        return config->value_type;
    }
    return sw_config_value_format(config) == SW_VALUE_STRING ? SW_TYPE_STRING : SW_TYPE_BYTES;
}

uint32_t sw_config_dimension(const struct sw_config *config)
{
    uint32_t bytes = sw_value_type_bytes(config->value_type);
    return bytes > 0 ? config->value_bytes / bytes : 1;
}

bool sw_config_numbers_slots(const struct sw_config *config)
{
    return config->engine == SW_ENGINE_CACHE && config->ids > 0;
}

enum sw_value_format sw_config_value_format(const struct sw_config *config)
{
    if (sw_config_has_rows(config)) {
        return config->value_type == SW_TYPE_STRING ? SW_VALUE_STRING : SW_VALUE_FIXED;
    }
    if (sw_config_is_set(config)) {
        return SW_VALUE_FIXED; /* of 0 bytes */
    }
    return config->engine == SW_ENGINE_CACHE && !sw_config_numbers_slots(config)
               ? (enum sw_value_format)config->value_format
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

void sw_config_fit_keys(struct sw_config *config)
{
    config->resp_keys = config->key_bits != 64 || sw_config_in_cluster(config)
                            ? SW_RESP_KEYS_DECIMAL
                            : SW_RESP_KEYS_AUTO;
}

uint32_t sw_config_text_bytes(const struct sw_config *config)
{
    const uint32_t text = config->resp_key_text_bytes;
    return sw_config_has_rows(config) && text > 0 ? (2 + text + 7) / 8 * 8 : 0;
}

uint32_t sw_config_stored_bytes(const struct sw_config *config)
{
    const enum sw_value_format format = sw_config_value_format(config);
    if (format == SW_VALUE_INTEGER) {
        return config->key_bits / 8;
    }
    if (sw_config_is_set(config)) {
        return 0;
    }
    if (config->value_bytes == 0) {
        return VALUE_BYTES_STANDARD;
    }
    return config->value_bytes + (format == SW_VALUE_STRING ? SW_VALUE_LENGTH_BYTES : 0) +
           sw_config_text_bytes(config);
}

void sw_config_table(const struct sw_config *config, struct sw_table_config *table)
{
    sw_table_config_init(table);
    table->backend = (enum sw_backend_kind)config->backend;
    table->engine = (enum sw_engine)config->engine;
    table->slot_bits = config->key_bits * 2;
    if (config->capacity != SW_CONFIG_AUTO) { /* else the table's own default */
        table->capacity_slots = config->capacity;
    } else if (sw_config_numbers_slots(config)) {
        table->capacity_slots = config->ids;
    }
    table->max_capacity_slots = config->max_capacity != SW_CONFIG_AUTO ? config->max_capacity : 0;
    table->max_load = config->max_load;
    table->max_probe = config->max_probe;
    table->seed = config->seed;
    table->batch_ops_max = config->round_ops_max > config->frame_ops_max ? config->round_ops_max
                                                                         : config->frame_ops_max;
    table->stash_slots = config->stash;
    table->threads = config->threads;
    table->device = (int)config->device;
    table->direct = config->direct_readers_max > 0;
    table->submitters = config->loops; /* sw_loops_choose has replaced 0 */
    if (table->engine == SW_ENGINE_CUCKOO) {
        table->hash_functions = config->hash_functions;
    }
    if (sw_config_has_rows(config)) {
        table->value_bytes = sw_config_stored_bytes(config);
        table->key_text_bytes = sw_config_text_bytes(config);
        table->rows_max = config->rows_max;
        table->rows_in = (enum sw_rows_in)config->rows_in;
        table->rows_gpu_bytes = config->rows_gpu_bytes;
    } else if (config->ids > 0) {
        table->rows_max = config->ids;
    }
    if (table->engine == SW_ENGINE_CACHE) {
        table->value_bytes = sw_config_numbers_slots(config) ? 0 : sw_config_stored_bytes(config);
        table->cache_mode = (enum sw_cache_mode)config->cache_mode;
        table->cache_policy = (enum sw_cache_policy)config->policy;
        table->rows_in =
            sw_config_numbers_slots(config) ? SW_ROWS_IN_GPU : (enum sw_rows_in)config->rows_in;
    }
    table->is_set = sw_config_is_set(config);
}

uint64_t sw_config_table_bytes(const struct sw_config *config)
{
    struct sw_table_config table;
    sw_config_table(config, &table);
    return sw_table_config_bytes(&table);
}

uint64_t sw_config_least_bytes(const struct sw_config *config)
{
    struct sw_table_config table;
    sw_config_table(config, &table);
    if (table.rows_in == SW_ROWS_IN_GPU || !sw_table_config_may_use_device(&table)) {
        return sw_table_config_bytes(&table);
    }
    if (table.engine == SW_ENGINE_CACHE) {
        return sw_table_config_bytes(&table) - table.capacity_slots * table.value_bytes;
    }
    table.value_bytes = table.key_text_bytes = 0;
    table.rows_max = table.rows_gpu_bytes = 0;
    table.rows_in = SW_ROWS_IN_GPU;
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

/* Returns the name of the first engine that has the option. */
static const char *engine_with(const struct sw_option *option)
{
    const struct sw_option *engine = sw_option_at(SW_OPTION_AT_engine);
    const struct sw_option_choice *choice = engine->choices;
    while (choice->name != NULL && (option->engines & 1U << choice->value) == 0) {
        choice++;
    }
    return choice->name;
}

static int refuse_option(const struct sw_config *config, const char *name, const char *other,
                         char *error, size_t error_bytes)
{
    snprintf(error, error_bytes,
             "%s is not an option of the %s engine: leave it out, or choose the %s engine", name,
             sw_option_text(config, "engine"), other);
    return -1;
}

int sw_config_check_given(const struct sw_config *config, const bool given[SW_OPTION_COUNT],
                          char *error, size_t error_bytes)
{
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        if ((option->engines & 1U << config->engine) == 0 &&
            (given[i] || !sw_option_is_standard(option, config))) {
            return refuse_option(config, option->name, engine_with(option), error, error_bytes);
        }
    }
    return 0;
}

/* Checks the options of a key set. */
static int check_set(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *option = config->value_bytes != 0           ? "value-bytes"
                         : config->ids > 0                  ? "ids"
                         : config->default_ttl != 0         ? "default-ttl"
                         : config->rows_max != 0            ? "rows-max"
                         : config->resp_key_text_bytes != 0 ? "resp-key-text-bytes"
                                                            : NULL;
    if (option == NULL) {
        return 0;
    }
    snprintf(error, error_bytes,
             "keys without values (value-type none) have no %s: leave it out, or set it to 0 for a "
             "table of a server that has it",
             option);
    return -1;
}

/* Checks the options that need rows. */
static int check_rows(const struct sw_config *config, char *error, size_t error_bytes)
{
    const uint32_t number = sw_value_type_bytes(config->value_type);
    if (!sw_config_has_rows(config)) {
        const char *option = config->rows_max != 0               ? "rows-max"
                             : config->rows_in != SW_ROWS_IN_GPU ? "rows-in"
                             : config->rows_gpu_bytes != 0       ? "rows-gpu-bytes"
                             : config->value_type != SW_TYPE_BYTES && !sw_config_is_set(config)
                                 ? "value-type"
                             : config->resp_key_text_bytes != 0 ? "resp-key-text-bytes"
                                                                : NULL;
        if (config->engine != SW_ENGINE_ROBIN_HOOD || option == NULL) {
            return 0;
        }
        snprintf(error, error_bytes, "%s needs rows: set value-bytes to the size of a row", option);
    } else if (number > 0 && config->value_bytes % number != 0) {
        snprintf(error, error_bytes, "value-bytes %u is not a multiple of the %u bytes of a %s",
                 config->value_bytes, number, sw_option_text(config, "value-type"));
    } else if (config->ids > 0) {
        snprintf(error, error_bytes,
                 "ids are the values of keys, so a table with ids has no rows: leave value-bytes "
                 "out, or set ids or value-bytes to 0 for a table of a server that has them");
    } else if (config->resp_key_text_bytes != 0 && config->resp_keys != SW_RESP_KEYS_HASH) {
        snprintf(error, error_bytes,
                 "resp-key-text-bytes needs keys that are hashes of strings: add --resp-keys hash");
    } else {
        return 0;
    }
    return -1;
}

/* Checks the options of a cache that numbers its keys. */
static int check_cache_ids(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *option = config->value_bytes != 0                  ? "value-bytes"
                         : config->value_format != SW_VALUE_STRING ? "value-format"
                         : config->rows_in != SW_ROWS_IN_GPU       ? "rows-in"
                                                                   : NULL;
    if (!sw_config_numbers_slots(config) || option == NULL) {
        return 0;
    }
    snprintf(error, error_bytes,
             "ids are the values of keys, so a cache with ids has no %s: leave it out, or set ids "
             "to 0 for a table of a server that has them",
             option);
    return -1;
}

static int check_value_bytes(const struct sw_config *config, char *error, size_t error_bytes)
{
    const bool cache = config->engine == SW_ENGINE_CACHE;
    const uint32_t most = cache ? CACHE_VALUE_BYTES_MAX : SW_VALUE_BYTES_MAX;
    uint32_t bytes = config->value_bytes;
    if (bytes % 4 != 0) {
        snprintf(error, error_bytes, "value-bytes %u is not a multiple of 4: %u would be", bytes,
                 bytes / 4 * 4 + 4);
        return -1;
    }
    if (sw_config_stored_bytes(config) > most && sw_config_text_bytes(config) > 0) {
        snprintf(error, error_bytes,
                 "value-bytes %u and resp-key-text-bytes %u take %u bytes of a row, which has at "
                 "most %u",
                 bytes, config->resp_key_text_bytes, sw_config_stored_bytes(config), most);
        return -1;
    }
    if (sw_config_stored_bytes(config) > most) {
        snprintf(error, error_bytes,
                 "value-bytes %u is too many: strings have at most %u, for their length takes %u "
                 "more (%s has %u)",
                 bytes, most - SW_VALUE_LENGTH_BYTES, SW_VALUE_LENGTH_BYTES,
                 cache ? "value-format fixed" : "value-type bytes", most);
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
    if (config->engine == SW_ENGINE_CUCKOO && config->max_capacity > config->capacity) {
        return refuse_option(config, "max-capacity", "robin_hood", error, error_bytes);
    }
    if ((sw_config_is_set(config) && check_set(config, error, error_bytes) != 0) ||
        check_value_bytes(config, error, error_bytes) != 0 ||
        check_rows(config, error, error_bytes) != 0 ||
        check_cache_ids(config, error, error_bytes) != 0) {
        return -1;
    }
    if ((config->resp_keys == SW_RESP_KEYS_HASH || config->resp_keys == SW_RESP_KEYS_AUTO) &&
        config->key_bits != 64) {
        snprintf(error, error_bytes,
                 "resp-keys %s needs key-bits 64, because hashes of 32 bits collide too often; "
                 "choose --key-bits 64, or --resp-keys decimal or raw",
                 sw_option_text(config, "resp-keys"));
        return -1;
    }
    sw_config_table(config, &table);
    if (sw_table_config_check(&table, reason, sizeof(reason)) != SW_OK) {
        snprintf(error, error_bytes, "the table cannot be built: %s", reason);
        return -1;
    }
    return 0;
}
