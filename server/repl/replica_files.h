/* SPDX-License-Identifier: MIT
 *
 * replica_files.h - a replica's local files: its log and snapshots, with the writes that it has
 * applied, as its primary numbers them; and the history of these writes.
 *
 * Threads: the replica's. sw_replica_files_log_moved is the exception: any thread may call it.
 */
#ifndef SHERWOOD_SERVER_REPL_REPLICA_FILES_H
#define SHERWOOD_SERVER_REPL_REPLICA_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/log/saver.h"
#include "server/repl/state.h"

struct sw_replica_files {
    struct sw_saver *saver;         /* NULL: there is no data directory */
    struct sw_wal *wal;             /* NULL: snapshots only */
    bool (*is_over)(void *context); /* returns true to end every wait */
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool waits;        /* atomic: the thread waits for the log */
    uint64_t snapshot; /* number of the requested snapshot */
};

void sw_replica_files_init(struct sw_replica_files *files, struct sw_saver *saver,
                           struct sw_wal *wal, bool (*is_over)(void *context), void *context);
void sw_replica_files_fini(struct sw_replica_files *files);
/* Wakes a wait: the log has made progress, or works again. Threads: any. Does not block. */
void sw_replica_files_log_moved(struct sw_replica_files *files);

/* Waits until the data directory is loaded. This and the other waits return false if is_over() ends
 * them.
 */
bool sw_replica_files_wait_for_loading(struct sw_replica_files *files);
/* Stops new snapshots, because the table will be emptied. Waits for a running one. */
bool sw_replica_files_hold_snapshots(struct sw_replica_files *files);
/* Stops new snapshots and lets a running one fail, because the table lacks a write whose number it
 * has. Does not wait. */
void sw_replica_files_lose_position(struct sw_replica_files *files);
/* Archives the files of a table whose writes up to `sequence` another server may lack. Waits until
 * the files have all of these writes: with a log until they are durable, without a log by writing a
 * snapshot. Then links the files into a directory of their own, and stops new snapshots. Returns 0;
 * or -1, with an error in `reason` unless is_over() ended the wait. */
int sw_replica_files_archive(struct sw_replica_files *files, uint64_t sequence,
                             char name[SW_ARCHIVE_NAME_MAX], char reason[SW_REPL_REASON_BYTES]);
/* Replaces the files on disk by the table's state: history `history`, writes up to `sequence`.
 * Keeps the old files in the directory `archive` unless it is NULL. Calls `beat` twice a second,
 * and gives up if that does not return 0. Returns 0; or -1, with an error in `reason` if files were
 * the cause. */
int sw_replica_files_replace(struct sw_replica_files *files, const struct sw_repl_history *history,
                             uint64_t sequence, const char *archive, int (*beat)(void *context),
                             char reason[SW_REPL_REASON_BYTES]);
/* Writes `history` to the directory: later writes belong to it. The history includes every write of
 * the table. Returns 0; or -1 and an error in `reason`. */
int sw_replica_files_set_history(struct sw_replica_files *files,
                                 const struct sw_repl_history *history,
                                 char reason[SW_REPL_REASON_BYTES]);
/* Call this when the files are loaded, up to `sequence`. Gives the state the history that the files
 * name, or on a primary a new history that begins there. Returns 0; or -1 and an error in `reason`.
 */
int sw_replica_files_adopt_history(struct sw_replica_files *files, struct sw_repl_state *state,
                                   uint64_t sequence, char reason[SW_REPL_REASON_BYTES]);

/* Waits until the log has written all writes up to `sequence`, or is broken. */
bool sw_replica_files_wait_until_written(struct sw_replica_files *files, uint64_t sequence);
/* Waits until the log takes writes. */
bool sw_replica_files_wait_for_room(struct sw_replica_files *files);
/* Adds a write to the log. Copies its columns. */
bool sw_replica_files_add(struct sw_replica_files *files, const struct sw_wal_write *write);
/* Waits until the writes up to `sequence` are as safe as `appendfsync` requires. */
bool sw_replica_files_wait_until_safe(struct sw_replica_files *files, uint64_t sequence);

#endif
