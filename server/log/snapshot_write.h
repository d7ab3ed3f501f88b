/* SPDX-License-Identifier: MIT
 *
 * snapshot_write.h - writes an image of the table to the data directory as a snapshot.
 *
 * Threads: one at a time.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_WRITE_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/snapshot_file.h"
#include "server/log/directory.h"
#include "table/image.h"

#define SW_SNAPSHOT_KIND "snapshot"    /* of a name in the directory */
#define SW_SNAPSHOT_NEW "new-snapshot" /* the file while it is written */
#define SW_SNAPSHOT_REASON_BYTES 320

struct sw_snapshot_write {
    const struct sw_directory *directory;
    struct sw_image *image;
    struct sw_snapshot_header header; /* all but entries, which are counted */
    uint64_t file_bytes;              /* out */
    void (*progress)(void *context);  /* called after each block; or NULL */
    /* Called before each block. Returns true if the file is no longer needed; the write then fails.
     * May be NULL. */
    bool (*is_outdated)(const struct sw_snapshot_write *write);
    bool (*waits)(void *context); /* see sw_snapshot_take; NULL: waits without limit */
    bool goes_first;              /* takes precedence: see `first` of sw_snapshot_image */
    void *context;
};

/* Reads the next entries of an image into the columns of a block. Only the last block has fewer
 * *entries than block_entries. Returns the status of sw_image_read. */
int sw_snapshot_fill_block(const struct sw_snapshot_header *header, struct sw_image *image,
                           uint8_t *block, uint32_t *entries);

/* Writes the new file, syncs it, renames it and syncs the directory. Returns 0 only after that. If
 * it fails, returns -1 and an error in `reason`, and leaves the directory as it was. One exception:
 * if syncing the directory failed, the new name may exist. Never repeats a failed sync. */
int sw_snapshot_write(struct sw_snapshot_write *write, char reason[SW_SNAPSHOT_REASON_BYTES]);
/* The two parts of sw_snapshot_write: writes and syncs the new file; renames it to `name` and syncs
 * the directory. Both remove the new file if they fail. */
int sw_snapshot_write_new(struct sw_snapshot_write *write, char reason[SW_SNAPSHOT_REASON_BYTES]);
int sw_snapshot_name(const struct sw_directory *directory, const char *name,
                     char reason[SW_SNAPSHOT_REASON_BYTES]);

/* Tests whether a snapshot of `bytes` could be written: allocates them in a file, writes and syncs
 * a page, and removes the file. Returns 0; or -1 and an error in `reason`. */
int sw_snapshot_probe(const struct sw_directory *directory, uint64_t bytes,
                      char reason[SW_SNAPSHOT_REASON_BYTES]);

/* Removes the file of an interrupted write. */
void sw_snapshot_remove_unfinished(const struct sw_directory *directory);
/* Removes the oldest snapshots so that `keep` remain. Neither removes nor counts those with a
 * number in `damaged`. Logs a file that it cannot remove. */
void sw_snapshot_remove_old(const struct sw_directory *directory, uint32_t keep,
                            const uint64_t *damaged, size_t damaged_count);
/* Is the number among those of damaged snapshots? */
bool sw_snapshot_is_among(uint64_t number, const uint64_t *numbers, size_t count);

#endif
