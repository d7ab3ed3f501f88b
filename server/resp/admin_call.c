/* SPDX-License-Identifier: MIT
 *
 * admin_call.c - subcommands, error replies, and parsing of arguments.
 */
#include "server/resp/admin_call.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ops/string_apply.h"
#include "server/resp/unsupported_commands.h"

#define ERROR_LINE_BYTES 512

void sw_call_error(struct sw_call *call, const char *format, ...)
{
    char line[ERROR_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    sw_text_error(call->reply, line);
}

void sw_call_syntax_error(struct sw_call *call)
{
    sw_text_error(call->reply, "ERR syntax error");
}

void sw_call_ok(struct sw_call *call)
{
    sw_text_simple(call->reply, "OK");
}

void sw_subcommand_help(const struct sw_command *command, const struct sw_subcommand *list,
                        struct sw_text *reply)
{
    char name[SW_COMMAND_NAME_BYTES], line[160];
    uint64_t lines = 3;
    sw_command_upper(command, name);
    for (const struct sw_subcommand *row = list; row->name != NULL; row++) {
        lines += 2;
    }
    sw_text_array(reply, lines);
    snprintf(line, sizeof(line),
             "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name);
    sw_text_simple(reply, line);
    for (const struct sw_subcommand *row = list; row->name != NULL; row++) {
        snprintf(line, sizeof(line), "%s%s%s", row->name, row->usage[0] != '\0' ? " " : "",
                 row->usage);
        sw_text_simple(reply, line);
        snprintf(line, sizeof(line), "    %s", row->help);
        sw_text_simple(reply, line);
    }
    sw_text_simple(reply, "HELP");
    sw_text_simple(reply, "    Print this help.");
}

void sw_subcommand_unknown(const struct sw_command *command, const struct sw_resp_argument *word,
                           char *line, size_t size)
{
    char name[SW_COMMAND_NAME_BYTES];
    const char *reason = sw_unsupported_subcommand_reason(command->name, word);
    sw_command_upper(command, name);
    if (reason != NULL) {
        snprintf(line, size, "ERR %s %.*s: %s", name, SW_CALL_SHOWN(word), reason);
    } else {
        snprintf(line, size, "ERR unknown subcommand '%.*s'. Try %s HELP.", SW_CALL_SHOWN(word),
                 name);
    }
}

void sw_subcommand_wrong_count(const struct sw_command *command, const struct sw_subcommand *row,
                               char *line, size_t size)
{
    char name[32];
    size_t i = 0;
    for (; i < sizeof(name) - 1 && row->name[i] != '\0'; i++) {
        name[i] = (char)tolower((unsigned char)row->name[i]);
    }
    name[i] = '\0';
    snprintf(line, size, "ERR wrong number of arguments for '%s|%s' command", command->name, name);
}

void sw_call_subcommand(struct sw_call *call, const struct sw_subcommand *list)
{
    const struct sw_resp_argument *word = &call->arguments[1];
    char line[ERROR_LINE_BYTES];
    if (sw_argument_is(word, "HELP") && call->count == 2) {
        sw_subcommand_help(call->command, list, call->reply);
        return;
    }
    for (const struct sw_subcommand *row = list; row->name != NULL; row++) {
        if (!sw_argument_is(word, row->name)) {
            continue;
        }
        if (!sw_subcommand_arity_fits(row, call->count)) {
            sw_subcommand_wrong_count(call->command, row, line, sizeof(line));
            sw_text_error(call->reply, line);
            return;
        }
        row->run(call);
        return;
    }
    sw_subcommand_unknown(call->command, word, line, sizeof(line));
    sw_text_error(call->reply, line);
}

/* Copies the text of a number. Returns false if no number has such a text. */
static bool copy_number(const struct sw_resp_argument *argument, char *text, size_t room)
{
    if (argument->size == 0 || argument->size >= room || isspace(argument->text[0])) {
        return false;
    }
    memcpy(text, argument->text, argument->size);
    text[argument->size] = '\0';
    return true;
}

bool sw_argument_double(const struct sw_resp_argument *argument, double *out)
{
    char text[SW_NUMBER_TEXT_BYTES + 1], *end = NULL;
    if (!copy_number(argument, text, sizeof(text))) {
        return false;
    }
    *out = strtod(text, &end);
    return end == text + argument->size && !isnan(*out);
}

bool sw_argument_float(const struct sw_resp_argument *argument, float *out)
{
    char text[64], *end = NULL;
    if (!copy_number(argument, text, sizeof(text))) {
        return false;
    }
    *out = strtof(text, &end);
    return end == text + argument->size && !isnan(*out);
}

bool sw_argument_integer(const struct sw_resp_argument *argument, int64_t *out)
{
    bool negative = argument->size > 0 && argument->text[0] == '-';
    uint32_t at = negative ? 1 : 0;
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t value = 0;
    if (at == argument->size ||
        (argument->text[at] == '0' && (negative || argument->size > at + 1))) {
        return false;
    }
    for (; at < argument->size; at++) {
        unsigned digit = (unsigned)argument->text[at] - '0';
        if (digit > 9 || value > (limit - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static int fold(uint8_t c)
{
    return tolower(c);
}

/* Does `c` match the item of the pattern at `at`, which is not '*'? *next receives the index of the
 * next item. */
static bool item_matches(const struct sw_resp_argument *pattern, uint32_t at, uint8_t c,
                         uint32_t *next)
{
    const uint8_t *text = pattern->text;
    bool negated = false, found = false;
    if (text[at] == '?') {
        *next = at + 1;
        return true;
    }
    if (text[at] != '[') {
        at += text[at] == '\\' && at + 1 < pattern->size;
        *next = at + 1;
        return fold(text[at]) == fold(c);
    }
    at++;
    if (at < pattern->size && text[at] == '^') {
        negated = true;
        at++;
    }
    while (at < pattern->size && text[at] != ']') {
        at += text[at] == '\\' && at + 1 < pattern->size;
        uint8_t first = text[at], last = first;
        if (at + 2 < pattern->size && text[at + 1] == '-') {
            last = text[at + 2];
            at += 2;
        }
        int low = fold(first), high = fold(last);
        if (low > high) {
            int swap = low;
            low = high;
            high = swap;
        }
        found = found || (fold(c) >= low && fold(c) <= high);
        at++;
    }
    *next = at < pattern->size ? at + 1 : at;
    return found != negated;
}

bool sw_argument_glob(const struct sw_resp_argument *pattern, const char *name)
{
    size_t size = strlen(name), name_at = 0;
    size_t star_name = 0;
    uint32_t at = 0, star = UINT32_MAX;
    if (pattern->size > SW_GLOB_BYTES_MAX) {
        return false;
    }
    while (name_at < size) {
        uint32_t next = 0;
        if (at < pattern->size && pattern->text[at] == '*') {
            star = ++at;
            star_name = name_at;
        } else if (at < pattern->size && item_matches(pattern, at, (uint8_t)name[name_at], &next)) {
            at = next;
            name_at++;
        } else if (star != UINT32_MAX) { /* let the last star take one more byte */
            at = star;
            name_at = ++star_name;
        } else {
            return false;
        }
    }
    while (at < pattern->size && pattern->text[at] == '*') {
        at++;
    }
    return at == pattern->size;
}
