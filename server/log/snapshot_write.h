/* SPDX-License-Identifier: MIT
 *
 * snapshot_write.h - an image of the table becomes a snapshot in the data directory.
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
    /* Called before each block: whether the file is of no use any more, and is given up; or NULL.
     */
    bool (*is_outdated)(const struct sw_snapshot_write *write);
    bool (*waits)(void *context); /* asked while somebody else has the image; NULL: it waits */
    bool goes_first;              /* who has the image gives it up: sw_snapshot_image */
    void *context;
};

/* Reads the next entries of an image to where the columns of a block lie. *entries is fewer than a
 * full block has at the end only. Returns what sw_image_read does. */
int sw_snapshot_fill_block(const struct sw_snapshot_header *header, struct sw_image *image,
                           uint8_t *block, uint32_t *entries);

/* Writes the file beside those that are there, syncs it, gives it its name and syncs the directory;
 * only then it returns 0. Otherwise -1, with a sentence in `reason`, and the directory as it was;
 * but that the new name may be there where syncing the directory failed. A failed sync is not
 * repeated. */
int sw_snapshot_write(struct sw_snapshot_write *write, char reason[SW_SNAPSHOT_REASON_BYTES]);

/* Whether a snapshot of `bytes` could be written, as far as the disk tells beforehand: allocates
 * them, writes and syncs a page, and removes the file. Returns 0, or -1 with a sentence. */
int sw_snapshot_probe(const struct sw_directory *directory, uint64_t bytes,
                      char reason[SW_SNAPSHOT_REASON_BYTES]);

/* Removes what a write that was interrupted has left. */
void sw_snapshot_remove_unfinished(const struct sw_directory *directory);
/* Removes the oldest snapshots so that `keep` remain, without those numbered as in `damaged`, which
 * are left and not counted. What cannot be removed is logged and stays. */
void sw_snapshot_remove_old(const struct sw_directory *directory, uint32_t keep,
                            const uint64_t *damaged, size_t damaged_count);

/* The sequence of the oldest snapshot that is not damaged: no start needs writes before it. 0:
 * there is none, or the directory cannot be read. */
uint64_t sw_snapshot_oldest(const struct sw_directory *directory, const uint64_t *damaged,
                            size_t damaged_count);

#endif
