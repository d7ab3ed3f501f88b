/* SPDX-License-Identifier: MIT
 *
 * control_table_create.c - TABLE CREATE: the options of a new table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/config/table_options.h"
#include "server/resp/control.h"
#include "server/resp/control_table.h"

/* Bytes of the name and of the value of an option, with the NUL. */
#define WORD_BYTES 160

static bool refuse_in_words(struct sw_control *control, const char *prefix, const char *sentence)
{
    char line[SW_CONFIG_ERROR_BYTES + 8];
    snprintf(line, sizeof(line), "%s%s", prefix, sentence);
    return sw_control_refuse(control, line);
}

/* What TABLE CREATE says beside the options. */
struct creation {
    const struct sw_config *base;
    bool alike;
    uint32_t options; /* arguments that are names of options */
};

/* Reads the keyword at `i`. Returns its arguments, itself included; 0: the argument is an option;
 * -1: the keyword is wrong, with an error line in *error. */
static int read_keyword(struct sw_control *control, const struct sw_resp_command *arguments,
                        uint32_t i, struct creation *creation, const char **error)
{
    const struct sw_resp_argument *words = &arguments->arguments[i];
    const uint32_t left = arguments->count - i;
    struct sw_change *made = control->change;
    uint64_t number = 0;
    if (sw_argument_is(&words[0], "NUMBER") && left > 1) {
        if (!sw_decimal_parse(words[1].text, words[1].size, SW_PLACE_NUMBERS_FREE - 1, &number) ||
            number == 0) {
            *error = "ERR NUMBER is not an integer from 1 to 65535";
            return -1;
        }
        made->has_number = true;
        made->number = (uint32_t)number;
        return 2;
    }
    if (sw_argument_is(&words[0], "IF") && left > 2 && sw_argument_is(&words[1], "NOT") &&
        sw_argument_is(&words[2], "EXISTS")) {
        made->is_lenient = true;
        return 3;
    }
    if (sw_argument_is(&words[0], "LIKE") && left > 1) {
        const struct sw_tables_view *view = sw_control_tables(control)->view;
        const struct sw_place *place = sw_tables_find(view, words[1].text, words[1].size);
        if (place == NULL) {
            *error = "ERR no such table";
            return -1;
        }
        creation->base = sw_tables_at(view, place->number)->config;
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
static bool set_options(struct sw_control *control, const struct sw_resp_command *arguments,
                        struct sw_table_options *options, bool engine, char *error, size_t bytes)
{
    struct creation unused = {0};
    const char *line = NULL;
    for (uint32_t i = 3; i < arguments->count;) {
        const int keyword = read_keyword(control, arguments, i, &unused, &line);
        char name[WORD_BYTES], value[WORD_BYTES];
        if (keyword > 0) {
            i += (uint32_t)keyword;
            continue;
        }
        if (i + 1 == arguments->count) {
            snprintf(error, bytes, "syntax error");
            return false;
        }
        copy_word(&arguments->arguments[i], true, name);
        copy_word(&arguments->arguments[i + 1], false, value);
        if ((strcmp(name, "engine") == 0) == engine &&
            sw_table_options_set(options, name, value, error, bytes) != 0) {
            return false;
        }
        i += 2;
    }
    return true;
}

bool sw_control_table_create(struct sw_control *control, const struct sw_resp_command *arguments)
{
    struct creation creation = {.base = control->conn->net->config};
    char error[SW_CONFIG_ERROR_BYTES] = "";
    const char *line = NULL;
    if (!sw_control_make_change(control, SW_CHANGE_CREATE, &arguments->arguments[2], NULL)) {
        return true;
    }
    for (uint32_t i = 3; i < arguments->count;) {
        const int keyword = read_keyword(control, arguments, i, &creation, &line);
        if (keyword < 0) {
            sw_control_drop_change(control);
            return sw_control_refuse(control, line);
        }
        i += keyword > 0 ? (uint32_t)keyword : 2;
    }
    struct sw_table_options *options = malloc(sizeof(*options));
    if (options == NULL) {
        sw_control_drop_change(control);
        return sw_control_refuse(control, "ERR out of memory");
    }
    sw_table_options_begin(options, creation.base, creation.alike);
    const bool fits = set_options(control, arguments, options, true, error, sizeof(error)) &&
                      set_options(control, arguments, options, false, error, sizeof(error)) &&
                      sw_table_options_check(options, error, sizeof(error)) == 0;
    control->change->config = options->config;
    free(options);
    if (!fits) {
        sw_control_drop_change(control);
        return refuse_in_words(control, "ERR ", error);
    }
    return sw_control_start_change(control);
}
