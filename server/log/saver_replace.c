/* SPDX-License-Identifier: MIT
 *
 * saver_replace.c - replaces the files of a data directory by those of another history.
 *
 * The order of the steps makes sure that a start after a crash finds one history or the other, and
 * knows which:
 *
 *  1. No snapshot begins while the table is emptied and filled (sw_saver_hold). The files are those
 * of the old history, and complete. If they may be needed, links to them are kept.
 *  2. `history` marks the other files as replaced, durably. Then they are removed, and the log
 * forgets its segments.
 *  3. A snapshot of the table becomes durable, and the log restarts after it.
 *  4. `history` names the new history, durably. Later writes are applied after this step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/log/archived_files.h"
#include "server/log/saver_parts.h"
#include "server/observe/log.h"
#include "table/table.h"

#define ARCHIVE_NAMES_MAX 1000

bool sw_saver_hold(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->mutex);
    saver->held = true;
    bool rests = !saver->facts.saving;
    pthread_cond_broadcast(&saver->changed); /* a save that did not begin is refused */
    pthread_mutex_unlock(&saver->mutex);
    return rests;
}

void sw_saver_lose_position(struct sw_saver *saver)
{
    __atomic_store_n(&saver->lost_position, true, __ATOMIC_RELEASE);
    (void)sw_saver_hold(saver);
}

void sw_saver_release(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->mutex);
    saver->held = false;
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->mutex);
}

static void keep_archive(struct sw_saver *saver, const char *archive)
{
    char reason[SW_HISTORY_REASON_BYTES] = "";
    if (sw_archive_files(&saver->directory, archive, saver->config->ha_discarded_max, reason) ==
        0) {
        sw_log(SW_LOG_WARNING,
               "the replaced files are now in %s/%s, which a server can use as a data directory",
               saver->directory.path, archive);
    } else {
        sw_log(SW_LOG_ERROR, "cannot keep the replaced files: %s", reason);
    }
}

static int forget_files(struct sw_saver *saver, const struct sw_history *history, uint64_t sequence,
                        char reason[SW_HISTORY_REASON_BYTES])
{
    struct sw_wal *wal = saver->owner.wal;
    if (sw_history_write(&saver->directory, history, reason) != 0) {
        return -1;
    }
    if (wal == NULL) {
        return sw_history_remove_files(&saver->directory, reason);
    }
    int status = sw_wal_replace(wal, sequence);
    if (status != 0) {
        snprintf(reason, SW_HISTORY_REASON_BYTES, "the log has ended");
    } else {
        status = sw_history_remove_files(&saver->directory, reason);
    }
    sw_wal_let_keep(wal);
    return status;
}

/* Notes that no file has any of the tables of the other history, which end with the write
 * `sequence`. They may be one table, or several. If one table lacks this write, it is a change that
 * left the table as it was, such as a SWAP with itself: a catalog has its number. */
static int note_tables(struct sw_saver *saver, uint64_t sequence,
                       char reason[SW_HISTORY_REASON_BYTES])
{
    struct sw_wal *wal = saver->owner.wal;
    const struct sw_tables_view *view = sw_tables_hold(saver->tables);
    const bool is_several =
        sw_places_are_several(&view->catalog) || sw_table_last_sequence(saver->table) < sequence;
    int status = 0;
    pthread_mutex_lock(&saver->names);
    saver->is_several = is_several;
    saver->has_replayed = false;
    sw_saver_forget_tables(saver);
    pthread_mutex_unlock(&saver->names);
    __atomic_store_n(&saver->last_change, 0, __ATOMIC_RELEASE);
    if (wal != NULL) {
        status = is_several ? sw_saver_give_catalog(saver, view)
                            : sw_wal_set_catalog(wal, 0, (const uint8_t *)"", 0);
    }
    sw_tables_release(saver->tables);
    if (status != 0) {
        snprintf(reason, SW_HISTORY_REASON_BYTES, "not enough memory for the tables");
    }
    return status;
}

int sw_saver_replace(struct sw_saver *saver, const struct sw_history *history, uint64_t sequence,
                     const char *archive, char reason[SW_HISTORY_REASON_BYTES])
{
    struct sw_history replaced = *history;
    replaced.kind = SW_HISTORY_REPLACED;
    if (archive != NULL) {
        keep_archive(saver, archive);
    }
    pthread_mutex_lock(&saver->history_file);
    int status = forget_files(saver, &replaced, sequence, reason);
    status = status == 0 && saver->tables != NULL ? note_tables(saver, sequence, reason) : status;
    if (status == 0) {
        pthread_mutex_lock(&saver->mutex);
        saver->history = replaced;
        saver->restart_ms = saver->tried_ms = 0;
        saver->load.damaged_count = 0; /* their files were removed */
        pthread_mutex_unlock(&saver->mutex);
    }
    pthread_mutex_unlock(&saver->history_file);
    if (status == 0) {
        __atomic_store_n(&saver->lost_position, false, __ATOMIC_RELEASE);
        sw_saver_release(saver);
    }
    return status;
}

bool sw_saver_is_replacing(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->mutex);
    bool replacing = saver->history.kind == SW_HISTORY_REPLACED;
    pthread_mutex_unlock(&saver->mutex);
    return replacing;
}

/* Writes the file, then sets saver->history. The caller holds `history_file` but not the mutex:
 * loops lock the mutex, and the disk may be slow. */
static int write_history(struct sw_saver *saver, const struct sw_history *history,
                         char reason[SW_HISTORY_REASON_BYTES])
{
    int status = sw_directory_check(&saver->directory, reason, SW_HISTORY_REASON_BYTES);
    status = status == 0 ? sw_history_write(&saver->directory, history, reason) : status;
    if (status == 0) {
        pthread_mutex_lock(&saver->mutex);
        saver->history = *history;
        pthread_mutex_unlock(&saver->mutex);
    }
    return status;
}

int sw_saver_set_history(struct sw_saver *saver, const struct sw_history *history,
                         char reason[SW_HISTORY_REASON_BYTES])
{
    struct sw_history next = *history;
    pthread_mutex_lock(&saver->history_file);
    next.kind = sw_saver_is_replacing(saver) ? SW_HISTORY_REPLACED : SW_HISTORY_WHOLE;
    const int status = write_history(saver, &next, reason);
    pthread_mutex_unlock(&saver->history_file);
    return status;
}

void sw_saver_history(struct sw_saver *saver, struct sw_history *history)
{
    pthread_mutex_lock(&saver->mutex);
    *history = saver->history;
    pthread_mutex_unlock(&saver->mutex);
}

int sw_saver_finish_replacing(struct sw_saver *saver, char reason[SW_HISTORY_REASON_BYTES])
{
    int status = 0;
    struct sw_history whole;
    pthread_mutex_lock(&saver->history_file);
    sw_saver_history(saver, &whole);
    if (whole.kind == SW_HISTORY_REPLACED) {
        whole.kind = SW_HISTORY_WHOLE;
        status = write_history(saver, &whole, reason);
    }
    pthread_mutex_unlock(&saver->history_file);
    return status;
}

const struct sw_role *sw_saver_role(const struct sw_saver *saver)
{
    return &saver->role;
}

int sw_saver_set_role(struct sw_saver *saver, const struct sw_role *role,
                      char reason[SW_ROLE_REASON_BYTES])
{
    pthread_mutex_lock(&saver->history_file);
    int status = sw_directory_check(&saver->directory, reason, SW_ROLE_REASON_BYTES);
    status = status == 0 ? sw_role_write(&saver->directory, role, reason) : status;
    saver->role = status == 0 ? *role : saver->role;
    pthread_mutex_unlock(&saver->history_file);
    return status;
}

/* Tries names until one is free. A directory that has some of the same files was left by a crash,
 * and is completed. A directory with a different file of the same name has other writes with these
 * numbers, so the next name is tried. */
int sw_saver_archive(struct sw_saver *saver, uint64_t sequence, char name[SW_ARCHIVE_NAME_MAX],
                     char reason[SW_HISTORY_REASON_BYTES])
{
    struct sw_history history;
    uint64_t number = 0;
    sw_saver_history(saver, &history);
    memcpy(&number, saver->directory.log_id, sizeof(number));
    if (history.kind == SW_HISTORY_NONE) {
        snprintf(history.id, sizeof(history.id), "%016" PRIx64, number);
    }
    int status = 1;
    for (unsigned next = 1; status == 1 && next <= ARCHIVE_NAMES_MAX; next++) {
        int size = snprintf(name, SW_ARCHIVE_NAME_MAX, SW_ARCHIVE_KIND "-%.16s-%" PRIu64,
                            history.id, sequence);
        if (next > 1) {
            snprintf(name + size, SW_ARCHIVE_NAME_MAX - (size_t)size, "-%u", next);
        }
        status = sw_archive_files(&saver->directory, name, saver->config->ha_discarded_max, reason);
    }
    return status == 0 ? 0 : -1;
}
