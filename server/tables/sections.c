/* SPDX-License-Identifier: MIT
 *
 * sections.c - reads the sections [table NAME].
 *
 * The engine of a table decides the defaults of its other options. So the file is read twice: first
 * the sections with their engines and numbers, then the other options.
 */
#include "server/tables/sections.h"

#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"

struct reader {
    const struct sw_config *config;
    struct sw_table_sections *sections;
    struct sw_table_section *section; /* that is being read */
    bool engines;                     /* the first reading */
};

static struct sw_table_section *find(const struct sw_table_sections *sections, const char *name)
{
    for (uint32_t i = 0; i < sections->count; i++) {
        if (strcmp(sections->at[i].name, name) == 0) {
            return &sections->at[i];
        }
    }
    return NULL;
}

/* Returns why there cannot be a section of this name, in `why`; or 0. */
static int check_name(const struct reader *reader, const char *name, char *why, size_t why_bytes)
{
    const struct sw_table_section *other = find(reader->sections, name);
    if (other != NULL) {
        snprintf(why, why_bytes, "the section [table %s] was already in line %u", name,
                 other->line);
    } else if (strcmp(name, SW_PLACE_DEFAULT) == 0) {
        snprintf(why, why_bytes, "the options of the default table belong in section [table]");
    } else if (!sw_place_name_is_allowed(name, strlen(name))) {
        snprintf(why, why_bytes,
                 "a table's name is a letter or _, then letters, digits, and _.:-, at most 63 "
                 "bytes");
    } else if (reader->sections->count + 1 >= reader->config->tables_max) {
        snprintf(why, why_bytes, "the file has more tables than tables-max %u: raise it",
                 reader->config->tables_max);
    } else {
        return 0;
    }
    return -1;
}

static int add(struct reader *reader, const char *name, unsigned line, char *why, size_t why_bytes)
{
    struct sw_table_sections *sections = reader->sections;
    uint64_t number = 0;
    if (check_name(reader, name, why, why_bytes) != 0) {
        return -1;
    }
    struct sw_table_section *grown =
        realloc(sections->at, (sections->count + 1) * sizeof(*sections->at));
    if (grown == NULL) {
        snprintf(why, why_bytes, "not enough memory for the options of the table %s", name);
        return -1;
    }
    sections->at = grown;
    reader->section = &grown[sections->count++];
    *reader->section = (struct sw_table_section){.line = line};
    memcpy(reader->section->name, name, strlen(name));
    if (strncmp(name, "db", 2) == 0 && sw_decimal_parse((const uint8_t *)name + 2, strlen(name + 2),
                                                        SW_PLACE_NUMBERS_FREE - 1, &number)) {
        reader->section->number = (uint32_t)number; /* the name is for this number alone */
    }
    sw_table_options_begin(&reader->section->options, reader->config, false);
    return 0;
}

static int set_number(struct reader *reader, const char *value, char *why, size_t why_bytes)
{
    uint64_t number = 0;
    if (!sw_decimal_parse((const uint8_t *)value, strlen(value), SW_PLACE_NUMBERS_FREE - 1,
                          &number) ||
        number == 0) {
        snprintf(why, why_bytes, "number of a table is not an integer from 1 to %u",
                 SW_PLACE_NUMBERS_FREE - 1);
        return -1;
    }
    if (reader->section->number != 0 && reader->section->number != number) {
        snprintf(why, why_bytes, "the name %s is for the table with its number: choose another",
                 reader->section->name);
        return -1;
    }
    reader->section->number = (uint32_t)number;
    return 0;
}

static int take(void *context, const char *table, unsigned line, const char *name,
                const char *value, char *why, size_t why_bytes)
{
    struct reader *reader = context;
    if (name == NULL) {
        reader->section = reader->engines ? NULL : find(reader->sections, table);
        return reader->engines ? add(reader, table, line, why, why_bytes) : 0;
    }
    if (strcmp(name, "number") == 0) {
        return reader->engines ? set_number(reader, value, why, why_bytes) : 0;
    }
    const bool is_engine = strcmp(name, "engine") == 0;
    const struct sw_option *option = sw_option_find(name);
    if (is_engine != reader->engines) {
        return 0;
    }
    if (option != NULL && reader->section->options.given[option - sw_option_at(0)]) {
        snprintf(why, why_bytes, "option '%s' was already set in this section", name);
        return -1;
    }
    return sw_table_options_set(&reader->section->options, name, value, why, why_bytes);
}

/* Returns the section before this one that has the same number, or NULL. */
static const struct sw_table_section *find_number(const struct sw_table_sections *sections,
                                                  const struct sw_table_section *section)
{
    const struct sw_table_section *other = sections->at;
    while (other < section && (other->number == 0 || other->number != section->number)) {
        other++;
    }
    return other < section ? other : NULL;
}

static int check(const struct sw_table_sections *sections, const char *path, char *error,
                 size_t error_bytes)
{
    char why[SW_CONFIG_ERROR_BYTES / 2];
    for (uint32_t i = 0; i < sections->count; i++) {
        const struct sw_table_section *section = &sections->at[i];
        const struct sw_table_section *other = find_number(sections, section);
        if (other != NULL) {
            snprintf(why, sizeof(why), "the table %s has the number %u: choose another",
                     other->name, other->number);
        }
        if (other != NULL || sw_table_options_check(&section->options, why, sizeof(why)) != 0) {
            snprintf(error, error_bytes, "%s:%u: [table %s]: %s", path, section->line,
                     section->name, why);
            return -1;
        }
    }
    return 0;
}

int sw_table_sections_read(const struct sw_config *config, struct sw_table_sections *sections,
                           char *error, size_t error_bytes)
{
    struct reader reader = {.config = config, .sections = sections, .engines = true};
    const struct sw_table_lines lines = {take, &reader};
    const char *path = config->origin.path;
    *sections = (struct sw_table_sections){.count = 0};
    if (path == NULL) {
        return 0;
    }
    if (sw_config_read_tables(path, &lines, error, error_bytes) != 0) {
        return -1;
    }
    reader.engines = false;
    return sw_config_read_tables(path, &lines, error, error_bytes) != 0
               ? -1
               : check(sections, path, error, error_bytes);
}

void sw_table_sections_free(struct sw_table_sections *sections)
{
    free(sections->at);
    *sections = (struct sw_table_sections){.count = 0};
}

void sw_table_sections_print(const struct sw_table_sections *sections, FILE *out)
{
    for (uint32_t i = 0; i < sections->count; i++) {
        const struct sw_table_section *section = &sections->at[i];
        fprintf(out, "\n[table %s]\n", section->name);
        if (section->number != 0) {
            fprintf(out, "number = %u\n", section->number);
        }
        for (size_t at = 0; at < SW_OPTION_COUNT; at++) {
            char value[SW_OPTION_VALUE_BYTES];
            if (section->options.given[at]) {
                sw_option_format(sw_option_at(at), &section->options.config, true, value,
                                 sizeof(value));
                fprintf(out, "%s = %s\n", sw_option_at(at)->name, value);
            }
        }
    }
}
