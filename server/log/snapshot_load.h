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

struct sw_account;
struct sw_table;

#define SW_LOAD_REASON_BYTES 512
#define SW_LOAD_DAMAGED_MAX 16 /* damaged snapshots whose numbers are stored */

enum sw_load_outcome { SW_LOAD_WHOLE, SW_LOAD_DAMAGED, SW_LOAD_REFUSED };

struct sw_load {
    struct sw_directory *directory;  /* gets the log_id of the files there */
    struct sw_table *table;          /* empty, and without another writer */
    struct sw_account *account;      /* of the memory of `table`; NULL: none */
    uint32_t value_format;           /* enum sw_frame_values */
    uint32_t value_type;             /* enum sw_value_type */
    const bool *stop;                /* atomic: once it is true, loading ends */
    void (*progress)(void *context); /* called after each block; or NULL */
    void *context;
    /* Loads the catalog of this number with all of its tables, into *load. Writes an error to
     * `reason` if it is damaged or refused. NULL: a catalog is refused. */
    enum sw_load_outcome (*catalog)(struct sw_load *load, uint64_t number,
                                    char reason[SW_LOAD_REASON_BYTES]);
    /* Makes the server one of one empty table again, after a damaged catalog. NULL: not called.
     * Returns 0, or -1. */
    int (*reset)(struct sw_load *load);

    /* atomic: of the file that is loaded */
    uint64_t file_bytes;
    uint64_t done_bytes;

    /* out */
    bool found;
    struct sw_snapshot_header header; /* of the loaded snapshot */
    bool is_catalog;                  /* a catalog was loaded; the header has its numbers */
    uint64_t base;                    /* each table has its writes up to here */
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

/* Returns whether the file is a catalog. Returns false if it cannot be read. */
bool sw_snapshot_names_catalog(const struct sw_directory *directory, const char *name);
/* Loads one file, `name`, whose snapshot has the number `number`, into load->table. Writes an error
 * to `reason` if it is damaged or refused; then some entries may be in the table. */
enum sw_load_outcome sw_snapshot_load_file(struct sw_load *load, const char *name, uint64_t number,
                                           char reason[SW_LOAD_REASON_BYTES]);

#endif
