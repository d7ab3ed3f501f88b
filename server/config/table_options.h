/* SPDX-License-Identifier: MIT
 *
 * table_options.h - the options of one table of a server that has several.
 *
 * Each table has a configuration of its own: that of the server, in which its options of the
 * section [table] replace the server's. Options of other sections, and those of the device and of
 * the backend, are the server's.
 *
 * The functions are pure. Functions that can fail return 0, or -1 with a sentence in `error`.
 */
#ifndef SHERWOOD_SERVER_CONFIG_TABLE_OPTIONS_H
#define SHERWOOD_SERVER_CONFIG_TABLE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "server/config/options.h"

/* Slots of a new table whose capacity nobody gives. */
#define SW_TABLE_CAPACITY_FIRST (64ULL << 10)

/* The options of a table that is being made. */
struct sw_table_options {
    struct sw_config config;
    bool given[SW_OPTION_COUNT];
};

/* Returns whether the option belongs to one table. */
bool sw_option_is_of_a_table(const struct sw_option *option);

/* Begins with the options of `base`. Unless `alike`, the table begins with
 * SW_TABLE_CAPACITY_FIRST slots, and grows to the largest capacity of `base`. */
void sw_table_options_begin(struct sw_table_options *options, const struct sw_config *base,
                            bool alike);
/* Sets an option. Another engine than before has all other options at their defaults, except the
 * key bits and the format of keys, so give `engine` first. */
int sw_table_options_set(struct sw_table_options *options, const char *name, const char *value,
                         char *error, size_t error_bytes);
/* Checks that a table can have these options. */
int sw_table_options_check(const struct sw_table_options *options, char *error, size_t error_bytes);

/* Writes the options of a table as text: a line each with name, blank, value and newline. `other`:
 * only those that it has otherwise; NULL: all. Returns the text, which the caller frees, or NULL if
 * there is no memory. */
char *sw_table_options_to_text(const struct sw_config *config, const struct sw_config *other);
/* Reads such a text. *config is `base` with these options. A table's options that the text lacks
 * are those of `base` if `alike`, else their defaults. */
int sw_table_options_of_text(const char *text, const struct sw_config *base, bool alike,
                             struct sw_config *config, char *error, size_t error_bytes);

/* The options that TABLE ALTER changes, a bit each. */
#define SW_ALTERABLE_MAP(X)                       \
    X(MAX_CAPACITY, max_capacity, "max-capacity") \
    X(MEMORY_MAX, memory_max, "memory-max")       \
    X(MEMORY_MIN, memory_min, "memory-min")       \
    X(DEFAULT_TTL, default_ttl, "default-ttl")
enum sw_alterable_index {
#define SW_ALTERABLE_INDEX(id, field, name) SW_ALTERABLE_INDEX_##id,
    SW_ALTERABLE_MAP(SW_ALTERABLE_INDEX)
#undef SW_ALTERABLE_INDEX
};
enum sw_alterable {
#define SW_ALTERABLE_BIT(id, field, name) SW_ALTERABLE_##id = 1 << SW_ALTERABLE_INDEX_##id,
    SW_ALTERABLE_MAP(SW_ALTERABLE_BIT)
#undef SW_ALTERABLE_BIT
#define SW_ALTERABLE_OR(id, field, name) | SW_ALTERABLE_##id
        SW_ALTERABLE_ALL = 0 SW_ALTERABLE_MAP(SW_ALTERABLE_OR),
#undef SW_ALTERABLE_OR
    SW_ALTERABLE_LIMITS = SW_ALTERABLE_ALL & ~SW_ALTERABLE_DEFAULT_TTL
};
/* Returns the bit of the option; 0: it is fixed when a table is created. */
uint32_t sw_alterable_of(const char *name);
/* Copies the options `alters`. Threads that read one see the old value or the new one. */
void sw_config_alter(struct sw_config *to, const struct sw_config *from, uint32_t alters);

/* Returns whether tables with these options have one shape: a request on one of them means the same
 * on the other. */
bool sw_config_is_of_one_shape(const struct sw_config *one, const struct sw_config *other);
/* Writes the options of the shape that differ: "it has key-bits 32 and value-bytes 0, not key-bits
 * 64 and value-bytes 60". */
void sw_config_show_shapes(const struct sw_config *one, const struct sw_config *other, char *out,
                           size_t out_bytes);

#endif
