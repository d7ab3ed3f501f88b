/* SPDX-License-Identifier: MIT
 *
 * saver_tables.c - saves the tables: a file for each table with unsaved writes, then a catalog.
 *
 * A server that never had a second table writes a snapshot and no catalog. Without a log each table
 * is saved at its own instant.
 */
#include <stdio.h>
#include <time.h>

#include "server/log/saver_parts.h"
#include "server/log/snapshot_take.h"
#include "table/configuration.h"
#include "table/image.h"
#include "table/info.h"
#include "table/table.h"

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

/* Returns whether a table has writes that its file lacks. */
static bool is_unsaved(struct sw_saver *saver, uint32_t id, struct sw_table *table)
{
    struct sw_saved_table row;
    struct sw_table_info info;
    sw_table_info(table, &info);
    (void)sw_saver_copy_row(saver, id, &row);
    return info.engine == SW_ENGINE_CACHE || sw_table_last_given(table) > row.through;
}

bool sw_saver_all_saved(struct sw_saver *saver)
{
    struct sw_served *served;
    bool all = true;
    if (saver->tables == NULL) {
        return !is_unsaved(saver, SW_TABLE_FIRST, saver->table);
    }
    for (uint32_t id = 0; (served = sw_tables_pin(saver->tables, id)) != NULL;) {
        id = served->id;
        all &= !is_unsaved(saver, id, served->table);
        (void)sw_tables_unpin(saver->tables, served);
    }
    return all;
}

/* --- one table -------------------------------------------------------------------------------- */

bool sw_saver_lacks_writes(const struct sw_snapshot_write *write)
{
    struct sw_saver *saver = write->context;
    return sw_saver_log_is_broken(saver) && !sw_saver_is_several(saver) &&
           sw_wal_handed(saver->owner.wal) > write->header.sequence;
}

/* Returns true if the file has become useless: it lacks writes, or its table has lost its position,
 * or was dropped. */
static bool is_outdated(const struct sw_snapshot_write *write)
{
    const struct sw_saver *saver = write->context;
    return sw_saver_lacks_writes(write) || sw_saver_has_lost_position(saver) ||
           (saver->saving != NULL && sw_tables_leaves(saver->saving));
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

/* Writes a snapshot of one table. `served`: the table; NULL: the server has one table, in tests. */
static int save_one(struct sw_saver *saver, const struct sw_served *served, bool borrow,
                    struct sw_saved_file *saved, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_table *table = served == NULL ? saver->table : served->table;
    const uint32_t id = served == NULL ? SW_TABLE_FIRST : served->id;
    const uint64_t changes = sw_saver_changes(table), last = sw_saver_last_number(saver);
    const bool restarts_log = !borrow && sw_saver_log_is_broken(saver);
    saver->saving = served;
    saved->write = (struct sw_snapshot_write){.directory = &saver->directory,
                                              .progress = on_saved_block,
                                              .is_outdated = borrow ? NULL : is_outdated,
                                              .goes_first = restarts_log,
                                              .context = saver};
    if (restarts_log && probe_disk(saver, reason) != 0) {
        return -1;
    }
    saved->write.header.incarnation = saver->incarnation;
    saved->write.header.table = id == SW_TABLE_FIRST ? 0 : id;
    sw_saver_note_beside(saver, &saved->write.header);
    if (sw_snapshot_take(&saved->write, table, served == NULL ? saver->config : served->config,
                         borrow, reason) != 0) {
        return -1;
    }
    const uint64_t hold_us = sw_image_held_ns(saved->write.image) / 1000U;
    int status = sw_snapshot_write_new(&saved->write, reason);
    sw_image_drop(saved->write.image);
    const uint64_t number = saved->write.header.sequence;
    const struct sw_saved_table row = {.id = id,
                                       .file = number,
                                       .through = number > last ? number : last,
                                       .changes = changes,
                                       .from = saved->write.header.segments_from,
                                       .saved_at = (uint64_t)time(NULL)};
    status = status == 0 ? sw_saver_name_file(saver, &saved->write, &row, reason) : status;
    status = status == 0 ? sw_directory_check(&saver->directory, reason, SW_SNAPSHOT_REASON_BYTES)
                         : status;
    if (status == 0) {
        saved->sequence = number;
        saved->segments_from = saved->write.header.segments_from;
        saved->entries += saved->write.header.entries;
        saved->bytes += saved->write.file_bytes;
        saved->files++;
        saved->hold_us = hold_us > saved->hold_us ? hold_us : saved->hold_us;
    }
    return status;
}

/* --- all tables ------------------------------------------------------------------------------- */

static bool is_wanted(const struct sw_saver *saver, uint32_t id)
{
    bool is = saver->only_count == 0;
    for (uint32_t i = 0; i < saver->only_count; i++) {
        is |= saver->only[i] == id;
    }
    return is;
}

/* Raises `through` of the tables that have no write which their file lacks. A table without a row
 * has no file. Returns whether these are all tables. The caller has stopped changes, and read
 * `sequence` and `from` before. */
static bool raise_through(struct sw_saver *saver, const struct sw_tables_view *view,
                          uint64_t sequence, uint64_t from)
{
    bool all = true;
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        const struct sw_served *served = view->served[i];
        const uint64_t last = sw_table_last_given(served->table);
        pthread_mutex_lock(&saver->mutex);
        struct sw_saved_table *row = sw_saver_row(saver, served->id);
        const bool has_all = last <= (row == NULL ? 0 : row->through);
        if (has_all && row != NULL && row->through < sequence) {
            row->through = sequence;
            row->from = from;
        }
        pthread_mutex_unlock(&saver->mutex);
        all &= has_all;
    }
    return all;
}

/* A catalog's name is evidence of all writes up to its number, so it waits for the log. A catalog
 * of tables that all have the last write needs no log, and mends a broken one. */
static int write_catalog(struct sw_saver *saver, struct sw_saved_file *saved,
                         char reason[SW_SNAPSHOT_REASON_BYTES])
{
    const struct sw_tables_view *view = sw_tables_hold(saver->tables);
    struct sw_wal *wal = saver->owner.wal;
    struct sw_snapshot_header beside = {0};
    int status = 0;
    pthread_mutex_lock(&saver->names);
    sw_saver_note_beside(saver, &beside);
    saved->sequence = sw_saver_last_number(saver);
    saved->is_catalog = true;
    if (!raise_through(saver, view, saved->sequence, beside.segments_from) && wal != NULL &&
        sw_wal_wait_durable(wal, saved->sequence, &saver->lost_position) != 0) {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES,
                 "the log is broken, and tables have writes that their files lack");
        status = -1;
    }
    if (status == 0) {
        status = sw_saver_store_catalog(saver, view, saved->sequence, &saved->segments_from, reason,
                                        SW_SNAPSHOT_REASON_BYTES);
    }
    pthread_mutex_unlock(&saver->names);
    sw_tables_release(saver->tables);
    return status;
}

/* Writes a file of each wanted table that is unsaved. */
static int save_each(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                     char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_served *served;
    for (uint32_t id = 0; (served = sw_tables_pin(saver->tables, id)) != NULL;) {
        id = served->id;
        int status = 0;
        if (is_wanted(saver, id) &&
            (!sw_saver_is_several(saver) || is_unsaved(saver, id, served->table))) {
            __atomic_store_n(&saver->saving_id, id, __ATOMIC_RELAXED);
            status = save_one(saver, served, borrow, saved, reason);
            __atomic_store_n(&saver->saving_id, 0, __ATOMIC_RELAXED);
        }
        const bool is_dropped = sw_tables_unpin(saver->tables, served);
        if (status != 0 && !is_dropped) {
            return -1;
        }
    }
    return 0;
}

static int save_all(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                    char reason[SW_SNAPSHOT_REASON_BYTES])
{
    int status = save_each(saver, borrow, saved, reason);
    if (status != 0 || !sw_saver_is_several(saver)) {
        return status;
    }
    if (sw_saver_log_is_broken(saver)) { /* writes that were in flight when it broke */
        status = save_each(saver, borrow, saved, reason);
    }
    return status == 0 ? write_catalog(saver, saved, reason) : status;
}

int sw_saver_save_tables(struct sw_saver *saver, bool borrow, struct sw_saved_file *saved,
                         char reason[SW_SNAPSHOT_REASON_BYTES])
{
    const uint64_t logged = saver->owner.wal == NULL ? 0 : sw_wal_appended(saver->owner.wal);
    saved->began_ms = sw_saver_now_ms();
    const int status = saver->tables == NULL ? save_one(saver, NULL, borrow, saved, reason)
                                             : save_all(saver, borrow, saved, reason);
    if (status != 0 && sw_saver_has_lost_position(saver)) {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES,
                 "this replica lacks a write of its primary; wait until it has all data again");
    }
    if (status == 0 && saver->only_count == 0) {
        saver->base_log = logged;
        pthread_mutex_lock(&saver->names);
        saver->has_replayed = false;
        pthread_mutex_unlock(&saver->names);
    }
    return status;
}
