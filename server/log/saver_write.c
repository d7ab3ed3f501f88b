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

#include "server/log/saver_parts.h"
#include "server/observe/log.h"

static int check_directory(const struct sw_saver *saver, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    return sw_directory_check(&saver->directory, reason, SW_SNAPSHOT_REASON_BYTES);
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
    pthread_mutex_lock(&saver->names);
    pthread_mutex_lock(&saver->history_file); /* the writers of these files use the directory */
    int status = wal == NULL
                     ? sw_directory_follow(&saver->directory, reason, SW_SNAPSHOT_REASON_BYTES)
                     : sw_wal_follow(wal, &saver->directory, reason, SW_SNAPSHOT_REASON_BYTES);
    pthread_mutex_unlock(&saver->history_file);
    if (status == 0) {
        saver->load.damaged_count = 0; /* damaged snapshots stay in the old directory */
        sw_saver_forget_tables(saver);
    }
    pthread_mutex_unlock(&saver->names);
    if (status == 0) {
        saver->lacks_files = true;
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
    return sw_saver_save_tables(saver, borrow, saved, reason);
}

int sw_saver_save_replayed(struct sw_saver *saver, char *reason, size_t reason_bytes)
{
    char why[SW_SNAPSHOT_REASON_BYTES] = "";
    struct sw_saved_file saved = {.began_ms = 0};
    struct sw_saved_table row;
    if (!saver->has_replayed) {
        return 0;
    }
    if (!saver->is_several && sw_saver_copy_row(saver, SW_TABLE_FIRST, &row)) {
        row.through = row.file; /* the rest is in the log alone */
        pthread_mutex_lock(&saver->mutex);
        (void)sw_saver_set_row(saver, &row); /* it exists: this cannot fail */
        pthread_mutex_unlock(&saver->mutex);
    }
    sw_saver_become_several(saver);
    const int status = sw_saver_write(saver, false, &saved, why);
    snprintf(reason, reason_bytes, "%.300s", why);
    return status;
}

int sw_saver_write(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                   char reason[SW_SNAPSHOT_REASON_BYTES])
{
    char gone[SW_SNAPSHOT_REASON_BYTES];
    int status = write_there(saver, borrow, saved, reason);
    if (status != 0 && saved->began_ms != 0 &&
        (check_directory(saver, gone) != 0 ||
         (!borrow && saved->write.image != NULL && sw_saver_lacks_writes(&saved->write)))) {
        /* the cause arose during the first attempt */
        status = write_there(saver, borrow, saved, reason);
    }
    if (status != 0) {
        return -1;
    }
    const struct sw_load *load = &saver->load;
    sw_saver_remove_old(saver);
    if (saver->owner.wal != NULL) {
        sw_wal_forget(saver->owner.wal,
                      sw_snapshots_through(&saver->directory, load->damaged, load->damaged_count),
                      saved->segments_from);
    }
    return 0;
}
