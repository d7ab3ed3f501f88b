/* SPDX-License-Identifier: MIT
 *
 * saver_ask.c - requests of other threads to the saver, and its status.
 */
#include <stdio.h>

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

bool sw_saver_is_loading(const struct sw_saver *saver)
{
    return __atomic_load_n(&saver->loading, __ATOMIC_ACQUIRE);
}

bool sw_saver_refuses_writes(const struct sw_saver *saver)
{
    return __atomic_load_n(&saver->refuses_writes, __ATOMIC_ACQUIRE);
}

uint64_t sw_saver_ask(struct sw_saver *saver)
{
    uint64_t number = 0;
    pthread_mutex_lock(&saver->mutex);
    if (!saver->facts.saving && saver->requested == saver->finished) {
        number = ++saver->requested;
        pthread_cond_signal(&saver->changed);
    }
    pthread_mutex_unlock(&saver->mutex);
    return number;
}

enum sw_saved sw_saver_outcome(struct sw_saver *saver, uint64_t number, char *reason,
                               size_t reason_bytes)
{
    enum sw_saved outcome = SW_SAVED_PENDING;
    pthread_mutex_lock(&saver->mutex);
    if (saver->finished >= number) {
        outcome = saver->facts.last_failed ? SW_SAVED_FAILED : SW_SAVED_OK;
        snprintf(reason, reason_bytes, "%s", saver->reason);
    }
    pthread_mutex_unlock(&saver->mutex);
    return outcome;
}

void sw_saver_status(struct sw_saver *saver, struct sw_persistence *facts)
{
    pthread_mutex_lock(&saver->mutex);
    *facts = saver->facts;
    pthread_mutex_unlock(&saver->mutex);
    facts->loading_bytes = __atomic_load_n(&saver->load.file_bytes, __ATOMIC_RELAXED);
    facts->loaded_bytes = __atomic_load_n(&saver->load.done_bytes, __ATOMIC_RELAXED);
    uint64_t base = __atomic_load_n(&saver->base_changes, __ATOMIC_RELAXED);
    facts->changes = facts->loading ? 0 : sw_saver_changes(saver->table) - base;
}
