/* SPDX-License-Identifier: MIT
 *
 * segment_file.h - the written part of a segment's file, in memory.
 *
 * A segment has its full length before its first record, and most of it may be zeros. A reader gets
 * the part up to the last byte that is not zero. Holes and blocks that were only allocated are not
 * read. With appendfsync always the file is filled with zeros. Then the reader takes a run of
 * SW_SEGMENT_ZEROS zeros for the end, unless a later page has other bytes. It probes the first page
 * of every SW_SEGMENT_PROBE bytes, and the last page.
 *
 * Threads: any; one at a time uses a file.
 */
#ifndef SHERWOOD_SERVER_LOG_SEGMENT_FILE_H
#define SHERWOOD_SERVER_LOG_SEGMENT_FILE_H

#include "server/log/directory.h"

#define SW_SEGMENT_ZEROS (4U << 20)
#define SW_SEGMENT_PROBE (1U << 20)

struct sw_segment_file {
    uint8_t *bytes;      /* on the heap; NULL: not read */
    uint64_t size;       /* number of bytes; the rest of the file is zeros */
    uint64_t file_bytes; /* length of the file */
};

/* Reads the file of this name. Returns 0, or -1 with errno, and then file->bytes is NULL. */
int sw_segment_file_read(struct sw_segment_file *file, const struct sw_directory *directory,
                         const char *name);
/* Extends `bytes` to this size by the zeros that follow in the file. Returns 0, or -1 with errno.
 */
int sw_segment_file_extend(struct sw_segment_file *file, uint64_t size);
void sw_segment_file_free(struct sw_segment_file *file);

#endif
