/* SPDX-License-Identifier: MIT
 *
 * saver_files.c - what the files of a data directory have of each table, their names, and catalogs.
 *
 * A server that never had a second table writes a snapshot and no catalog. The first change of the
 * tables makes it one of several, for good: its first table keeps its snapshot under a second name,
 * and catalogs name the files from then on. Without a log each table is saved at its own instant.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/live.h"
#include "server/log/catalog_view.h"
#include "server/log/saver_parts.h"
#include "table/info.h"

uint64_t sw_saver_changes(const struct sw_table *table)
{
    struct sw_table_stats stats;
    sw_table_stats(table, &stats);
    return stats.changes;
}

void sw_saver_note_beside(struct sw_saver *saver, struct sw_snapshot_header *header)
{
    struct sw_wal_beside beside = {.from = saver->directory.segments_from};
    if (saver->owner.wal != NULL) {
        sw_wal_beside(saver->owner.wal, &beside);
    }
    header->segment = beside.segment;
    header->segments_from = beside.from;
}

/* --- what the files have ---------------------------------------------------------------------- */

struct sw_saved_table *sw_saver_row(const struct sw_saver *saver, uint32_t id)
{
    for (size_t i = 0; i < saver->saved_count; i++) {
        if (saver->saved[i].id == id) {
            return &saver->saved[i];
        }
    }
    return NULL;
}

int sw_saver_set_row(struct sw_saver *saver, const struct sw_saved_table *row)
{
    struct sw_saved_table *is = sw_saver_row(saver, row->id);
    if (is == NULL && saver->saved_count == saver->saved_room) {
        const size_t room = saver->saved_room * 2 + 16;
        struct sw_saved_table *saved = realloc(saver->saved, room * sizeof(*saved));
        if (saved == NULL) {
            return -1;
        }
        saver->saved = saved;
        saver->saved_room = room;
    }
    is = is == NULL ? &saver->saved[saver->saved_count++] : is;
    *is = *row;
    return 0;
}

void sw_saver_forget_tables(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->mutex);
    saver->saved_count = 0;
    pthread_mutex_unlock(&saver->mutex);
}

bool sw_saver_copy_row(struct sw_saver *saver, uint32_t id, struct sw_saved_table *out)
{
    pthread_mutex_lock(&saver->mutex);
    const struct sw_saved_table *row = sw_saver_row(saver, id);
    *out = row != NULL ? *row : (struct sw_saved_table){.id = id};
    pthread_mutex_unlock(&saver->mutex);
    return row != NULL;
}

struct unsaved {
    const struct sw_saver *saver;
    uint64_t changes;
};

static void add_unsaved(void *context, const struct sw_place *place, const struct sw_served *served)
{
    struct unsaved *unsaved = context;
    if (place != NULL) {
        const struct sw_saved_table *row = sw_saver_row(unsaved->saver, served->id);
        unsaved->changes += sw_saver_changes(served->table) - (row == NULL ? 0 : row->changes);
    }
}

uint64_t sw_saver_unsaved_changes(const struct sw_saver *saver)
{
    struct unsaved unsaved = {saver, 0};
    if (saver->tables == NULL) {
        const struct sw_saved_table *row = sw_saver_row(saver, SW_TABLE_FIRST);
        return sw_saver_changes(saver->table) - (row == NULL ? 0 : row->changes);
    }
    sw_tables_each(saver->tables, add_unsaved, &unsaved);
    return unsaved.changes;
}

/* --- names ------------------------------------------------------------------------------------ */

bool sw_saver_is_several(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->names);
    const bool is = saver->is_several;
    pthread_mutex_unlock(&saver->names);
    return is;
}

/* Removes the file that has no name yet. Returns -1. */
static int drop_file(const struct sw_directory *directory)
{
    (void)directory->io->unlink(directory->fd, SW_SNAPSHOT_NEW);
    return -1;
}

int sw_saver_name_file(struct sw_saver *saver, struct sw_snapshot_write *write,
                       const struct sw_saved_table *row, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    pthread_mutex_lock(&saver->names);
    if (saver->is_several) {
        sw_table_file_name(row->id, row->file, name);
    } else {
        sw_directory_name(SW_SNAPSHOT_KIND, row->file, name);
    }
    int status = sw_saver_has_lost_position(saver)
                     ? drop_file(write->directory)
                     : sw_snapshot_name(write->directory, name, reason);
    if (status == 0) {
        pthread_mutex_lock(&saver->mutex);
        status = sw_saver_set_row(saver, row);
        pthread_mutex_unlock(&saver->mutex);
        if (status != 0) {
            snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "no memory to note what is saved");
        }
    }
    pthread_mutex_unlock(&saver->names);
    return status;
}

/* --- catalogs --------------------------------------------------------------------------------- */

/* Gives the catalog the files of its tables. A table without a row gets one: it began empty, and
 * the next save writes it if it has writes. */
static int fill_files(struct sw_saver *saver, struct sw_catalog *catalog, uint64_t *from)
{
    int status = 0;
    pthread_mutex_lock(&saver->mutex);
    for (size_t i = 0; i < catalog->table_count; i++) {
        struct sw_catalog_table *table = &catalog->tables[i];
        const struct sw_saved_table *row = sw_saver_row(saver, table->id);
        const struct sw_saved_table new_row = {.id = table->id, .from = *from};
        if (row == NULL) {
            status |= sw_saver_set_row(saver, &new_row);
            continue;
        }
        table->file = row->file;
        /* without a log, a start replays nothing up to the catalog's number */
        table->through = saver->owner.wal == NULL ? table->through : row->through;
        *from = row->from < *from ? row->from : *from;
    }
    pthread_mutex_unlock(&saver->mutex);
    return status;
}

/* Forgets the tables that the catalog lacks. Call it when the catalog is durable: a DROP that fails
 * before leaves its table, whose file later catalogs name. */
static void forget_dropped(struct sw_saver *saver, const struct sw_catalog *catalog)
{
    pthread_mutex_lock(&saver->mutex);
    for (size_t i = 0; i < saver->saved_count;) {
        if (sw_catalog_table_of(catalog, saver->saved[i].id) == NULL) {
            saver->saved[i] = saver->saved[--saver->saved_count];
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&saver->mutex);
}

int sw_saver_store_catalog(struct sw_saver *saver, const struct sw_tables_view *view,
                           uint64_t sequence, uint64_t *from, char *reason, size_t reason_bytes)
{
    char why[SW_LOAD_REASON_BYTES] = "no memory for the catalog";
    struct sw_snapshot_header beside = {0};
    struct sw_catalog catalog;
    int status = sw_catalog_make(&catalog, view, sequence);
    sw_saver_note_beside(saver, &beside);
    if (status == 0 && fill_files(saver, &catalog, &beside.segments_from) == 0) {
        struct sw_catalog_header header = {.sequence = sequence,
                                           .incarnation = saver->incarnation,
                                           .segment = beside.segment,
                                           .segments_from = beside.segments_from};
        status = sw_catalog_write(&saver->directory, &header, &catalog, why);
        if (status == 0) {
            forget_dropped(saver, &catalog);
        }
    } else {
        status = -1;
    }
    sw_catalog_unmake(&catalog);
    *from = beside.segments_from;
    if (status != 0) {
        snprintf(reason, reason_bytes, "%.300s", why);
    }
    return status;
}

void sw_saver_remove_named(struct sw_saver *saver)
{
    const struct sw_load *load = &saver->load;
    sw_snapshot_remove_old(&saver->directory, SW_LIVE(saver->config->snapshots_keep), load->damaged,
                           load->damaged_count);
    if (saver->is_several) {
        sw_table_files_remove(&saver->directory, saver->saved, saver->saved_count);
    }
}

void sw_saver_remove_old(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->names);
    sw_saver_remove_named(saver);
    pthread_mutex_unlock(&saver->names);
}

int sw_saver_link_first(struct sw_saver *saver)
{
    const struct sw_directory *directory = &saver->directory;
    char from[SW_DIRECTORY_NAME_MAX], to[SW_DIRECTORY_NAME_MAX];
    struct sw_saved_table row;
    if (!sw_saver_copy_row(saver, SW_TABLE_FIRST, &row) || row.file == 0) {
        return 0;
    }
    sw_directory_name(SW_SNAPSHOT_KIND, row.file, from);
    sw_table_file_name(SW_TABLE_FIRST, row.file, to);
    if (directory->io->unlink(directory->fd, to) != 0 && errno != ENOENT) {
        return -1;
    }
    return directory->io->link(directory->fd, from, to) == 0 ? directory->io->fsync(directory->fd)
                                                             : -1;
}
