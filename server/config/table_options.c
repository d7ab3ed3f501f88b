/* SPDX-License-Identifier: MIT
 *
 * table_options.c - the options of one table of several.
 */
#include "server/config/table_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/configuration.h"

bool sw_option_is_of_a_table(const struct sw_option *option)
{
    static const char *const of_the_server[] = {"backend",        "device",           "rows-in",
                                                "rows-gpu-bytes", "resp-keys-change", "threads"};
    bool is = strcmp(option->section, "table") == 0;
    for (size_t i = 0; i < sizeof(of_the_server) / sizeof(of_the_server[0]); i++) {
        is &= strcmp(option->name, of_the_server[i]) != 0;
    }
    return is;
}

/* Sets the first capacity, and lets the table grow to `most` slots if its engine grows. */
static void set_capacity(struct sw_config *config, uint64_t most)
{
    const bool grows = config->engine != SW_ENGINE_CUCKOO && most > SW_TABLE_CAPACITY_FIRST;
    config->capacity = most < SW_TABLE_CAPACITY_FIRST ? most : SW_TABLE_CAPACITY_FIRST;
    config->max_capacity = grows ? most : 0;
}

static uint64_t largest_capacity(const struct sw_config *config)
{
    return config->max_capacity > config->capacity ? config->max_capacity : config->capacity;
}

void sw_table_options_begin(struct sw_table_options *options, const struct sw_config *base,
                            bool alike)
{
    memset(options->given, 0, sizeof(options->given));
    options->config = *base;
    options->config.slots_most = 0;
    if (!alike) {
        set_capacity(&options->config, largest_capacity(base));
    }
}

/* Gives the options that depend on the engine their defaults. */
static void change_engine(struct sw_table_options *options)
{
    struct sw_config *config = &options->config;
    const uint64_t most = largest_capacity(config);
    char error[SW_CONFIG_ERROR_BYTES];
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        const bool stays =
            i == SW_OPTION_AT_engine || i == SW_OPTION_AT_key_bits || i == SW_OPTION_AT_resp_keys;
        if (sw_option_is_of_a_table(option) && !stays && !options->given[i]) {
            (void)sw_option_set(option, option->standard, config, error, sizeof(error));
        }
    }
    set_capacity(config, most);
}

/* Each slot of a cache of ids has one. So unless they were given, the capacity is at most their
 * number, and the table grows to it. */
static void fit_to_ids(struct sw_table_options *options)
{
    struct sw_config *config = &options->config;
    const uint64_t most = options->given[SW_OPTION_AT_max_capacity] && config->max_capacity != 0
                              ? config->max_capacity
                              : config->ids;
    if (!options->given[SW_OPTION_AT_capacity]) {
        config->capacity = most < SW_TABLE_CAPACITY_FIRST ? most : SW_TABLE_CAPACITY_FIRST;
    }
    if (!options->given[SW_OPTION_AT_max_capacity]) {
        config->max_capacity = config->ids > config->capacity ? config->ids : 0;
    }
}

int sw_table_options_set(struct sw_table_options *options, const char *name, const char *value,
                         char *error, size_t error_bytes)
{
    const struct sw_option *option = sw_option_find(name);
    const uint32_t engine = options->config.engine;
    if (option == NULL) {
        const struct sw_option *nearest = sw_option_nearest(name);
        if (nearest != NULL && sw_option_is_of_a_table(nearest)) {
            snprintf(error, error_bytes, "unknown option '%.64s' of a table; did you mean '%s'?",
                     name, nearest->name);
        } else {
            snprintf(error, error_bytes,
                     "unknown option '%.64s' of a table: TABLE INFO lists the options", name);
        }
        return -1;
    }
    if (!sw_option_is_of_a_table(option)) {
        snprintf(error, error_bytes,
                 "%s is an option of the server, not of one table: leave it out", name);
        return -1;
    }
    if (strcmp(value, "auto") == 0 && option->type == SW_OPTION_OR_AUTO) {
        snprintf(error, error_bytes, "%s auto is for the default table: give a number", name);
        return -1;
    }
    if (sw_option_set(option, value, &options->config, error, error_bytes) != 0) {
        return -1;
    }
    options->given[option - sw_option_at(0)] = true;
    if (options->config.engine != engine) {
        change_engine(options);
    }
    if (options->given[SW_OPTION_AT_capacity] && !options->given[SW_OPTION_AT_max_capacity] &&
        options->config.max_capacity < options->config.capacity) {
        options->config.max_capacity = 0;
    }
    if (sw_config_numbers_slots(&options->config) &&
        (options->given[SW_OPTION_AT_ids] || options->given[SW_OPTION_AT_engine])) {
        fit_to_ids(options);
    }
    return 0;
}

/* Checks the options of a table; `given` may be NULL. rows-in and rows-gpu-bytes are options of the
 * server, for its tables that have rows: they are no error in a table without rows. */
static int check(const struct sw_config *config, const bool given[SW_OPTION_COUNT], char *error,
                 size_t error_bytes)
{
    struct sw_config own = *config;
    const bool caches = own.engine == SW_ENGINE_CACHE && !sw_config_numbers_slots(&own);
    if (!sw_config_has_rows(&own) && !caches) {
        own.rows_in = SW_ROWS_IN_GPU;
        own.rows_gpu_bytes = 0;
    }
    return (given != NULL && sw_config_check_given(&own, given, error, error_bytes) != 0) ||
                   sw_config_check_table(&own, error, error_bytes) != 0 ||
                   sw_config_check_limits(&own, error, error_bytes) != 0
               ? -1
               : 0;
}

int sw_table_options_check(const struct sw_table_options *options, char *error, size_t error_bytes)
{
    return check(&options->config, options->given, error, error_bytes);
}

/* --- text ------------------------------------------------------------------------------------- */

/* Writes the value of an option of a table that `config` can have. Returns whether it is one. */
static bool show(const struct sw_option *option, const struct sw_config *config,
                 char value[SW_OPTION_VALUE_BYTES])
{
    const bool is = sw_option_is_of_a_table(option) && (option->engines >> config->engine & 1) != 0;
    if (is) {
        sw_option_format(option, config, false, value, SW_OPTION_VALUE_BYTES);
    }
    return is;
}

char *sw_table_options_to_text(const struct sw_config *config, const struct sw_config *other)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        char value[SW_OPTION_VALUE_BYTES], others[SW_OPTION_VALUE_BYTES];
        if (show(option, config, value) &&
            (other == NULL || !show(option, other, others) || strcmp(value, others) != 0)) {
            fprintf(out, "%s %s\n", option->name, value);
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Sets the option of one line, which it ends with a NUL at the blank and at its end. */
static int set_line(char *line, struct sw_config *config, char *error, size_t error_bytes)
{
    char *blank = strchr(line, ' ');
    if (blank == NULL) {
        snprintf(error, error_bytes, "'%.64s' is not an option and its value", line);
        return -1;
    }
    *blank = '\0';
    const struct sw_option *option = sw_option_find(line);
    if (option == NULL || !sw_option_is_of_a_table(option)) {
        snprintf(error, error_bytes, "this version has no option '%.64s' of a table", line);
        return -1;
    }
    return sw_option_set(option, blank + 1, config, error, error_bytes);
}

int sw_table_options_of_text(const char *text, const struct sw_config *base, bool alike,
                             struct sw_config *config, char *error, size_t error_bytes)
{
    char *copy = strdup(text), *left = copy;
    int status = copy == NULL ? -1 : 0;
    *config = *base;
    snprintf(error, error_bytes, "not enough memory for the options of a table");
    for (size_t i = 0; i < SW_OPTION_COUNT && !alike; i++) {
        const struct sw_option *option = sw_option_at(i);
        if (sw_option_is_of_a_table(option)) {
            (void)sw_option_set(option, option->standard, config, error, error_bytes);
        }
    }
    for (char *line; status == 0 && (line = strsep(&left, "\n")) != NULL;) {
        status = line[0] == '\0' ? 0 : set_line(line, config, error, error_bytes);
    }
    free(copy);
    return status != 0 ? -1 : check(config, NULL, error, error_bytes);
}

uint32_t sw_alterable_of(const char *name)
{
#define BIT(id, field, text)       \
    if (strcmp(name, text) == 0) { \
        return SW_ALTERABLE_##id;  \
    }
    SW_ALTERABLE_MAP(BIT)
#undef BIT
    return 0;
}

void sw_config_alter(struct sw_config *to, const struct sw_config *from, uint32_t alters)
{
#define COPY(id, field, text)                                        \
    if ((alters & SW_ALTERABLE_##id) != 0) {                         \
        __atomic_store_n(&to->field, from->field, __ATOMIC_RELAXED); \
    }
    SW_ALTERABLE_MAP(COPY)
#undef COPY
}

bool sw_config_is_of_one_shape(const struct sw_config *one, const struct sw_config *other)
{
    return one->engine == other->engine && one->key_bits == other->key_bits &&
           sw_config_value_format(one) == sw_config_value_format(other) &&
           sw_config_value_type(one) == sw_config_value_type(other) &&
           sw_config_stored_bytes(one) == sw_config_stored_bytes(other) &&
           sw_config_text_bytes(one) == sw_config_text_bytes(other) &&
           (one->ids == 0) == (other->ids == 0) && one->resp_keys == other->resp_keys &&
           one->policy == other->policy && (one->stash == 0) == (other->stash == 0);
}

/* Appends the options of the shape of `one` that differ from those of `other`. */
static void append_shape(const struct sw_config *one, const struct sw_config *other, char *out,
                         size_t out_bytes)
{
    static const enum sw_option_index shape[] = {
        SW_OPTION_AT_engine,     SW_OPTION_AT_key_bits,     SW_OPTION_AT_value_bytes,
        SW_OPTION_AT_value_type, SW_OPTION_AT_value_format, SW_OPTION_AT_resp_key_text_bytes,
        SW_OPTION_AT_resp_keys,  SW_OPTION_AT_policy,       SW_OPTION_AT_ids,
        SW_OPTION_AT_stash};
    const char *before = "";
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
        char value[SW_OPTION_VALUE_BYTES], others[SW_OPTION_VALUE_BYTES];
        const struct sw_option *option = sw_option_at(shape[i]);
        const size_t used = strlen(out);
        sw_option_format(option, one, true, value, sizeof(value));
        sw_option_format(option, other, true, others, sizeof(others));
        if (strcmp(value, others) != 0) {
            snprintf(out + used, out_bytes - used, "%s%s %s", before, option->name, value);
            before = " and ";
        }
    }
}

void sw_config_show_shapes(const struct sw_config *one, const struct sw_config *other, char *out,
                           size_t out_bytes)
{
    snprintf(out, out_bytes, "it has ");
    append_shape(one, other, out, out_bytes);
    const size_t used = strlen(out);
    snprintf(out + used, out_bytes - used, ", not ");
    append_shape(other, one, out, out_bytes);
}
