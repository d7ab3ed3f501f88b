/* SPDX-License-Identifier: MIT
 *
 * options.h - the table of options: one row each (option_rows.inl). Flags, file keys, --help,
 * --check-config, CONFIG GET, the man page's list and the example file are made from it.
 *
 * The table is constant, so any thread may read it. Functions that can fail return 0, or -1 with a
 * sentence in `error`.
 */
#ifndef SHERWOOD_SERVER_CONFIG_OPTIONS_H
#define SHERWOOD_SERVER_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "server/config/config.h"

/* The index of every row, SW_OPTION_AT_<field>, and their number. */
enum sw_option_index {
#define SW_OPTION(field, ...) SW_OPTION_AT_##field,
#include "server/config/option_rows.inl"
#undef SW_OPTION
    SW_OPTION_COUNT
};

enum sw_option_type {
    SW_OPTION_TEXT,    /* char array of `bytes` */
    SW_OPTION_ADDRESS, /* char array: an IPv4 or IPv6 address, or empty */
    SW_OPTION_NUMBER,  /* unsigned decimal */
    SW_OPTION_OR_OFF,  /* unsigned decimal; a negative number means off and stores UINT64_MAX */
    SW_OPTION_SIZE,    /* unsigned decimal, K, M, G or T (binary) may follow */
    SW_OPTION_OR_AUTO, /* as SW_OPTION_SIZE, or "auto", which stores SW_CONFIG_AUTO */
    SW_OPTION_OCTAL,   /* unsigned octal */
    SW_OPTION_RATIO,   /* double */
    SW_OPTION_CHOICE   /* one of `choices` */
};

struct sw_option_choice {
    const char *name; /* NULL ends a list */
    uint32_t value;
};

struct sw_option {
    const char *name;
    const char *section;
    uint32_t engines; /* those that have this option: bit 1 << enum sw_engine */
    enum sw_option_type type;
    size_t offset; /* in struct sw_config */
    size_t bytes;  /* of the field */
    double ratio_min, ratio_max;
    uint64_t min, max;
    const struct sw_option_choice *choices;
    const char *standard; /* the default, as text */
    const char *metavar;
    const char *help; /* sentences, without the default */
};

#define SW_OPTION_VALUE_BYTES 160 /* room for any value as text */
#define SW_CONFIG_ERROR_BYTES 512

/* Returns the row with this index, or NULL past the last. The rows of a section are contiguous. */
const struct sw_option *sw_option_at(size_t index);
const struct sw_option *sw_option_find(const char *name);
/* Returns true if the value may change while the server runs (live.h). */
bool sw_option_is_live(const struct sw_option *option);
/* Returns the row that `name` probably means: a mistyped name, the only name that begins with it,
 * or a name that has it among its words. NULL: no name is near. */
const struct sw_option *sw_option_nearest(const char *name);
/* Returns the section whose name is mistyped as `name`. NULL: no name is near. */
const char *sw_section_nearest(const char *name);
bool sw_section_known(const char *name);

/* Parses `value` into the row's field. Returns 0, or writes `error` and returns -1. */
int sw_option_set(const struct sw_option *option, const char *value, struct sw_config *config,
                  char *error, size_t error_bytes);
/* Writes the field as text that sw_option_set can read. `short_form` selects 16M instead of
 * 16777216. */
void sw_option_format(const struct sw_option *option, const struct sw_config *config,
                      bool short_form, char *value, size_t value_bytes);

/* As sw_option_format in the short form, except that an option with a derived default gives 0 or
 * auto. */
void sw_option_format_asked(const struct sw_option *option, const struct sw_config *config,
                            char *value, size_t value_bytes);

/* True if the field has the value of the row's default. */
bool sw_option_is_standard(const struct sw_option *option, const struct sw_config *config);

/* Returns the name of the choice to which the option `name` is set. */
const char *sw_option_text(const struct sw_config *config, const char *name);

/* Reads the options of a file into `config`. set_at_line, if it is not NULL, receives the line of
 * each option that the file sets, from 1, and 0 for others. Returns 0, or -1 and "file:line: what
 * is wrong". */
int sw_config_read_file(const char *path, struct sw_config *config,
                        unsigned set_at_line[SW_OPTION_COUNT], char *error, size_t error_bytes);

/* Reads the sections [table NAME] of a file, which sw_config_read_file skips. */
#define SW_TABLE_SECTION_BYTES 64 /* longest NAME, with the NUL */
struct sw_table_lines {
    /* Called for each section, with `option` NULL, then for each of its lines. Returns 0, or -1
     * with a sentence in `why`. */
    int (*take)(void *context, const char *table, unsigned line, const char *option,
                const char *value, char *why, size_t why_bytes);
    void *context;
};
int sw_config_read_tables(const char *path, const struct sw_table_lines *lines, char *error,
                          size_t error_bytes);

/* Fills `config` with the defaults, then the file of `origin` if it has one, then the flags. Then
 * derives defaults. Does not check whether options contradict each other. Returns 0, or -1 with a
 * sentence in `error`. Threads: only the main thread. */
int sw_config_read(struct sw_config *config, const struct sw_config_origin *origin, char *error,
                   size_t error_bytes);

/* Checks that the options do not contradict each other. `activated` is true if the service manager
 * passes sockets. */
int sw_config_check(const struct sw_config *config, bool activated, char *error,
                    size_t error_bytes);
/* Rejects options that the engine of `config` does not have. On the command line such an option is
 * an error whatever its value (`given` says which options are flags). In a file it is an error only
 * if its value is not the default, because a file may list every option. */
int sw_config_check_given(const struct sw_config *config, const bool given[SW_OPTION_COUNT],
                          char *error, size_t error_bytes);
/* The part of sw_config_check about the table: whether the engine can create it, at its first
 * capacity and at its largest. */
int sw_config_check_table(const struct sw_config *config, char *error, size_t error_bytes);

/* The part of sw_config_check about the limits that have to hold a batch or a reply (limits.c). */
int sw_config_check_limits(const struct sw_config *config, char *error, size_t error_bytes);
/* The part about resp-batch-bytes (limits.c), for a table of a server whose default table has the
 * options `first`. */
int sw_config_check_batch_bytes(const struct sw_config *config, const struct sw_config *first,
                                char *error, size_t error_bytes);
/* The part about direct-readers-max (limits.c). */
int sw_config_check_direct_reads(const struct sw_config *config, char *error, size_t error_bytes);

/* The part of sw_config_check about a cluster (cluster.c). */
int sw_config_check_cluster(const struct sw_config *config, char *error, size_t error_bytes);

/* Replaces 0 in frame-ops-max, round-ops-max and resp-arguments-max with the default, or with a
 * lower number if the other options have no room for the default, and notes it in `derived`. Does
 * the same for capacity and max-capacity by sw_config_fit_table, if one of them is auto. */
void sw_config_fit(struct sw_config *config);

/* Bytes of memory that a table may have: `host` in host memory, `slots` where its slots are, `rows`
 * where its rows are. `first` is the smaller of slots and rows before the server's other mappings
 * are subtracted. The first slots and rows take a part of it. 0: the device reports no size. The
 * numbers do not depend on the memory in use, so that each start of the daemon on a machine finds
 * the same ones. */
struct sw_config_memory {
    uint64_t host, slots, rows, first;
};
void sw_config_ask_memory(const struct sw_config *config, struct sw_config_memory *memory);
/* Derives capacity and max-capacity where they are auto (capacity.c). */
void sw_config_fit_table(struct sw_config *config, const struct sw_config_memory *memory);

/* Sets resp-keys if neither a flag nor the file sets it: decimal with 32-bit keys and in a cluster,
 * which do not allow auto; otherwise auto. */
void sw_config_fit_keys(struct sw_config *config);

/* The memory of the table: its slots and what is allocated with them for as long as the table
 * lives. The options must have passed sw_config_check_table. */
uint64_t sw_config_table_bytes(const struct sw_config *config);
/* The same without rows and values that may lie in host memory while the slots are in GPU memory.
 */
uint64_t sw_config_least_bytes(const struct sw_config *config);

void sw_config_print_help(FILE *out);
/* Prints the configuration in effect, as a file that --config can read. */
void sw_config_print(const struct sw_config *config, FILE *out);
/* Prints every option with its help and default, commented out: deploy/sherwood.conf. */
void sw_config_print_template(FILE *out);
/* Prints the options as the man page lists them, in the format of scdoc. */
void sw_config_print_manual(FILE *out);

#endif
