/* SPDX-License-Identifier: MIT
 *
 * words.c - splits a line into words, with quotes as in redis-cli.
 */
#include <ctype.h>

#include "client/cli/cli.h"
#include "proto/hex.h"

/* Returns the character that an escape stands for. *from is after the backslash; the function moves
 * it past the escape. */
static char unescape(const char **from)
{
    char c = *(*from)++;
    uint8_t byte = 0;
    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'x':
        if (sw_hex_decode(*from, 1, &byte)) {
            *from += 2;
            return (char)byte;
        }
        return c;
    default:
        return c;
    }
}

/* Decodes an escape. Returns false if it is a NUL: words are C strings. */
static bool take_escape(const char **from, char **to)
{
    char c = unescape(from);
    *(*to)++ = c;
    return c != '\0';
}

/* Copies a text in quotes. *from is after the opening quote. Returns false if the text has no
 * closing quote. */
static bool take_quoted(const char **from, char **to, char quote)
{
    while (**from != quote) {
        if (**from == '\0') {
            return false;
        }
        char c = *(*from)++;
        bool escaped = c == '\\' && **from != '\0' && (quote == '"' || **from == '\'');
        if (!escaped) {
            *(*to)++ = c;
        } else if (!take_escape(from, to)) {
            return false;
        }
    }
    (*from)++;
    return **from == '\0' || isspace((unsigned char)**from);
}

int sw_cli_split(char *line, char **words, int words_max)
{
    const char *from = line;
    char *to = line; /* never passes `from`: without quotes and escapes a word is shorter */
    int count = 0;
    for (;;) {
        while (isspace((unsigned char)*from)) {
            from++;
        }
        if (*from == '\0') {
            return count;
        }
        if (count == words_max) {
            return -1;
        }
        words[count++] = to;
        while (*from != '\0' && !isspace((unsigned char)*from)) {
            if (*from == '"' || *from == '\'') {
                char quote = *from++;
                if (!take_quoted(&from, &to, quote)) {
                    return -1;
                }
            } else {
                *to++ = *from++;
            }
        }
        bool last = *from == '\0';
        if (!last) {
            from++;
        }
        *to++ = '\0';
        if (last) {
            return count;
        }
    }
}
