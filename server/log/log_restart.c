/* SPDX-License-Identifier: MIT
 *
 * log_restart.c - restarts a broken log after a snapshot.
 *
 * A write or a sync of a segment has failed, so it is unknown which part of the segment is on
 * storage. The table has every write that was applied. Once a snapshot of the table is durable and
 * has every write that was added to the log, no start needs the failed segment. The log continues
 * in a new segment, which begins with the write after the snapshot. The failed segment is closed;
 * it is never written or synced again. It is removed when all kept snapshots have its writes.
 *
 * Invariant: no write is lost between the snapshot and the new segment. A broken log drops writes
 * under `lock`. The state also changes under `lock`, and only if the snapshot has the highest write
 * that was added and every write up to it was added.
 */
#include <stdlib.h>

#include "server/log/clock.h"
#include "server/log/wal_parts.h"
#include "server/observe/log.h"

/* --- the writer's ----------------------------------------------------------------------------- */

/* Frees the copies of writes that were added but not written. Their slots are known, and no later
 * write is in one of them: sw_wal_add refuses writes above `written` + SW_WAL_RING. */
static void drop_ring(struct sw_wal *wal, uint64_t through)
{
    uint64_t last = wal->written + SW_WAL_RING;
    for (uint64_t i = wal->written + 1; i <= through && i <= last; i++) {
        struct sw_wal_slot *slot = &wal->ring[i % SW_WAL_RING];
        if (__atomic_load_n(&slot->ready, __ATOMIC_SEQ_CST) == i) {
            __atomic_fetch_sub(&wal->backlog_bytes, sw_wal_write_bytes(&slot->write),
                               __ATOMIC_RELAXED);
            free(slot->write.owned);
            slot->write.owned = NULL;
        }
    }
}

/* Closes the segments that are never written or synced again. The caller holds `lock`. */
static void leave_files(struct sw_wal *wal, uint64_t through)
{
    for (uint32_t i = 0; i < wal->unsynced_count; i++) {
        const struct sw_wal_file *file = &wal->unsynced[i];
        wal->io->close(file->fd);
        (void)sw_wal_add_old(wal, file->number, file->last, file->at);
    }
    wal->unsynced_count = 0;
    if (wal->current.fd >= 0) {
        wal->io->close(wal->current.fd);
        (void)sw_wal_add_old(wal, wal->current.number, through, wal->current.at);
    }
    wal->current = (struct sw_wal_file){.fd = -1, .last = through};
    wal->since_next_ns = 0;
    wal->stuck_ns = 0;
    __atomic_store_n(&wal->since_ns, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->current_bytes, 0, __ATOMIC_RELAXED);
    uint64_t names;
    if (wal->prepared.fd >= 0 && wal->io->links(wal->prepared.fd, &names) == 0 && names == 0) {
        wal->io->close(wal->prepared.fd); /* its file was removed */
        wal->prepared.fd = -1;
    }
}

/* Restarts the log after the write `through`. The caller holds `lock`. */
static void restart_after(struct sw_wal *wal, uint64_t through)
{
    drop_ring(wal, through);
    leave_files(wal, through);
    wal->trouble = NULL;
    wal->needs_segment = true;
    wal->restarts++;
    __atomic_store_n(&wal->written, through, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->durable, through, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->is_hopeless, false, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->state, wal->prepared.fd < 0 ? SW_WAL_FULL : SW_WAL_OK, __ATOMIC_SEQ_CST);
}

/* Notes that the next segment will be the first one in the directory. The caller holds `lock`, and
 * the segmenter does not use the directory. */
static void forget_first(struct sw_wal *wal)
{
    wal->first = 0;
    wal->first_is_noted = false;
}

/* Forgets the writes and the files of this log. The caller holds `lock`, and no thread adds a write
 * meanwhile. */
static void begin_anew(struct sw_wal *wal, uint64_t sequence)
{
    drop_ring(wal, __atomic_load_n(&wal->handed, __ATOMIC_SEQ_CST));
    leave_files(wal, sequence);
    if (wal->prepared.fd >= 0) {
        wal->io->close(wal->prepared.fd);
        wal->prepared.fd = -1;
    }
    for (uint32_t i = 0; i < SW_WAL_RING; i++) { /* the new history reuses these numbers */
        __atomic_store_n(&wal->ring[i].ready, 0, __ATOMIC_RELAXED);
    }
    wal->old_count = wal->ghost_count = 0;
    forget_first(wal);
    /* Before `durable`: see sw_wal_incarnation. The added constant makes a repeated value unlikely.
     */
    __atomic_store_n(&wal->incarnation, (wal->incarnation + 0x9e3779b97f4a7c14U) | 1,
                     __ATOMIC_RELEASE);
    wal->begun_at = sequence;
    wal->forget = 0;
    wal->forget_from = 0;
    __atomic_store_n(&wal->taken, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&wal->wanted, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&wal->handed, sequence, __ATOMIC_SEQ_CST);
    __atomic_store_n(&wal->written, sequence, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->durable, sequence, __ATOMIC_RELEASE);
}

static void report_restart(struct sw_wal *wal, bool done)
{
    wal->restart.pending = false;
    wal->restart.done = done;
    pthread_cond_broadcast(&wal->moved);
}

/* Restarts the log if exactly the writes of the snapshot were added. If a later write was added,
 * reports a failure. If some are still missing, does nothing. The caller holds `lock`. */
static void try_to_restart(struct sw_wal *wal)
{
    const uint64_t through = wal->restart.through;
    if (wal->restart.replaces && !wal->gives_up) {
        if (!wal->syncing && !wal->segmenting) {
            begin_anew(wal, through);
            report_restart(wal, true);
        }
        return;
    }
    if (__atomic_load_n(&wal->handed, __ATOMIC_SEQ_CST) > through || wal->gives_up) {
        report_restart(wal, false);
    } else if (!wal->syncing &&
               __atomic_load_n(&wal->taken, __ATOMIC_SEQ_CST) == through - wal->begun_at) {
        restart_after(wal, through);
        report_restart(wal, true);
    }
}

/* Declares the log hopeless, so that waiting writes get no reply. The caller holds `lock`; the
 * function releases it during the call of wake(). */
static void lose_hope(struct sw_wal *wal)
{
    __atomic_store_n(&wal->is_hopeless, true, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&wal->lock);
    wal->config.wake(wal->config.context);
    pthread_mutex_lock(&wal->lock);
}

/* Sleeps until a request may have arrived or the log becomes hopeless. The caller holds `lock`. */
static void rest(struct sw_wal *wal)
{
    uint64_t at = wal->broke_ns + wal->config.patience_ms * 1000000U;
    if (!sw_wal_is_hopeless(wal) && (wal->gives_up || sw_log_now_ns() >= at)) {
        lose_hope(wal);
    } else if (sw_wal_is_hopeless(wal)) {
        pthread_cond_wait(&wal->work, &wal->lock);
    } else {
        struct timespec until = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
        pthread_cond_timedwait(&wal->work, &wal->lock, &until);
    }
}

bool sw_wal_wait_for_restart(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    /* so that sw_wal_add wakes this thread when it adds the last missing write */
    __atomic_store_n(&wal->writer_sleeps, true, __ATOMIC_SEQ_CST);
    while (wal->state == SW_WAL_BROKEN && !wal->stopping) {
        if (wal->restart.pending) {
            try_to_restart(wal);
        }
        if (wal->state == SW_WAL_BROKEN) {
            rest(wal);
        }
    }
    __atomic_store_n(&wal->writer_sleeps, false, __ATOMIC_SEQ_CST);
    bool goes_on = wal->state != SW_WAL_BROKEN;
    uint64_t through = wal->durable;
    pthread_mutex_unlock(&wal->lock);
    if (goes_on) {
        sw_log(SW_LOG_NOTICE,
               "%s: the log continues after write %llu; a snapshot covers the writes up to it",
               wal->directory->path, (unsigned long long)through);
        wal->config.wake(wal->config.context);
    }
    return goes_on;
}

/* --- the saver's ------------------------------------------------------------------------------ */

/* Wakes the writer, and waits until it has carried out the request, or has ended. The caller holds
 * `lock`; the function releases it. Returns 0, or -1 if the request was not carried out. */
static int wait_for_restart(struct sw_wal *wal)
{
    pthread_cond_signal(&wal->work);
    while (wal->restart.pending && !wal->writer_ended) {
        pthread_cond_wait(&wal->moved, &wal->lock);
    }
    int status = wal->restart.done ? 0 : -1;
    wal->restart.pending = false;
    pthread_mutex_unlock(&wal->lock);
    return status;
}

int sw_wal_restart(struct sw_wal *wal, uint64_t sequence)
{
    pthread_mutex_lock(&wal->lock);
    bool may = sw_wal_state(wal) == SW_WAL_BROKEN;
    wal->restart = (struct sw_wal_restart){.pending = may, .through = sequence};
    return wait_for_restart(wal);
}

int sw_wal_replace(struct sw_wal *wal, uint64_t sequence)
{
    pthread_mutex_lock(&wal->lock);
    wal->must_wait = true;
    while (wal->segmenting) {
        pthread_cond_wait(&wal->moved, &wal->lock);
    }
    wal->restart = (struct sw_wal_restart){.pending = true, .replaces = true, .through = sequence};
    wal->trouble = wal->trouble != NULL ? wal->trouble : "another history takes its place";
    return wait_for_restart(wal);
}

void sw_wal_let_keep(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    wal->must_wait = false;
    pthread_cond_signal(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
}

int sw_wal_follow(struct sw_wal *wal, struct sw_directory *directory, char *reason,
                  size_t reason_bytes)
{
    pthread_mutex_lock(&wal->lock);
    wal->must_wait = true;
    while (wal->segmenting) {
        pthread_cond_wait(&wal->moved, &wal->lock);
    }
    int status = sw_directory_follow(directory, reason, reason_bytes);
    if (status == 0) {
        wal->old_count = 0;
        wal->ghost_count = 0;
        forget_first(wal);
        if (wal->prepared.fd >= 0) {
            wal->io->close(wal->prepared.fd);
            wal->prepared.fd = -1;
        }
    }
    wal->must_wait = false;
    pthread_cond_signal(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
    return status;
}
