/* SPDX-License-Identifier: MIT
 *
 * lines.c - splits bytes that arrive in pieces into lines.
 */
#include "server/etcd/lines.h"

#include <stdlib.h>
#include <string.h>

void sw_etcd_lines_fini(struct sw_etcd_lines *lines)
{
    free(lines->bytes);
    memset(lines, 0, sizeof(*lines));
}

static bool append_bytes(struct sw_etcd_lines *lines, const char *bytes, size_t size,
                         size_t size_max)
{
    if (size > size_max - lines->size) {
        return false;
    }
    if (lines->size + size > lines->room) {
        size_t room = 2 * (lines->size + size);
        char *grown = realloc(lines->bytes, room);
        if (grown == NULL) {
            return false;
        }
        lines->bytes = grown;
        lines->room = room;
    }
    memcpy(lines->bytes + lines->size, bytes, size);
    lines->size += size;
    return true;
}

bool sw_etcd_lines_feed(struct sw_etcd_lines *lines, const char *bytes, size_t size,
                        size_t size_max, sw_etcd_line *line, void *context)
{
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end == NULL ? size : (size_t)(end - bytes);
        if (length > 0 && !append_bytes(lines, bytes, length, size_max)) {
            return false;
        }
        if (end == NULL) {
            return true;
        }
        bool goes_on = lines->size == 0 || line(context, lines->bytes, lines->size);
        lines->size = 0;
        if (!goes_on) {
            return false;
        }
        bytes = end + 1;
        size -= length + 1;
    }
    return true;
}
