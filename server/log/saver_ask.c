/* SPDX-License-Identifier: MIT
 *
 * saver_ask.c - requests of other threads to the saver, and its status.
 */
#include <stdio.h>

#include "server/log/saver_parts.h"

bool sw_saver_is_loading(const struct sw_saver *saver)
{
    return __atomic_load_n(&saver->loading, __ATOMIC_ACQUIRE);
}

bool sw_saver_refuses_writes(const struct sw_saver *saver)
{
    return __atomic_load_n(&saver->refuses_writes, __ATOMIC_ACQUIRE);
}

bool sw_saver_keeps_position(struct sw_saver *saver)
{
    return saver->owner.wal != NULL || !sw_saver_is_several(saver);
}

uint64_t sw_saver_ask(struct sw_saver *saver)
{
    uint64_t number = 0;
    pthread_mutex_lock(&saver->mutex);
    if (!saver->facts.saving && saver->requested == saver->finished) {
        number = ++saver->requested;
        pthread_cond_broadcast(&saver->changed);
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
    facts->changes = facts->loading ? 0 : sw_saver_unsaved_changes(saver);
    pthread_mutex_unlock(&saver->mutex);
    facts->loading_bytes = __atomic_load_n(&saver->load.file_bytes, __ATOMIC_RELAXED);
    facts->loaded_bytes = __atomic_load_n(&saver->load.done_bytes, __ATOMIC_RELAXED);
}

bool sw_saver_would_lose(struct sw_saver *saver, char *reason, size_t reason_bytes)
{
    pthread_mutex_lock(&saver->mutex);
    const bool loses = saver->facts.last_failed && !saver->held &&
                       (saver->owner.wal == NULL || sw_saver_log_is_broken(saver)) &&
                       sw_saver_unsaved_changes(saver) > 0;
    snprintf(reason, reason_bytes, "%s", saver->reason);
    pthread_mutex_unlock(&saver->mutex);
    return loses;
}

/* Returns why the caller cannot wait for a save now, or NULL. While the saver is held no save
 * begins until a primary has sent all of its data, which may never happen. The caller holds the
 * mutex. */
static const char *why_no_wait(const struct sw_saver *saver)
{
    return saver->stopping                       ? "the server stops"
           : saver->held && !saver->facts.saving ? "this replica is receiving the data of its "
                                                   "primary; try again when it has them"
                                                 : NULL;
}

bool sw_saver_is_held(struct sw_saver *saver, char *reason, size_t reason_bytes)
{
    pthread_mutex_lock(&saver->mutex);
    const char *wrong = saver->stopping ? NULL : why_no_wait(saver);
    pthread_mutex_unlock(&saver->mutex);
    snprintf(reason, reason_bytes, "%s", wrong == NULL ? "" : wrong);
    return wrong != NULL;
}

/* Saves the tables, after a save that is under way. `count` 0: all of them. Returns 0; or -1 and an
 * error in `reason`. */
static int save_only(struct sw_saver *saver, const uint32_t *ids, uint32_t count, char *reason,
                     size_t reason_bytes)
{
    const char *wrong;
    pthread_mutex_lock(&saver->asking); /* only_reason is this request's until the end */
    pthread_mutex_lock(&saver->mutex);
    while ((wrong = why_no_wait(saver)) == NULL &&
           (saver->facts.saving || saver->requested != saver->finished)) {
        pthread_cond_wait(&saver->changed, &saver->mutex);
    }
    if (wrong == NULL) {
        for (uint32_t i = 0; i < count; i++) {
            saver->only[i] = ids[i];
        }
        saver->only_count = count;
        const uint64_t number = saver->only_number = ++saver->requested;
        pthread_cond_broadcast(&saver->changed);
        while (saver->finished < number && (wrong = why_no_wait(saver)) == NULL) {
            pthread_cond_wait(&saver->changed, &saver->mutex);
        }
        wrong = saver->finished >= number ? saver->only_reason : wrong;
    }
    snprintf(reason, reason_bytes, "%s", wrong);
    pthread_mutex_unlock(&saver->mutex);
    pthread_mutex_unlock(&saver->asking);
    return reason[0] == '\0' ? 0 : -1;
}

static bool is_loading(const struct sw_saver *saver, char *reason, size_t reason_bytes)
{
    const bool is = sw_saver_is_loading(saver);
    snprintf(reason, reason_bytes, "%s", is ? "the server is loading its data directory" : "");
    return is;
}

int sw_saver_save_table(struct sw_saver *saver, uint32_t id, char *reason, size_t reason_bytes)
{
    return is_loading(saver, reason, reason_bytes) ? -1
                                                   : save_only(saver, &id, 1, reason, reason_bytes);
}

void sw_saver_table(struct sw_saver *saver, uint32_t id, struct sw_table *table,
                    struct sw_table_saved *out)
{
    struct sw_saved_table row;
    (void)sw_saver_copy_row(saver, id, &row);
    *out = (struct sw_table_saved){.changes = sw_saver_changes(table) - row.changes,
                                   .saved_at = row.saved_at,
                                   .saving =
                                       __atomic_load_n(&saver->saving_id, __ATOMIC_RELAXED) == id};
}

int sw_saver_prepare(struct sw_saver *saver, const uint32_t *ids, uint32_t count, char *reason,
                     size_t reason_bytes)
{
    if (is_loading(saver, reason, reason_bytes)) {
        return -1;
    }
    if (saver->owner.wal != NULL) {
        const bool is_sound = sw_wal_state(saver->owner.wal) == SW_WAL_OK;
        snprintf(reason, reason_bytes, "%s", is_sound ? "" : "the log takes no writes now");
        return is_sound ? 0 : -1;
    }
    pthread_mutex_lock(&saver->names);
    const bool is_first_change = !saver->is_several, has_replayed = saver->has_replayed;
    pthread_mutex_unlock(&saver->names);
    /* the catalog of a change would hide writes that are in an earlier log alone */
    if (has_replayed && save_only(saver, NULL, 0, reason, reason_bytes) != 0) {
        return -1;
    }
    return count == 0 || is_first_change ? 0 : save_only(saver, ids, count, reason, reason_bytes);
}
