/* SPDX-License-Identifier: MIT
 *
 * sections.h - the tables that a configuration file lists, a section [table NAME] each.
 *
 * A section has the options of TABLE CREATE, and `number`. The others are those of [table].
 */
#ifndef SHERWOOD_SERVER_TABLES_SECTIONS_H
#define SHERWOOD_SERVER_TABLES_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "server/config/table_options.h"
#include "server/tables/places.h"

struct sw_table_section {
    char name[SW_PLACE_NAME_BYTES];
    unsigned line;   /* of the file */
    uint32_t number; /* 0: the catalog chooses it */
    struct sw_table_options options;
};

struct sw_table_sections {
    struct sw_table_section *at; /* in the order of the file; owned */
    uint32_t count;
};

/* Reads the sections of the file of `config`, whose options the tables begin with. Returns 0, or -1
 * with a sentence in `error`. sw_table_sections_free may be called after either. */
int sw_table_sections_read(const struct sw_config *config, struct sw_table_sections *sections,
                           char *error, size_t error_bytes);
void sw_table_sections_free(struct sw_table_sections *sections);
/* Prints the sections as a configuration file has them. */
void sw_table_sections_print(const struct sw_table_sections *sections, FILE *out);

#endif
