/* SPDX-License-Identifier: MIT
 *
 * saver_change.c - makes changes of the tables durable.
 *
 * Without a log a change writes a catalog. With a log it is a record, and gets its number before
 * the loops see it: so a write that a client makes behind the change has a higher number, and no
 * crash keeps the write without the change. A DROP is the exception. It gets its number when no
 * request uses the table any more, so that no record of the table follows it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/log/catalog_view.h"
#include "server/log/saver_parts.h"

#define REST_US 100 /* before a full log is asked again */

/* Gives a change the next number, unless it has that of the primary. */
static void number(const struct sw_saver *saver, uint64_t *sequence)
{
    *sequence = *sequence != 0 ? *sequence : sw_sequencer_next(saver->owner.sequencer);
}

/* --- without a log ---------------------------------------------------------------------------- */

static int store_change(struct sw_saver *saver, const struct sw_tables_view *next,
                        uint64_t *sequence, char *reason, size_t reason_bytes)
{
    uint64_t from;
    pthread_mutex_lock(&saver->names);
    int status = sw_directory_check(&saver->directory, reason, reason_bytes);
    if (status == 0 && !saver->is_several && sw_saver_link_first(saver) != 0) {
        snprintf(reason, reason_bytes, "%s: the snapshot cannot get a second name: %s",
                 saver->directory.path, strerror(errno));
        status = -1;
    }
    if (status == 0) {
        number(saver, sequence);
        status = sw_saver_store_catalog(saver, next, *sequence, &from, reason, reason_bytes);
    }
    if (status == 0) {
        saver->is_several = true;
        sw_saver_remove_named(saver);
    }
    pthread_mutex_unlock(&saver->names);
    return status;
}

/* --- with a log ------------------------------------------------------------------------------- */

void sw_saver_become_several(struct sw_saver *saver)
{
    pthread_mutex_lock(&saver->names);
    if (!saver->is_several && sw_saver_link_first(saver) != 0) {
        /* no file has the table: the next save writes it */
        const struct sw_saved_table first = {.id = SW_TABLE_FIRST};
        pthread_mutex_lock(&saver->mutex);
        (void)sw_saver_set_row(saver, &first); /* it exists: this cannot fail */
        pthread_mutex_unlock(&saver->mutex);
    }
    saver->is_several = true;
    pthread_mutex_unlock(&saver->names);
}

/* Waits while the log is full. A broken log drops the record: the catalog that mends it has it. */
static void add(struct sw_wal *wal, const struct sw_wal_write *write)
{
    while (!sw_wal_add(wal, write)) {
        usleep(REST_US);
    }
}

/* Gives rows to the new tables, which are empty. A table without a row counts as unsaved. */
static void add_rows(struct sw_saver *saver, const struct sw_tables_view *before,
                     const struct sw_tables_view *next, uint64_t sequence, uint64_t from)
{
    pthread_mutex_lock(&saver->names); /* its owner may read the rows without the mutex */
    pthread_mutex_lock(&saver->mutex);
    for (uint32_t i = 0; i < next->catalog.count; i++) {
        const struct sw_saved_table row = {
            .id = next->served[i]->id, .through = sequence, .from = from};
        if (row.id >= before->catalog.next_table) {
            (void)sw_saver_set_row(saver, &row);
        }
    }
    pthread_mutex_unlock(&saver->mutex);
    pthread_mutex_unlock(&saver->names);
}

static int log_change(struct sw_saver *saver, const struct sw_tables_view *before,
                      const struct sw_tables_view *next, uint64_t *sequence, char *reason,
                      size_t reason_bytes)
{
    struct sw_wal *wal = saver->owner.wal;
    size_t bytes = 0, catalog_bytes = 0;
    uint8_t *change = sw_catalog_encode_change(before, next, &bytes);
    uint8_t *catalog = sw_catalog_encode_view(next, &catalog_bytes);
    if (change == NULL || catalog == NULL) {
        free(change);
        free(catalog);
        snprintf(reason, reason_bytes, "not enough memory for the change");
        return -1;
    }
    sw_saver_become_several(saver);
    struct sw_snapshot_header beside = {0};
    sw_saver_note_beside(saver, &beside);
    number(saver, sequence);
    const struct sw_wal_write write = {.sequence = *sequence,
                                       .kind = SW_WAL_CHANGE,
                                       .count = (uint32_t)bytes,
                                       .columns = {{change, sw_wal_align(bytes, SW_WAL_ALIGN)}},
                                       .owned = change};
    add_rows(saver, before, next, *sequence, beside.segments_from);
    /* without memory, segments begin without the catalog: a start does not need it */
    (void)sw_wal_set_catalog(wal, *sequence, catalog, catalog_bytes);
    free(catalog);
    __atomic_store_n(&saver->change_of, sw_wal_incarnation(wal), __ATOMIC_RELEASE);
    add(wal, &write);
    __atomic_store_n(&saver->last_change, *sequence, __ATOMIC_RELEASE);
    return 0;
}

/* --- the changes ------------------------------------------------------------------------------ */

int sw_saver_commit(struct sw_saver *saver, const struct sw_tables_view *before,
                    const struct sw_tables_view *next, uint64_t *sequence, char *reason,
                    size_t reason_bytes)
{
    return saver->owner.wal == NULL
               ? store_change(saver, next, sequence, reason, reason_bytes)
               : log_change(saver, before, next, sequence, reason, reason_bytes);
}

int sw_saver_settle(struct sw_saver *saver, char *reason, size_t reason_bytes)
{
    struct sw_wal *wal = saver->owner.wal;
    const uint64_t sequence = __atomic_load_n(&saver->last_change, __ATOMIC_ACQUIRE);
    const uint64_t of = __atomic_load_n(&saver->change_of, __ATOMIC_ACQUIRE);
    bool is_durable = wal == NULL || sequence == 0;
    while (!is_durable) {
        is_durable = sw_wal_wait_durable(wal, sequence, NULL) == 0;
        if (sw_wal_incarnation(wal) != of) {
            snprintf(reason, reason_bytes,
                     "this server has become a replica, whose primary may not have the change");
            return -1;
        }
        if (!is_durable && sw_wal_is_hopeless(wal)) {
            snprintf(reason, reason_bytes, "the log has failed, and a restart may undo the change");
            return -1;
        }
        if (!is_durable) {
            usleep(REST_US);
        }
    }
    return 0;
}

void sw_saver_log_nothing(struct sw_saver *saver, uint64_t sequence)
{
    const struct sw_wal_write write = {.sequence = sequence, .kind = SW_WAL_OPERATIONS};
    if (saver != NULL && saver->owner.wal != NULL && sequence != 0 &&
        !sw_saver_is_loading(saver)) { /* a replay counts anew when it ends */
        add(saver->owner.wal, &write);
    }
}
