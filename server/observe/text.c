/* SPDX-License-Identifier: MIT
 *
 * text.c - the bounded buffer.
 */
#include "server/observe/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"

#define TEXT_FIRST_BYTES 256
/* A type byte, 20 digits and the end of the line. */
#define TEXT_HEADER_BYTES 24

void sw_text_init(struct sw_text *text, size_t limit)
{
    *text = (struct sw_text){.limit = limit};
}

void sw_text_fini(struct sw_text *text)
{
    free(text->data);
    *text = (struct sw_text){.limit = text->limit};
}

void sw_text_reset(struct sw_text *text)
{
    text->size = 0;
    text->failed = false;
}

bool sw_text_reserve(struct sw_text *text, size_t bytes)
{
    size_t capacity = text->capacity > 0 ? text->capacity : TEXT_FIRST_BYTES;
    char *data = NULL;
    if (text->failed || bytes > text->limit || text->size > text->limit - bytes) {
        text->failed = true;
        return false;
    }
    if (bytes <= text->capacity - text->size) {
        return true;
    }
    while (capacity - text->size < bytes) {
        capacity = capacity > text->limit / 2 ? text->limit : capacity * 2;
    }
    capacity = capacity < text->limit ? capacity : text->limit;
    data = realloc(text->data, capacity);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void sw_text_append(struct sw_text *text, const void *bytes, size_t size)
{
    if (size > 0 && sw_text_reserve(text, size)) {
        memcpy(text->data + text->size, bytes, size);
        text->size += size;
    }
}

void sw_text_printf(struct sw_text *text, const char *format, ...)
{
    va_list arguments;
    int size = 0;
    va_start(arguments, format);
    size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        text->failed = true;
        return;
    }
    /* vsnprintf also writes a NUL, which is not part of the text. At the limit there is no room for
     * it. */
    if (!sw_text_reserve(text, (size_t)size + 1)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->data + text->size, (size_t)size + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)size;
}

void sw_text_bulk(struct sw_text *text, const void *bytes, size_t size)
{
    if (size <= SIZE_MAX - TEXT_HEADER_BYTES - 2 &&
        sw_text_reserve(text, TEXT_HEADER_BYTES + size + 2)) {
        char *end = sw_resp_put_bulk_header(text->data + text->size, size);
        end = sw_resp_put_bytes(end, size > 0 ? bytes : "", size); /* memcpy refuses NULL */
        end = sw_resp_put_bytes(end, "\r\n", 2);
        text->size = (size_t)(end - text->data);
    } else {
        text->failed = true;
    }
}

void sw_text_bulk_string(struct sw_text *text, const char *string)
{
    sw_text_bulk(text, string, strlen(string));
}

void sw_text_verbatim(struct sw_text *text, const void *bytes, size_t size, bool resp3)
{
    if (!resp3) {
        sw_text_bulk(text, bytes, size);
        return;
    }
    size_t before = text->size;
    sw_text_printf(text, "=%zu\r\ntxt:", size + 4);
    sw_text_append(text, bytes, size);
    sw_text_append(text, "\r\n", 2);
    if (text->failed) {
        text->size = before;
    }
}

/* Writes a line with its type byte. With `clean`, control characters become spaces. */
static void put_line(struct sw_text *text, char type, const char *line, bool clean)
{
    size_t size = strlen(line);
    if (!sw_text_reserve(text, size + 3)) {
        return;
    }
    char *out = text->data + text->size;
    *out++ = type;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)line[i];
        *out++ = (char)(clean && (c < ' ' || c == 0x7f) ? ' ' : c);
    }
    *out++ = '\r';
    *out++ = '\n';
    text->size += size + 3;
}

void sw_text_simple(struct sw_text *text, const char *line)
{
    put_line(text, '+', line, false);
}

void sw_text_error(struct sw_text *text, const char *line)
{
    put_line(text, '-', line, true);
}

void sw_text_integer(struct sw_text *text, int64_t value)
{
    if (sw_text_reserve(text, TEXT_HEADER_BYTES)) {
        text->size = (size_t)(sw_resp_put_integer(text->data + text->size, value) - text->data);
    }
}

void sw_text_unsigned(struct sw_text *text, uint64_t value)
{
    if (sw_text_reserve(text, TEXT_HEADER_BYTES)) {
        text->size = (size_t)(sw_resp_put_unsigned(text->data + text->size, value) - text->data);
    }
}

void sw_text_null(struct sw_text *text, bool resp3)
{
    if (sw_text_reserve(text, TEXT_HEADER_BYTES)) {
        text->size = (size_t)(sw_resp_put_null(text->data + text->size, resp3) - text->data);
    }
}

void sw_text_array(struct sw_text *text, uint64_t count)
{
    if (sw_text_reserve(text, TEXT_HEADER_BYTES)) {
        text->size = (size_t)(sw_resp_put_array(text->data + text->size, count) - text->data);
    }
}

void sw_text_map(struct sw_text *text, uint64_t pairs, bool resp3)
{
    if (sw_text_reserve(text, TEXT_HEADER_BYTES)) {
        text->size = (size_t)(sw_resp_put_map(text->data + text->size, pairs, resp3) - text->data);
    }
}
