/* SPDX-License-Identifier: MIT
 *
 * snapshot_load.h - loads the newest whole snapshot of the data directory into a table.
 *
 * Threads: one at a time; progress may be read by any.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_LOAD_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/snapshot_file.h"
#include "server/log/directory.h"

struct sw_table;

#define SW_LOAD_REASON_BYTES 512
#define SW_LOAD_DAMAGED_MAX 16 /* damaged snapshots whose numbers are stored */

struct sw_load {
    struct sw_directory *directory;  /* gets the log_id of the files there */
    struct sw_table *table;          /* empty, and without another writer */
    uint32_t value_format;           /* enum sw_frame_values */
    uint32_t value_type;             /* enum sw_value_type */
    const bool *stop;                /* atomic: once it is true, loading ends */
    void (*progress)(void *context); /* called after each block; or NULL */
    void *context;

    /* atomic: of the file that is loaded */
    uint64_t file_bytes;
    uint64_t done_bytes;

    /* out */
    bool found;
    struct sw_snapshot_header header; /* of the loaded snapshot */
    uint64_t highest;                 /* number in the name of a snapshot, damaged ones included */
    uint64_t damaged[SW_LOAD_DAMAGED_MAX];
    size_t damaged_count;
};

/* Loads by table/restore.h, or by ordinary batches if the table does not support that. Logs a
 * damaged snapshot and tries the one before it. Without a snapshot the table stays empty.
 * Afterwards the sequence of the table is at least `highest`. Returns 0; or -1 and an error in
 * `reason`. It fails if a file cannot be read, has a newer version, is of another directory, or
 * does not fit the table; if all files are damaged; or if `stop` was set. */
int sw_snapshot_load(struct sw_load *load, char reason[SW_LOAD_REASON_BYTES]);

#endif
