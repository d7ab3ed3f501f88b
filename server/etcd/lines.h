/* SPDX-License-Identifier: MIT
 *
 * lines.h - splits a stream of bytes into lines. Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_ETCD_LINES_H
#define SHERWOOD_SERVER_ETCD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Gets a line without its line end. Returns false to get no more lines. */
typedef bool sw_etcd_line(void *context, const char *line, size_t size);

/* Initially all zero. */
struct sw_etcd_lines {
    char *bytes; /* of an incomplete line */
    size_t size, room;
};

void sw_etcd_lines_fini(struct sw_etcd_lines *lines);
/* Calls `line` for each line that ends in these bytes. Returns false if `line` returned false, if a
 * line is longer than `size_max`, or if memory is short. */
bool sw_etcd_lines_feed(struct sw_etcd_lines *lines, const char *bytes, size_t size,
                        size_t size_max, sw_etcd_line *line, void *context);

#endif
