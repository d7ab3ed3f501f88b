/* SPDX-License-Identifier: MIT
 *
 * saver_write.c - writes a snapshot to where the next start will look for it.
 *
 * If a data directory is moved, its open descriptor moves with it: calls on its files succeed, but
 * a start at the path does not find them. So a snapshot counts only if the path names the open
 * directory before and after the write. If the path names another, empty directory, the saver
 * writes there from now on.
 */
#include <stdio.h>

#include "server/config/live.h"
#include "server/log/saver_parts.h"
#include "server/log/snapshot_take.h"
#include "server/observe/log.h"
#include "table/image.h"
#include "table/info.h"

/* Least time between two calls of owner.moves. */
#define MOVES_MS 5000

void sw_saver_notify_owner(struct sw_saver *saver)
{
    uint64_t now = sw_saver_now_ms();
    if (now - saver->moved_ms >= MOVES_MS) {
        saver->moved_ms = now;
        saver->owner.moves(saver->owner.server);
    }
}

static void on_saved_block(void *context)
{
    sw_saver_notify_owner(context);
}

bool sw_saver_log_is_broken(const struct sw_saver *saver)
{
    return saver->owner.wal != NULL && sw_wal_state(saver->owner.wal) == SW_WAL_BROKEN;
}

static int check_directory(const struct sw_saver *saver, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    return sw_directory_check(&saver->directory, reason, SW_SNAPSHOT_REASON_BYTES);
}

/* Returns true if the log broke and has a write that this image lacks: the snapshot cannot restart
 * the log. */
static bool lacks_writes(const struct sw_snapshot_write *write)
{
    const struct sw_saver *saver = write->context;
    return sw_saver_log_is_broken(saver) &&
           sw_wal_handed(saver->owner.wal) > write->header.sequence;
}

/* Checks that the disk has room for the snapshot that restarts the log. Its image makes all other
 * readers of the table begin again, which must not happen for nothing. */
static int probe_disk(struct sw_saver *saver, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_table_stats stats;
    struct sw_table_info info;
    sw_table_stats(saver->table, &stats);
    sw_table_info(saver->table, &info);
    const uint64_t bytes = stats.occupied * (info.key_bytes + info.value_bytes);
    return sw_snapshot_probe(&saver->directory, bytes + SW_SNAPSHOT_HEADER_BYTES, reason);
}

static int try_snapshot(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                        char reason[SW_SNAPSHOT_REASON_BYTES])
{
    saved->began_ms = sw_saver_now_ms();
    uint64_t changes = sw_saver_changes(saver->table);
    uint64_t logged = saver->owner.wal == NULL ? 0 : sw_wal_appended(saver->owner.wal);
    const bool restarts_log = !borrow && sw_saver_log_is_broken(saver);
    saved->write = (struct sw_snapshot_write){.directory = &saver->directory,
                                              .progress = on_saved_block,
                                              .is_outdated = borrow ? NULL : lacks_writes,
                                              .goes_first = restarts_log,
                                              .context = saver};
    if (restarts_log && probe_disk(saver, reason) != 0) {
        return -1;
    }
    saved->write.header.incarnation = saver->incarnation;
    sw_saver_note_beside(saver, &saved->write.header);
    if (sw_snapshot_take(&saved->write, saver->table, saver->config, borrow, reason) != 0) {
        return -1;
    }
    saved->hold_us = sw_image_held_ns(saved->write.image) / 1000U;
    int status = sw_snapshot_write(&saved->write, reason);
    sw_image_drop(saved->write.image);
    status = status == 0 ? check_directory(saver, reason) : status;
    if (status == 0) {
        __atomic_store_n(&saver->base_changes, changes, __ATOMIC_RELAXED);
        saver->base_sequence = saved->write.header.sequence;
        saver->base_log = logged;
    }
    return status;
}

/* Continues in the directory that the path names now. A log stays in the old directory until it is
 * broken or has ended. Returns 0. Returns -1 and leaves `reason`, or replaces it by a more exact
 * error. */
static int follow(struct sw_saver *saver, bool at_end, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_wal *wal = saver->owner.wal;
    if (wal != NULL && !at_end && !sw_saver_log_is_broken(saver)) {
        return -1;
    }
    pthread_mutex_lock(&saver->history_file); /* the writers of these files use the directory */
    int status = wal == NULL
                     ? sw_directory_follow(&saver->directory, reason, SW_SNAPSHOT_REASON_BYTES)
                     : sw_wal_follow(wal, &saver->directory, reason, SW_SNAPSHOT_REASON_BYTES);
    pthread_mutex_unlock(&saver->history_file);
    if (status == 0) {
        saver->lacks_files = true;
        saver->load.damaged_count = 0; /* damaged snapshots stay in the old directory */
        sw_log(SW_LOG_NOTICE, "%s is another directory now: the server writes snapshots there",
               saver->directory.path);
    }
    return status;
}

/* Writes `history` and `role` together, under the lock of both. */
static int write_history_and_role(struct sw_saver *saver, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_history history;
    pthread_mutex_lock(&saver->history_file);
    sw_saver_history(saver, &history);
    int status =
        history.kind == SW_HISTORY_NONE ? 0 : sw_history_write(&saver->directory, &history, reason);
    if (status == 0 && saver->role.is_set) {
        status = sw_role_write(&saver->directory, &saver->role, reason);
    }
    pthread_mutex_unlock(&saver->history_file);
    return status;
}

/* Writes `history`, `role`, and the files of other parts to a new directory. They come before the
 * snapshot, so that a start cannot take it for the snapshot of another history. */
static int bring_files(struct sw_saver *saver, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    if (saver->lacks_files &&
        (write_history_and_role(saver, reason) != 0 ||
         saver->owner.moved(saver->owner.server, reason, SW_SNAPSHOT_REASON_BYTES) != 0)) {
        return -1;
    }
    saver->lacks_files = false;
    return 0;
}

static int write_there(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                       char reason[SW_SNAPSHOT_REASON_BYTES])
{
    if (check_directory(saver, reason) != 0 && follow(saver, borrow, reason) != 0) {
        return -1;
    }
    if (bring_files(saver, reason) != 0) {
        return -1;
    }
    return try_snapshot(saver, borrow, saved, reason);
}

int sw_saver_write(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                   char reason[SW_SNAPSHOT_REASON_BYTES])
{
    char gone[SW_SNAPSHOT_REASON_BYTES];
    int status = write_there(saver, borrow, saved, reason);
    if (status != 0 && saved->began_ms != 0 &&
        (check_directory(saver, gone) != 0 ||
         (!borrow && saved->write.image != NULL && lacks_writes(&saved->write)))) {
        /* the cause arose during the first attempt */
        status = write_there(saver, borrow, saved, reason);
    }
    if (status != 0) {
        return -1;
    }
    const struct sw_load *load = &saver->load;
    sw_snapshot_remove_old(&saver->directory, SW_LIVE(saver->config->snapshots_keep), load->damaged,
                           load->damaged_count);
    if (saver->owner.wal != NULL) {
        sw_wal_forget(saver->owner.wal,
                      sw_snapshot_oldest(&saver->directory, load->damaged, load->damaged_count),
                      saved->write.header.segments_from);
    }
    return 0;
}
