/* SPDX-License-Identifier: MIT
 *
 * snapshot_restore.h - several threads read and check the blocks of a snapshot, and add them to an
 * empty table.
 *
 * Threads: one caller at a time, which is one of the readers.
 */
#ifndef SHERWOOD_SERVER_LOG_SNAPSHOT_RESTORE_H
#define SHERWOOD_SERVER_LOG_SNAPSHOT_RESTORE_H

#include "proto/snapshot_file.h"
#include "server/log/io.h"
#include "table/restore.h"

struct sw_snapshot_restore {
    const struct sw_io *io;
    int fd;
    const struct sw_snapshot_header *header;
    struct sw_restore *restore;
    uint32_t key_bytes, value_bytes; /* of the table: at least those of the header */
    uint64_t *checks;                /* out, of each block */
    /* atomic: bytes of the file read so far, as a progress figure */
    uint64_t *done_bytes;
    const bool *stop;                /* atomic: true ends the restore early */
    void (*progress)(void *context); /* called by the caller's thread after a block; or NULL */
    void *context;

    /* Results, of the first block in the file that failed: */
    uint64_t failed_at;
    int error;         /* errno; ENODATA: the file is too short; 0: the block was read */
    const char *wrong; /* error text if the block is damaged, else NULL */
};

/* Adds all entries. Returns false if a block failed, or if `stop` ended it: then neither `error`
 * nor `wrong` is set. Some entries may have been added. */
bool sw_snapshot_restore(struct sw_snapshot_restore *job);

#endif
