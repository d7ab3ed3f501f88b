/* SPDX-License-Identifier: MIT
 *
 * catalog_file.h - the files of a data directory with several tables: catalogs, and a snapshot of
 * each table.
 *
 * A catalog has the name of a snapshot, snapshot-%016x, and names a file for each table:
 * table-%08x-%016x, with the table's id and the number of its last write. The catalog's name is the
 * commit: a file counts when a catalog names it. A file that no catalog names is removed.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_CATALOG_FILE_H
#define SHERWOOD_SERVER_LOG_CATALOG_FILE_H

#include "proto/catalog.h"
#include "proto/snapshot_file.h"
#include "server/log/directory.h"
#include "server/log/snapshot_load.h"
#include "server/tables/places.h"

/* The file that has the contents of a table. */
struct sw_saved_table {
    uint32_t id;
    uint64_t file;     /* number in the name of its file; 0: none */
    uint64_t through;  /* the file has its writes up to here */
    uint64_t changes;  /* the table's count of changes when it was saved */
    uint64_t from;     /* number of the first segment that can have a write behind `through` */
    uint64_t saved_at; /* wall clock in seconds: when this server wrote the file; 0: it did not */
};

/* Writes a catalog under the name of header->sequence, durably. Fills in the other fields of the
 * header, except segment, segments_from and incarnation. Returns 0; or -1 and an error in `reason`.
 * Then the old catalogs are unchanged, except if syncing the directory failed: the new name may
 * exist. */
int sw_catalog_write(const struct sw_directory *directory, struct sw_catalog_header *header,
                     const struct sw_catalog *catalog, char reason[SW_LOAD_REASON_BYTES]);

/* Reads the catalog snapshot-`number`, which the caller frees if it is whole. Writes an error to
 * `reason` if it is not. */
enum sw_load_outcome sw_catalog_read(const struct sw_directory *directory, uint64_t number,
                                     struct sw_catalog_header *header, struct sw_catalog *catalog,
                                     char reason[SW_LOAD_REASON_BYTES]);

/* Returns the number up to which no start needs writes of the log: each table of each intact
 * snapshot has its writes up to there. Returns 0 if there is no snapshot, or one cannot be read. */
uint64_t sw_snapshots_through(const struct sw_directory *directory, const uint64_t *damaged,
                              size_t damaged_count);

/* Removes the files of tables that neither a catalog of the directory nor `saved` names. Removes
 * nothing if a catalog cannot be read. Logs what it cannot do. */
void sw_table_files_remove(const struct sw_directory *directory, const struct sw_saved_table *saved,
                           size_t saved_count);

#endif
