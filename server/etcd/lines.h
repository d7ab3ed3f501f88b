/* SPDX-License-Identifier: MIT
 *
 * lines.h - bytes that come in pieces become lines. One thread at a time.
 */
#ifndef SHERWOOD_SERVER_ETCD_LINES_H
#define SHERWOOD_SERVER_ETCD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A line without its end. Returns false: no more of them. */
typedef bool sw_etcd_line(void *context, const char *line, size_t size);

/* All zero at first. */
struct sw_etcd_lines {
    char *bytes; /* of a line whose end has not come */
    size_t size, room;
};

void sw_etcd_lines_fini(struct sw_etcd_lines *lines);
/* Calls `line` for each line that ends in these bytes. Returns false if that did, if a line is
 * longer than `size_max`, or if there is no memory. */
bool sw_etcd_lines_feed(struct sw_etcd_lines *lines, const char *bytes, size_t size,
                        size_t size_max, sw_etcd_line *line, void *context);

#endif
