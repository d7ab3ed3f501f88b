/* SPDX-License-Identifier: MIT
 *
 * change_words.c - the grammar of TABLE CREATE, ALTER, DROP, RENAME, SWAP and SAVE.
 */
#include "server/tables/change_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/config/table_options.h"

#define SYNTAX_ERROR "ERR syntax error: TABLE HELP shows the forms"

/* Bytes of the name and of the value of an option, with the NUL. */
#define WORD_BYTES 160

/* What is being read. */
struct reading {
    const struct sw_tables_view *view;
    const struct sw_resp_argument *words;
    uint32_t count;
    struct sw_change *change;
    char *error;
    size_t error_bytes;
};

static int refuse(const struct reading *reading, const char *line)
{
    snprintf(reading->error, reading->error_bytes, "%s", line);
    return -1;
}

static bool is(const struct reading *reading, uint32_t i, const char *word)
{
    return i < reading->count && sw_argument_is(&reading->words[i], word);
}

/* Copies the name of a place. `is_new`: the change gives the name. */
static int read_name(const struct reading *reading, uint32_t i, bool is_new,
                     char out[SW_PLACE_NAME_BYTES])
{
    const struct sw_resp_argument *word = &reading->words[i];
    if (word->size >= SW_PLACE_NAME_BYTES || memchr(word->text, '\0', word->size) != NULL) {
        return refuse(reading, is_new ? "ERR a table's name has at most 63 bytes, and no NUL"
                                      : SW_NO_SUCH_TABLE);
    }
    memcpy(out, word->text, word->size);
    return 0;
}

/* --- CREATE ----------------------------------------------------------------------------------- */

/* What TABLE CREATE says beside the options. */
struct creation {
    const struct sw_config *base;
    bool alike;
};

/* Reads the keyword at `i`. Returns its arguments, itself included; 0: the argument is an option;
 * -1: the keyword is wrong, with the error. */
static int read_keyword(const struct reading *reading, uint32_t i, struct creation *creation)
{
    const struct sw_resp_argument *words = &reading->words[i];
    const bool has_value = i + 1 < reading->count;
    uint64_t number = 0;
    if (is(reading, i, "NUMBER") && has_value) {
        if (!sw_decimal_parse(words[1].text, words[1].size, SW_PLACE_NUMBERS_FREE - 1, &number) ||
            number == 0) {
            return refuse(reading, "ERR NUMBER is not an integer from 1 to 65535");
        }
        reading->change->has_number = true;
        reading->change->number = (uint32_t)number;
        return 2;
    }
    if (is(reading, i, "IF") && is(reading, i + 1, "NOT") && is(reading, i + 2, "EXISTS")) {
        reading->change->is_lenient = true;
        return 3;
    }
    if (is(reading, i, "LIKE") && has_value) {
        const struct sw_place *place = sw_tables_find(reading->view, words[1].text, words[1].size);
        if (place == NULL) {
            return refuse(reading, SW_NO_SUCH_TABLE);
        }
        creation->base = sw_tables_at(reading->view, place->number)->config;
        creation->alike = true;
        return 2;
    }
    return 0;
}

static void copy_word(const struct sw_resp_argument *word, bool lower, char out[WORD_BYTES])
{
    snprintf(out, WORD_BYTES, "%.*s", (int)word->size, (const char *)word->text);
    for (char *at = out; lower && *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + ('a' - 'A')) : *at;
    }
}

/* Sets the options of CREATE: the engine first (`engine`), then all others. Returns false, with
 * text in `error`, if one of them is wrong. */
static bool set_options(const struct reading *reading, struct sw_table_options *options,
                        bool engine, char *error, size_t bytes)
{
    struct creation unused = {0};
    for (uint32_t i = 2; i < reading->count;) {
        const int keyword = read_keyword(reading, i, &unused);
        char name[WORD_BYTES], value[WORD_BYTES];
        if (keyword > 0) {
            i += (uint32_t)keyword;
            continue;
        }
        copy_word(&reading->words[i], true, name);
        if (i + 1 == reading->count) {
            snprintf(error, bytes, "option '%s' has no value: write each option and its value",
                     name);
            return false;
        }
        copy_word(&reading->words[i + 1], false, value);
        if ((strcmp(name, "engine") == 0) == engine &&
            sw_table_options_set(options, name, value, error, bytes) != 0) {
            return false;
        }
        i += 2;
    }
    return true;
}

/* Reads the options of ALTER. Others stay as they are, also if another ALTER changes them. */
static int read_alter(const struct reading *reading)
{
    char error[SW_CONFIG_ERROR_BYTES] = "", name[WORD_BYTES];
    const struct sw_resp_argument *table = &reading->words[1];
    const struct sw_place *place = sw_tables_find(reading->view, table->text, table->size);
    if (read_name(reading, 1, false, reading->change->name) != 0) {
        return -1;
    }
    if (place == NULL || reading->count < 3) {
        return refuse(reading, place == NULL ? SW_NO_SUCH_TABLE : SYNTAX_ERROR);
    }
    for (uint32_t i = 2; i < reading->count; i += 2) {
        copy_word(&reading->words[i], true, name);
        const uint32_t bit = sw_alterable_of(name);
        reading->change->alters |= bit;
        if (bit == 0 && sw_option_find(name) != NULL) {
            snprintf(reading->error, reading->error_bytes,
                     "ERR %s of a table does not change: make another table, and swap the two",
                     name);
            return -1;
        }
    }
    struct sw_table_options *options = malloc(sizeof(*options));
    if (options == NULL) {
        return refuse(reading, "ERR out of memory");
    }
    sw_table_options_begin(options, sw_tables_at(reading->view, place->number)->config, true);
    const bool fits = set_options(reading, options, false, error, sizeof(error)) &&
                      sw_table_options_check(options, error, sizeof(error)) == 0;
    reading->change->config = options->config;
    free(options);
    if (!fits) {
        snprintf(reading->error, reading->error_bytes, "ERR %s", error);
    }
    return fits ? 0 : -1;
}

static int read_create(const struct reading *reading)
{
    struct creation creation = {.base = reading->view->served[0]->config};
    char error[SW_CONFIG_ERROR_BYTES] = "";
    if (read_name(reading, 1, true, reading->change->name) != 0) {
        return -1;
    }
    for (uint32_t i = 2; i < reading->count;) {
        const int keyword = read_keyword(reading, i, &creation);
        if (keyword < 0) {
            return -1;
        }
        i += keyword > 0 ? (uint32_t)keyword : 2;
    }
    struct sw_table_options *options = malloc(sizeof(*options));
    if (options == NULL) {
        return refuse(reading, "ERR out of memory");
    }
    sw_table_options_begin(options, creation.base, creation.alike);
    const bool fits = set_options(reading, options, true, error, sizeof(error)) &&
                      set_options(reading, options, false, error, sizeof(error)) &&
                      sw_table_options_check(options, error, sizeof(error)) == 0;
    reading->change->config = options->config;
    free(options);
    if (!fits) {
        snprintf(reading->error, reading->error_bytes, "ERR %s", error);
        return -1;
    }
    return 0;
}

/* --- the others ------------------------------------------------------------------------------- */

static int read_drop(const struct reading *reading)
{
    reading->change->is_lenient =
        reading->count == 4 && is(reading, 2, "IF") && is(reading, 3, "EXISTS");
    if (reading->count != 2 && !reading->change->is_lenient) {
        return refuse(reading, SYNTAX_ERROR);
    }
    return read_name(reading, 1, false, reading->change->name);
}

static int read_save(const struct reading *reading)
{
    return reading->count != 2 ? refuse(reading, SYNTAX_ERROR)
                               : read_name(reading, 1, false, reading->change->name);
}

static int read_two(const struct reading *reading)
{
    if (reading->count != 3) {
        return refuse(reading, SYNTAX_ERROR);
    }
    return read_name(reading, 1, false, reading->change->name) != 0
               ? -1
               : read_name(reading, 2, true, reading->change->other);
}

static int read_swap(const struct reading *reading)
{
    struct reading names = *reading;
    reading->change->is_forced = reading->count == 4 && is(reading, 3, "FORCE");
    names.count -= reading->change->is_forced;
    return read_two(&names);
}

int sw_change_read(const struct sw_tables_view *view, const struct sw_resp_argument *words,
                   uint32_t count, struct sw_change *change, char *error, size_t error_bytes)
{
    static const struct {
        const char *word;
        enum sw_change_kind kind;
    } kinds[] = {{"CREATE", SW_CHANGE_CREATE}, {"DROP", SW_CHANGE_DROP},
                 {"RENAME", SW_CHANGE_RENAME}, {"SWAP", SW_CHANGE_SWAP},
                 {"ALTER", SW_CHANGE_ALTER},   {"SAVE", SW_CHANGE_SAVE}};
    const struct reading reading = {view, words, count, change, error, error_bytes};
    memset(change, 0, sizeof(*change));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!is(&reading, 0, kinds[i].word) || count < 2) {
            continue;
        }
        change->kind = kinds[i].kind;
        return change->kind == SW_CHANGE_CREATE  ? read_create(&reading)
               : change->kind == SW_CHANGE_ALTER ? read_alter(&reading)
               : change->kind == SW_CHANGE_DROP  ? read_drop(&reading)
               : change->kind == SW_CHANGE_SAVE  ? read_save(&reading)
               : change->kind == SW_CHANGE_SWAP  ? read_swap(&reading)
                                                 : read_two(&reading);
    }
    return refuse(&reading, SYNTAX_ERROR);
}
