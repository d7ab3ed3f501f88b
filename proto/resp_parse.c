/* SPDX-License-Identifier: MIT
 *
 * resp_parse.c - commands of the Redis protocol. The reactions to malformed input are those of
 * redis 7, and stricter where redis skips two bytes that should be "\r\n" without looking.
 */
#include "proto/resp.h"

#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/resp_inline.h"

/* The bytes of the shortest argument: "$0\r\n\r\n". */
#define ARGUMENT_BYTES_MIN 6

/* Parses "<type><digit>\r\n" or "<type><digit><digit>\r\n", which nearly every line is. Returns its
 * length, or 0 if the line is another one or is not complete. */
static inline size_t read_short_line(const uint8_t *at, size_t size, uint8_t type, uint64_t *value)
{
    if (size < 5 || at[0] != type) {
        return 0;
    }
    uint8_t first = (uint8_t)(at[1] - '0');
    if (first > 9) {
        return 0;
    }
    if (at[2] == '\r') {
        *value = first;
        return at[3] == '\n' ? 4 : 0;
    }
    uint8_t second = (uint8_t)(at[2] - '0');
    if (first == 0 || second > 9 || at[3] != '\r' || at[4] != '\n') {
        return 0;
    }
    *value = first * 10U + second;
    return 5;
}

/* Looks for the end of a line. Returns the number of bytes before '\r', or -1 if the line is
 * incomplete; then *too_long is set if the line has reached bytes_max. */
static int64_t find_line(const uint8_t *at, size_t size, uint32_t bytes_max, bool *too_long)
{
    *too_long = false;
    size_t window = size > bytes_max ? (size_t)bytes_max + 1 : size;
    const uint8_t *end = memchr(at, '\r', window);
    if (end == NULL) {
        *too_long = size > bytes_max;
        return -1;
    }
    int64_t bytes = end - at;
    return (uint64_t)bytes + 2 > size ? -1 : bytes;
}

/* Parses a number of at most `max`, without leading zeros. */
static bool read_number(const uint8_t *text, size_t size, uint64_t max, uint64_t *value)
{
    bool padded = size > 1 && text[0] == '0';
    return !padded && sw_decimal_parse(text, size, max, value);
}

/* Parses "*<count>\r\n". Returns its length, 0 if it is incomplete, or an error. A negative count
 * means 0. */
static int64_t read_count(const uint8_t *at, size_t size, const struct sw_resp_limits *limits,
                          uint64_t *count)
{
    int64_t bytes = (int64_t)read_short_line(at, size, '*', count);
    if (bytes > 0) {
        return *count > limits->arguments_max ? SW_RESP_E_COUNT : bytes;
    }
    bool too_long;
    bytes = find_line(at, size, limits->inline_bytes_max, &too_long);
    if (bytes < 0) {
        return too_long ? SW_RESP_E_COUNT_SIZE : 0;
    }
    size_t digits = (size_t)bytes - 1;
    bool valid = at[bytes + 1] == '\n';
    if (digits > 0 && at[1] == '-') {
        valid = valid && read_number(at + 2, digits - 1, (uint64_t)INT64_MAX + 1, count) && *count;
        *count = 0;
    } else {
        valid = valid && read_number(at + 1, digits, limits->arguments_max, count);
    }
    return valid ? bytes + 2 : SW_RESP_E_COUNT;
}

/* Parses "$<length>\r\n". Returns its length, 0 if it is incomplete, or an error. */
static int64_t read_length(const uint8_t *at, size_t size, const struct sw_resp_limits *limits,
                           uint64_t *length, uint8_t *got)
{
    int64_t bytes = (int64_t)read_short_line(at, size, '$', length);
    if (bytes > 0) {
        return *length > limits->argument_bytes_max ? SW_RESP_E_BULK : bytes;
    }
    bool too_long;
    bytes = find_line(at, size, limits->inline_bytes_max, &too_long);
    if (bytes < 0) {
        return too_long ? SW_RESP_E_BULK_SIZE : 0;
    }
    if (at[0] != '$') {
        *got = at[0];
        return SW_RESP_E_DOLLAR;
    }
    bool valid = at[bytes + 1] == '\n' &&
                 read_number(at + 1, (size_t)bytes - 1, limits->argument_bytes_max, length);
    return valid ? bytes + 2 : SW_RESP_E_BULK;
}

static int64_t parse_array(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                           struct sw_resp_command *command)
{
    uint64_t count;
    int64_t line = read_count(bytes, size, limits, &count);
    if (line <= 0) {
        command->need = size + 1;
        return line;
    }
    uint64_t at = (uint64_t)line;
    /* The fewest bytes that the arguments after this one can have. */
    uint64_t rest = count * ARGUMENT_BYTES_MIN;
    if (at + rest > limits->request_bytes_max) {
        return SW_RESP_E_REQUEST_SIZE;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length;
        command->begun = (uint32_t)i + 1;
        line = read_length(bytes + at, size - at, limits, &length, &command->got);
        if (line <= 0) {
            command->need = at + rest > size ? at + rest : size + 1;
            return line;
        }
        rest -= ARGUMENT_BYTES_MIN;
        uint64_t start = at + (uint64_t)line;
        at = start + length + 2;
        if (at + rest > limits->request_bytes_max) {
            return SW_RESP_E_REQUEST_SIZE;
        }
        if (at > size) {
            command->need = at + rest;
            return 0;
        }
        if (bytes[at - 2] != '\r' || bytes[at - 1] != '\n') {
            return SW_RESP_E_BULK;
        }
        command->arguments[i] = (struct sw_resp_argument){bytes + start, (uint32_t)length};
    }
    command->count = (uint32_t)count;
    return (int64_t)at;
}

int64_t sw_resp_parse(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                      struct sw_resp_command *command)
{
    command->count = 0;
    command->begun = 0;
    if (size == 0) {
        command->need = 1;
        return 0;
    }
    /* Bytes beyond the limit are never looked at, so the result does not depend on how many of them
     * have arrived. */
    bool at_limit = size >= limits->request_bytes_max;
    if (at_limit) {
        size = limits->request_bytes_max;
    }
    int64_t result = bytes[0] == '*' ? parse_array(bytes, size, limits, command)
                                     : sw_resp_parse_inline(bytes, size, limits, command);
    return result == 0 && at_limit ? SW_RESP_E_REQUEST_SIZE : result;
}

static const char *error_text(int error)
{
    switch (error) {
#define SW_RESP_ERROR_TEXT(name, value, text) \
    case name:                                \
        return text;
        SW_RESP_ERROR_MAP(SW_RESP_ERROR_TEXT)
#undef SW_RESP_ERROR_TEXT
    default:
        return "unknown error";
    }
}

void sw_resp_error_text(int error, uint8_t got, char *out, size_t out_bytes)
{
    if (error == SW_RESP_E_DOLLAR) {
        /* Each of these bytes would end the reply or this text before its end. */
        bool breaks = got == '\r' || got == '\n' || got == '\0';
        snprintf(out, out_bytes, "expected '$', got '%c'", breaks ? ' ' : got);
    } else {
        snprintf(out, out_bytes, "%s", error_text(error));
    }
}

bool sw_argument_is(const struct sw_resp_argument *argument, const char *word)
{
    for (uint32_t i = 0; i < argument->size; i++) {
        uint8_t c = argument->text[i];
        c = c >= 'a' && c <= 'z' ? (uint8_t)(c - 'a' + 'A') : c;
        if (word[i] == '\0' || c != (uint8_t)word[i]) {
            return false;
        }
    }
    return word[argument->size] == '\0';
}
