/* SPDX-License-Identifier: MIT
 *
 * saver_load.c - loads the tables that a catalog names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log/catalog_view.h"
#include "server/log/saver_parts.h"
#include "server/log/snapshot_write.h"
#include "server/tables/ledger.h"
#include "table/table.h"

/* Lets the load continue with a table. */
static void aim_at(struct sw_load *load, struct sw_table *table, struct sw_account *account,
                   const struct sw_config *config)
{
    load->table = table;
    load->account = account;
    load->value_format = (uint32_t)sw_config_value_format(config);
    load->value_type = sw_config_value_type(config);
}

/* Loads the file of one table, which is empty. */
static enum sw_load_outcome load_table(struct sw_load *load, const struct sw_catalog_table *row,
                                       const struct sw_catalog_header *catalog,
                                       char reason[SW_LOAD_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    sw_table_file_name(row->id, row->file, name);
    const enum sw_load_outcome outcome = sw_snapshot_load_file(load, name, row->file, reason);
    const uint32_t wanted = row->id == SW_TABLE_FIRST ? 0 : row->id;
    if (outcome == SW_LOAD_WHOLE &&
        (load->header.table != wanted ||
         memcmp(load->header.log_id, catalog->log_id, sizeof(catalog->log_id)) != 0)) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "%s/%s is the snapshot of another table",
                 load->directory->path, name);
        return SW_LOAD_DAMAGED;
    }
    return outcome;
}

/* Loads all tables. Adds their entries and bytes to *entries and *bytes. */
static enum sw_load_outcome load_tables(struct sw_saver *saver, const struct sw_catalog *catalog,
                                        const struct sw_catalog_header *header, uint64_t *entries,
                                        uint64_t *bytes, char reason[SW_LOAD_REASON_BYTES])
{
    struct sw_load *load = &saver->load;
    struct sw_account *first = load->account;
    enum sw_load_outcome outcome = SW_LOAD_WHOLE;
    for (size_t i = 0; i < catalog->table_count && outcome == SW_LOAD_WHOLE; i++) {
        const struct sw_catalog_table *row = &catalog->tables[i];
        struct sw_served *served = sw_tables_pin(saver->tables, row->id - 1);
        aim_at(load, served->table, served->account, served->config);
        if (row->file != 0) {
            outcome = load_table(load, row, header, reason);
            *entries += load->header.entries;
            *bytes += load->file_bytes;
        }
        sw_table_set_sequence(served->table, load->highest);
        load->base = row->through < load->base ? row->through : load->base;
        const struct sw_saved_table saved = {.id = row->id,
                                             .file = row->file,
                                             .through = row->through,
                                             .from = header->segments_from};
        pthread_mutex_lock(&saver->mutex);
        if (sw_saver_set_row(saver, &saved) != 0) {
            snprintf(reason, SW_LOAD_REASON_BYTES, "not enough memory for the tables");
            outcome = SW_LOAD_REFUSED;
        }
        pthread_mutex_unlock(&saver->mutex);
        (void)sw_tables_unpin(saver->tables, served);
    }
    aim_at(load, saver->table, first, saver->config);
    return outcome;
}

static enum sw_load_outcome restore(struct sw_saver *saver, const struct sw_catalog *catalog,
                                    const struct sw_catalog_header *header,
                                    char reason[SW_LOAD_REASON_BYTES])
{
    char why[SW_LOAD_REASON_BYTES];
    uint64_t entries = 0, bytes = 0;
    saver->load.base = header->sequence;
    if (sw_catalog_restore(catalog, saver->tables, saver->config, why) != 0) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "%s has several tables: %.360s",
                 saver->directory.path, why);
        return SW_LOAD_REFUSED;
    }
    const enum sw_load_outcome outcome =
        load_tables(saver, catalog, header, &entries, &bytes, reason);
    const struct sw_catalog_table *first = sw_catalog_table_of(catalog, catalog->places[0].table);
    saver->load.header = (struct sw_snapshot_header){.sequence = header->sequence,
                                                     .entries = entries,
                                                     .key_form = first->key_form,
                                                     .segment = header->segment,
                                                     .segments_from = header->segments_from};
    memcpy(saver->load.header.log_id, header->log_id, sizeof(header->log_id));
    __atomic_store_n(&saver->load.file_bytes, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&saver->load.done_bytes, bytes, __ATOMIC_RELAXED);
    return outcome;
}

enum sw_load_outcome sw_saver_load_catalog(struct sw_load *load, uint64_t number,
                                           char reason[SW_LOAD_REASON_BYTES])
{
    struct sw_saver *saver = load->context;
    struct sw_catalog_header header;
    struct sw_catalog catalog;
    enum sw_load_outcome outcome =
        sw_catalog_read(load->directory, number, &header, &catalog, reason);
    if (outcome != SW_LOAD_WHOLE) {
        return outcome;
    }
    sw_saver_forget_tables(saver);
    if (saver->tables == NULL) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "%s has several tables, and this server has one",
                 load->directory->path);
        outcome = SW_LOAD_REFUSED;
    } else {
        outcome = restore(saver, &catalog, &header, reason);
    }
    if (outcome == SW_LOAD_REFUSED && saver->tables != NULL &&
        !__atomic_load_n(load->stop, __ATOMIC_RELAXED)) { /* perhaps for lack of memory */
        sw_tables_begin_small(saver->tables, true);
        (void)sw_account_pass(load->account);
        outcome = sw_saver_reset(load) == 0 ? restore(saver, &catalog, &header, reason) : outcome;
        sw_tables_begin_small(saver->tables, false);
    }
    saver->is_several = outcome == SW_LOAD_WHOLE;
    sw_catalog_free(&catalog);
    return outcome;
}

int sw_saver_reset(struct sw_load *load)
{
    struct sw_saver *saver = load->context;
    char error[SW_TABLES_ERROR_BYTES];
    sw_saver_forget_tables(saver);
    return sw_tables_restore(saver->tables, NULL, NULL, error, sizeof(error));
}

/* --- replay ----------------------------------------------------------------------------------- */

int sw_saver_note_found(struct sw_saver *saver, char reason[SW_LOAD_REASON_BYTES])
{
    const struct sw_load *load = &saver->load;
    const uint64_t number = load->found ? load->header.sequence : 0;
    const struct sw_saved_table first = {.id = SW_TABLE_FIRST,
                                         .file = number,
                                         .through = number,
                                         .from = load->header.segments_from};
    pthread_mutex_lock(&saver->mutex);
    const int status = saver->is_several ? 0 : sw_saver_set_row(saver, &first);
    pthread_mutex_unlock(&saver->mutex);
    if (status != 0) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "not enough memory for the table");
    }
    return status;
}

static int find_table(void *context, uint32_t id, struct sw_replay_table *out,
                      char reason[SW_WAL_REASON_BYTES])
{
    struct sw_saver *saver = context;
    struct sw_saved_table row;
    const struct sw_tables_view *view = sw_tables_hold(saver->tables);
    int found = id < view->catalog.next_table ? 0 : -1;
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        const struct sw_served *served = view->served[i];
        if (served->id == id) {
            (void)sw_saver_copy_row(saver, id, &row);
            *out = (struct sw_replay_table){served->table, sw_catalog_shape(served), row.through,
                                            served->account, ""};
            memcpy(out->name, view->catalog.places[i].name, sizeof(out->name));
            found = 1;
        }
    }
    sw_tables_release(saver->tables);
    if (found < 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "%s: the log has writes of an unknown table, %u",
                 saver->directory.path, id);
    }
    return found;
}

/* Gives rows to the tables that a change has made: they begin empty. */
static int add_rows(struct sw_saver *saver, const struct sw_catalog *change, uint64_t sequence)
{
    int status = 0;
    pthread_mutex_lock(&saver->mutex);
    for (size_t i = 0; i < change->table_count; i++) {
        const struct sw_saved_table row = {.id = change->tables[i].id,
                                           .through = sequence,
                                           .from = saver->load.header.segments_from};
        status |= sw_saver_set_row(saver, &row);
    }
    pthread_mutex_unlock(&saver->mutex);
    return status;
}

static int carry_out(void *context, uint64_t sequence, const uint8_t *message, size_t bytes,
                     char reason[SW_WAL_REASON_BYTES])
{
    struct sw_saver *saver = context;
    struct sw_catalog change;
    char why[SW_LOAD_REASON_BYTES] = "not enough memory";
    bool newer;
    if (saver->load.is_catalog && sequence <= saver->load.header.sequence) {
        return 0; /* the catalog has it */
    }
    const char *wrong = sw_catalog_decode_change(message, bytes, &change, &newer);
    if (wrong != NULL) {
        snprintf(reason, SW_WAL_REASON_BYTES, "%s: change %llu of the log %s",
                 saver->directory.path, (unsigned long long)sequence, wrong);
        return -1;
    }
    sw_saver_become_several(saver);
    const int status = sw_catalog_carry_out(&change, saver->tables, saver->config, NULL, why) == 0
                           ? add_rows(saver, &change, sequence)
                           : -1;
    sw_catalog_free(&change);
    if (status != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "%s has several tables: %.360s",
                 saver->directory.path, why);
    }
    return status;
}

/* Gives every table the last number. Files of tables without a replayed write have all of theirs.
 */
static void set_numbers(struct sw_saver *saver, const struct sw_tables_view *view, uint64_t last)
{
    pthread_mutex_lock(&saver->mutex);
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        const struct sw_served *served = view->served[i];
        const uint64_t own = sw_table_last_sequence(served->table);
        struct sw_saved_table *row = sw_saver_row(saver, served->id);
        if (row != NULL && (own == saver->load.highest || own == 0)) {
            row->through = last;
        }
    }
    pthread_mutex_unlock(&saver->mutex);
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        sw_table_set_sequence(view->served[i]->table, last);
    }
}

int sw_saver_give_catalog(struct sw_saver *saver, const struct sw_tables_view *view)
{
    size_t bytes = 0;
    uint8_t *message = sw_catalog_encode_view(view, &bytes);
    const int status =
        message == NULL ? -1 : sw_wal_set_catalog(saver->owner.wal, 0, message, bytes);
    free(message);
    return status;
}

static int end_replay(void *context, uint64_t sequence, char reason[SW_WAL_REASON_BYTES])
{
    struct sw_saver *saver = context;
    const uint64_t highest = saver->load.highest;
    const struct sw_tables_view *view = sw_tables_hold(saver->tables);
    int status = 0;
    if (saver->is_several) {
        set_numbers(saver, view, sequence > highest ? sequence : highest);
        status = saver->owner.wal == NULL ? 0 : sw_saver_give_catalog(saver, view);
    } else {
        sw_table_set_sequence(saver->table, sequence > highest ? sequence : highest);
    }
    sw_tables_release(saver->tables);
    if (status != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "%s: not enough memory for the tables",
                 saver->directory.path);
    }
    return status;
}

void sw_saver_replay_tables(struct sw_saver *saver, struct sw_replay_tables *tables)
{
    *tables = (struct sw_replay_tables){find_table, carry_out, end_replay, saver};
}

/* --- after the load --------------------------------------------------------------------------- */

static void note_changes(void *context, const struct sw_place *place,
                         const struct sw_served *served)
{
    struct sw_saver *saver = context;
    struct sw_saved_table *row = place == NULL ? NULL : sw_saver_row(saver, served->id);
    if (row != NULL) {
        row->changes = sw_saver_changes(served->table);
        saver->has_replayed |= row->through < sw_saver_last_number(saver);
    }
}

void sw_saver_note_loaded(struct sw_saver *saver)
{
    const struct sw_load *load = &saver->load;
    const uint64_t last = sw_table_last_sequence(saver->table);
    pthread_mutex_lock(&saver->mutex);
    if (saver->is_several) {
        sw_tables_each(saver->tables, note_changes, saver);
    } else {
        struct sw_saved_table *row = sw_saver_row(saver, SW_TABLE_FIRST);
        /* with a log, only the snapshot is certain: the log may not be durable at the end */
        row->through = saver->owner.wal == NULL ? last : row->through;
        row->changes = sw_saver_changes(saver->table);
        saver->has_replayed = last > load->highest;
    }
    pthread_mutex_unlock(&saver->mutex);
    if (!saver->is_several && load->damaged_count == 0) { /* left by a change that a crash undid */
        sw_table_files_remove(&saver->directory, NULL, 0);
    }
}
