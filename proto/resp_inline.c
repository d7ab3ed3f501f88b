/* SPDX-License-Identifier: MIT
 *
 * resp_inline.c - splits a line into words by the rules of redis: blanks separate, "..." takes
 * escapes (\n \r \t \a \b \xHH, \c is c), '...' takes only \', a closing quote ends the word and
 * must be followed by a blank or the end. A NUL byte is a byte like any other.
 */
#include "proto/resp_inline.h"

#include <string.h>

#include "proto/hex.h"

struct line {
    const uint8_t *at;
    const uint8_t *end;
    uint8_t *out; /* where the next unquoted byte goes */
};

/* Is it a byte that may stand before a word and after a closing quote? */
static bool is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Is it a byte that ends a word without quotes? \v and \f are not. */
static bool ends_word(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static uint8_t escaped(uint8_t byte)
{
    switch (byte) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'a':
        return '\a';
    default:
        return byte;
    }
}

/* Decodes an escape: line->at is a backslash inside double quotes, and not the last byte. */
static void unquote_escape(struct line *line)
{
    const uint8_t *at = line->at;
    if (line->end - at >= 4 && at[1] == 'x') {
        uint8_t byte = 0;
        if (sw_hex_decode((const char *)at + 2, 1, &byte)) {
            *line->out++ = byte;
            line->at += 4;
            return;
        }
    }
    *line->out++ = escaped(at[1]);
    line->at += 2;
}

/* Decodes the rest of a quoted text: line->at is just behind the opening quote. Returns false if
 * the quote is not closed, or is followed by something other than a blank. */
static bool unquote(struct line *line, uint8_t quote)
{
    while (line->at < line->end && *line->at != quote) {
        bool last = line->end - line->at == 1;
        if (*line->at != '\\' || last) {
            *line->out++ = *line->at++;
        } else if (quote == '"') {
            unquote_escape(line);
        } else if (line->at[1] == '\'') {
            *line->out++ = '\'';
            line->at += 2;
        } else {
            *line->out++ = *line->at++;
        }
    }
    if (line->at == line->end) {
        return false;
    }
    line->at++;
    return line->at == line->end || is_blank(*line->at);
}

/* Takes the word at line->at, which is not a blank. Returns false for unbalanced quotes. */
static bool take_word(struct line *line, struct sw_resp_argument *word)
{
    const uint8_t *start = line->at;
    while (line->at < line->end && !ends_word(*line->at)) {
        uint8_t byte = *line->at;
        if (byte == '"' || byte == '\'') {
            size_t before = (size_t)(line->at - start);
            word->text = line->out;
            memcpy(line->out, start, before);
            line->out += before;
            line->at++;
            if (!unquote(line, byte)) {
                return false;
            }
            word->size = (uint32_t)(line->out - word->text);
            return true;
        }
        line->at++;
    }
    word->text = start;
    word->size = (uint32_t)(line->at - start);
    return true;
}

static int split(struct line *line, const struct sw_resp_limits *limits,
                 struct sw_resp_command *command)
{
    for (;;) {
        while (line->at < line->end && is_blank(*line->at)) {
            line->at++;
        }
        if (line->at == line->end) {
            return 0;
        }
        struct sw_resp_argument word;
        if (!take_word(line, &word)) {
            return SW_RESP_E_QUOTES;
        }
        if (command->count == limits->arguments_max || word.size > limits->argument_bytes_max) {
            return SW_RESP_E_INLINE_SIZE;
        }
        command->arguments[command->count++] = word;
    }
}

int64_t sw_resp_parse_inline(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                             struct sw_resp_command *command)
{
    size_t window = size > limits->inline_bytes_max ? (size_t)limits->inline_bytes_max + 1 : size;
    const uint8_t *newline = memchr(bytes, '\n', window);
    if (newline == NULL) {
        command->need = size + 1;
        return size > limits->inline_bytes_max ? SW_RESP_E_INLINE_SIZE : 0;
    }
    /* A '\r' before the newline is a blank like any other. */
    struct line line = {.at = bytes, .end = newline, .out = command->unquoted};
    int error = split(&line, limits, command);
    return error != 0 ? error : newline - bytes + 1;
}
