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
    SW_OPTION_SIZE,    /* unsigned decimal, K, M, G or T (binary) may follow */
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
    uint32_t engines; /* that have it: bit 1 << enum sw_engine */
    enum sw_option_type type;
    size_t offset; /* in struct sw_config */
    size_t bytes;  /* of the field */
    double ratio_min, ratio_max;
    uint64_t min, max;
    const struct sw_option_choice *choices;
    const char *standard; /* the default, as text */
    const char *metavar;
    const char *help; /* sentences; no default in it */
};

#define SW_OPTION_VALUE_BYTES 160 /* room for any value as text */
#define SW_CONFIG_ERROR_BYTES 512

/* Row `index`, or NULL past the last. Rows of a section are contiguous. */
const struct sw_option *sw_option_at(size_t index);
const struct sw_option *sw_option_find(const char *name);
/* The row whose name needs the fewest edits to become `name`. */
const struct sw_option *sw_option_nearest(const char *name);
/* The same for sections: "server", "table" or "limits". */
const char *sw_section_nearest(const char *name);
bool sw_section_known(const char *name);

/* Parses `value` into the row's field. Returns 0, or -1 and what is wrong in `error`. */
int sw_option_set(const struct sw_option *option, const char *value, struct sw_config *config,
                  char *error, size_t error_bytes);
/* The field as text that sw_option_set reads back. `short_form`: 16M rather than 16777216. */
void sw_option_format(const struct sw_option *option, const struct sw_config *config,
                      bool short_form, char *value, size_t value_bytes);

/* Is the field what the row's default makes it? */
bool sw_option_is_standard(const struct sw_option *option, const struct sw_config *config);

/* The name of what a CHOICE is set to. */
const char *sw_option_text(const struct sw_config *config, const char *name);

/* Reads the options of a file into `config`. Returns 0, or -1 and "file:line: what is wrong". */
int sw_config_read_file(const char *path, struct sw_config *config, char *error,
                        size_t error_bytes);

/* Do the options contradict each other? Returns 0, or -1 and a sentence. `activated`: the service
 * manager passes sockets. */
int sw_config_check(const struct sw_config *config, bool activated, char *error,
                    size_t error_bytes);
/* Is an option set that config's engine does not have? On the command line that is an error
 * whatever its value, in a file only where the value is not the default: files may list every
 * option. `given`: what the command line sets. */
int sw_config_check_given(const struct sw_config *config, const bool given[SW_OPTION_COUNT],
                          char *error, size_t error_bytes);
/* The part of it that is about the table: can this engine build it, at its first size and at its
 * largest? */
int sw_config_check_table(const struct sw_config *config, char *error, size_t error_bytes);

/* The part about frame-ops-max and what else has to hold a batch or its answer. */
int sw_config_check_limits(const struct sw_config *config, char *error, size_t error_bytes);

/* Where frame-ops-max, round-ops-max or resp-arguments-max is 0: as many as is usual, or as fit. */
void sw_config_fit(struct sw_config *config);

/* Memory of the table, of options that sw_config_check_table finds right: its slots, and what lies
 * beside them for good. */
uint64_t sw_config_table_bytes(const struct sw_config *config);

void sw_config_print_help(FILE *out);
/* The effective configuration as a file that --config reads. */
void sw_config_print(const struct sw_config *config, FILE *out);
/* Every option with its help and default, commented out: deploy/sherwood.conf. */
void sw_config_print_template(FILE *out);
/* The options as the man page lists them, in scdoc's format: part of deploy/man/sherwoodd.8.scd. */
void sw_config_print_manual(FILE *out);

#endif
