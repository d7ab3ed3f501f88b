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

/* --- without a log ---------------------------------------------------------------------------- */

static int store_change(struct sw_saver *saver, const struct sw_tables_view *next, char *reason,
                        size_t reason_bytes)
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
        status = sw_saver_store_catalog(saver, next, sw_sequencer_next(saver->owner.sequencer),
                                        &from, reason, reason_bytes);
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

/* The messages of a change. */
struct messages {
    uint8_t *change, *catalog; /* that of the change has zeros behind it, as columns have */
    size_t change_bytes, catalog_bytes;
};

static bool encode(struct messages *messages, const struct sw_tables_view *before,
                   const struct sw_tables_view *next)
{
    struct sw_catalog change = {0}, catalog = {0};
    *messages = (struct messages){0};
    if (sw_catalog_make_change(&change, before, next) == 0 &&
        sw_catalog_make(&catalog, next, 0) == 0) {
        uint8_t *bytes = sw_catalog_encode(&change, &messages->change_bytes);
        messages->change = calloc(1, sw_wal_align(messages->change_bytes, SW_WAL_ALIGN) + 1);
        if (bytes != NULL && messages->change != NULL) {
            memcpy(messages->change, bytes, messages->change_bytes);
            messages->catalog = sw_catalog_encode(&catalog, &messages->catalog_bytes);
        }
        free(bytes);
    }
    sw_catalog_unmake(&change);
    sw_catalog_unmake(&catalog);
    return messages->catalog != NULL;
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
                      const struct sw_tables_view *next, char *reason, size_t reason_bytes)
{
    struct messages messages;
    if (!encode(&messages, before, next)) {
        free(messages.change);
        snprintf(reason, reason_bytes, "not enough memory for the change");
        return -1;
    }
    sw_saver_become_several(saver);
    struct sw_snapshot_header beside = {0};
    sw_saver_note_beside(saver, &beside);
    const uint64_t sequence = sw_sequencer_next(saver->owner.sequencer);
    const struct sw_wal_write write = {
        .sequence = sequence,
        .kind = SW_WAL_CHANGE,
        .count = (uint32_t)messages.change_bytes,
        .columns = {{messages.change, sw_wal_align(messages.change_bytes, SW_WAL_ALIGN)}},
        .owned = messages.change};
    add_rows(saver, before, next, sequence, beside.segments_from);
    /* without memory, segments begin without the catalog: a start does not need it */
    (void)sw_wal_set_catalog(saver->owner.wal, sequence, messages.catalog, messages.catalog_bytes);
    free(messages.catalog);
    add(saver->owner.wal, &write);
    __atomic_store_n(&saver->last_change, sequence, __ATOMIC_RELEASE);
    return 0;
}

/* --- the changes ------------------------------------------------------------------------------ */

int sw_saver_commit(struct sw_saver *saver, const struct sw_tables_view *before,
                    const struct sw_tables_view *next, char *reason, size_t reason_bytes)
{
    return saver->owner.wal == NULL ? store_change(saver, next, reason, reason_bytes)
                                    : log_change(saver, before, next, reason, reason_bytes);
}

int sw_saver_settle(struct sw_saver *saver, char *reason, size_t reason_bytes)
{
    struct sw_wal *wal = saver->owner.wal;
    const uint64_t sequence = __atomic_load_n(&saver->last_change, __ATOMIC_ACQUIRE);
    while (wal != NULL && sw_wal_wait_durable(wal, sequence) != 0) {
        if (sw_wal_is_hopeless(wal)) {
            snprintf(reason, reason_bytes, "the log has failed, and a restart may undo the change");
            return -1;
        }
        usleep(REST_US);
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
