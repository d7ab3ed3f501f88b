/* SPDX-License-Identifier: MIT
 *
 * segment_file.h - what was written of the file of a segment, in memory.
 *
 * A segment has its full length before its first record, and most of it may be zeros. A reader gets
 * the part up to the last byte that is not zero. Holes and blocks that were only allocated are not
 * read. Where zeros were written (appendfsync always) a run of SW_SEGMENT_ZEROS of them is taken
 * for the end, unless one of the probed pages behind it has something: one page of SW_SEGMENT_PROBE
 * bytes each, and the last one.
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
    uint64_t size;       /* of them; behind them the file has zeros */
    uint64_t file_bytes; /* length of the file */
};

/* Reads the file of this name. Returns 0, or -1 with errno and no bytes. */
int sw_segment_file_read(struct sw_segment_file *file, const struct sw_directory *directory,
                         const char *name);
/* Appends zeros of the file up to this size. Returns 0, or -1 with errno. */
int sw_segment_file_extend(struct sw_segment_file *file, uint64_t size);
void sw_segment_file_free(struct sw_segment_file *file);

#endif
