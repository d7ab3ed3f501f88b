/* SPDX-License-Identifier: MIT
 *
 * resp_reply.c - parser of RESP2 replies (see resp_reply.h).
 */
#include "bench/load/resp_reply.h"

#include <string.h>

/* Reads the digits of "$2\r\n" after the type byte. Returns the bytes including the newline; 0:
 * needs more; -1: garbage. The number -1 becomes SIZE_MAX. */
static int64_t parse_count(const uint8_t *bytes, size_t size, size_t *out)
{
    size_t value = 0, at = 0;
    if (size >= 4 && memcmp(bytes, "-1\r\n", 4) == 0) {
        *out = SIZE_MAX;
        return 4;
    }
    if (size < 4 && memcmp(bytes, "-1\r\n", size) == 0) {
        return 0;
    }
    for (; at < size && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        value = value * 10 + (size_t)(bytes[at] - '0');
        if (value > SW_LOAD_REPLY_SIZE_MAX) {
            return -1;
        }
    }
    if (at == 0 && size > 0) {
        return -1;
    }
    if ((at < size && bytes[at] != '\r') || (at + 1 < size && bytes[at + 1] != '\n')) {
        return -1;
    }
    if (at + 2 > size) {
        return 0;
    }
    *out = value;
    return (int64_t)at + 2;
}

/* Reads "text\r\n" after the type byte. */
static int64_t parse_line(const uint8_t *bytes, size_t size, struct sw_load_reply *reply)
{
    const uint8_t *end = memchr(bytes, '\r', size);
    if (!end) {
        return size > SW_LOAD_REPLY_SIZE_MAX ? -1 : 0;
    }
    size_t length = (size_t)(end - bytes);
    if (length + 2 > size) {
        return 0;
    }
    if (end[1] != '\n') {
        return -1;
    }
    reply->text = bytes;
    reply->size = length;
    return (int64_t)length + 2;
}

static int64_t parse_bulk(const uint8_t *bytes, size_t size, struct sw_load_reply *reply)
{
    size_t length;
    int64_t head = parse_count(bytes, size, &length);
    if (head <= 0) {
        return head;
    }
    if (length == SIZE_MAX) {
        reply->kind = SW_LOAD_REPLY_NULL;
        return head;
    }
    const uint8_t *text = bytes + head;
    size_t left = size - (size_t)head;
    if (left < length + 2) {
        return 0;
    }
    if (text[length] != '\r' || text[length + 1] != '\n') {
        return -1;
    }
    reply->kind = SW_LOAD_REPLY_BULK;
    reply->text = text;
    reply->size = length;
    return head + (int64_t)length + 2;
}

static int64_t parse_array(const uint8_t *bytes, size_t size, struct sw_load_reply *reply)
{
    size_t count;
    int64_t head = parse_count(bytes, size, &count);
    if (head > 0) {
        reply->kind = count == SIZE_MAX ? SW_LOAD_REPLY_NULL : SW_LOAD_REPLY_ARRAY;
        reply->size = count == SIZE_MAX ? 0 : count;
    }
    return head;
}

int64_t sw_load_reply_parse(const uint8_t *bytes, size_t size, struct sw_load_reply *reply)
{
    if (size == 0) {
        return 0;
    }
    int64_t used;
    switch (bytes[0]) {
    case '$':
        used = parse_bulk(bytes + 1, size - 1, reply);
        break;
    case '*':
        used = parse_array(bytes + 1, size - 1, reply);
        break;
    case '+':
        reply->kind = SW_LOAD_REPLY_STATUS;
        used = parse_line(bytes + 1, size - 1, reply);
        break;
    case '-':
        reply->kind = SW_LOAD_REPLY_ERROR;
        used = parse_line(bytes + 1, size - 1, reply);
        break;
    case ':':
        reply->kind = SW_LOAD_REPLY_INTEGER;
        used = parse_line(bytes + 1, size - 1, reply);
        break;
    default:
        return -1;
    }
    return used > 0 ? used + 1 : used;
}
