/* SPDX-License-Identifier: MIT
 *
 * replica_files.c - waits for the log, and requests work of the saver.
 */
#include "server/repl/replica_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/log/clock.h"
#include "server/observe/log.h"

#define REST_NS 50000000ULL /* a wait calls is_over() at least this often */
#define BEAT_NS 500000000ULL

void sw_replica_files_init(struct sw_replica_files *files, struct sw_saver *saver,
                           struct sw_wal *wal, bool (*is_over)(void *context), void *context)
{
    pthread_condattr_t monotonic;
    *files = (struct sw_replica_files){
        .saver = saver, .wal = wal, .is_over = is_over, .context = context};
    pthread_mutex_init(&files->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&files->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void sw_replica_files_fini(struct sw_replica_files *files)
{
    pthread_cond_destroy(&files->moved);
    pthread_mutex_destroy(&files->lock);
}

/* --- waiting ---------------------------------------------------------------------------------- */

void sw_replica_files_log_moved(struct sw_replica_files *files)
{
    if (__atomic_load_n(&files->waits, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&files->lock);
        pthread_cond_signal(&files->moved);
        pthread_mutex_unlock(&files->lock);
    }
}

static void wait_briefly(struct sw_replica_files *files,
                         bool (*holds)(struct sw_replica_files *files, uint64_t sequence),
                         uint64_t sequence)
{
    uint64_t at = sw_log_now_ns() + REST_NS;
    const struct timespec until = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
    pthread_mutex_lock(&files->lock);
    __atomic_store_n(&files->waits, true, __ATOMIC_SEQ_CST);
    if (!holds(files, sequence)) {
        pthread_cond_timedwait(&files->moved, &files->lock, &until);
    }
    __atomic_store_n(&files->waits, false, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&files->lock);
}

static bool wait_until(struct sw_replica_files *files,
                       bool (*holds)(struct sw_replica_files *files, uint64_t sequence),
                       uint64_t sequence)
{
    while (!holds(files, sequence)) {
        if (files->is_over(files->context)) {
            return false;
        }
        wait_briefly(files, holds, sequence);
    }
    return true;
}

static bool has_loaded(struct sw_replica_files *files, uint64_t sequence)
{
    (void)sequence;
    return !sw_saver_is_loading(files->saver);
}

static bool is_held(struct sw_replica_files *files, uint64_t sequence)
{
    (void)sequence;
    return sw_saver_hold(files->saver);
}

static bool is_replaced(struct sw_replica_files *files, uint64_t sequence)
{
    (void)sequence;
    return !sw_saver_is_replacing(files->saver);
}

static bool has_room(struct sw_replica_files *files, uint64_t sequence)
{
    (void)sequence;
    return sw_wal_has_room(files->wal);
}

static bool is_safe(struct sw_replica_files *files, uint64_t sequence)
{
    return sw_wal_answerable(files->wal) >= sequence;
}

static bool is_written(struct sw_replica_files *files, uint64_t sequence)
{
    return is_safe(files, sequence) || sw_wal_state(files->wal) == SW_WAL_BROKEN;
}

bool sw_replica_files_wait_until_written(struct sw_replica_files *files, uint64_t sequence)
{
    return files->wal == NULL || wait_until(files, is_written, sequence);
}

bool sw_replica_files_wait_for_loading(struct sw_replica_files *files)
{
    return files->saver == NULL || wait_until(files, has_loaded, 0);
}

/* --- whose writes ----------------------------------------------------------------------------- */

static struct sw_history history_of(const struct sw_repl_history *repl_history)
{
    struct sw_history history = {.kind = SW_HISTORY_WHOLE,
                                 .before_through = repl_history->before_through,
                                 .own_from = repl_history->own_from,
                                 .terms = repl_history->terms};
    memcpy(history.id, repl_history->id, sizeof(history.id));
    memcpy(history.before, repl_history->before, sizeof(history.before));
    return history;
}

bool sw_replica_files_hold_snapshots(struct sw_replica_files *files)
{
    return files->saver == NULL || wait_until(files, is_held, 0);
}

void sw_replica_files_lose_position(struct sw_replica_files *files)
{
    if (files->saver != NULL) {
        sw_saver_lose_position(files->saver);
    }
}

/* --- what is kept aside ----------------------------------------------------------------------- */

static bool is_durable(struct sw_replica_files *files, uint64_t sequence)
{
    sw_wal_want_durable(files->wal, sequence);
    return sw_wal_durable(files->wal) >= sequence; /* a broken log must restart first */
}

/* Requests a snapshot, and stores its number in `files->snapshot`. Returns false if another
 * snapshot is being written: the caller tries again. */
static bool has_asked(struct sw_replica_files *files, uint64_t sequence)
{
    (void)sequence;
    files->snapshot = sw_saver_ask(files->saver);
    return files->snapshot != 0;
}

static bool has_saved(struct sw_replica_files *files, uint64_t sequence)
{
    char reason[SW_REPL_REASON_BYTES];
    (void)sequence;
    return sw_saver_outcome(files->saver, files->snapshot, reason, sizeof(reason)) !=
           SW_SAVED_PENDING;
}

/* Writes a snapshot, unless the newest one has the writes up to `sequence`. */
static int save(struct sw_replica_files *files, uint64_t sequence,
                char reason[SW_REPL_REASON_BYTES])
{
    struct sw_persistence facts;
    sw_saver_status(files->saver, &facts);
    if (facts.saved_sequence == sequence && facts.changes == 0) {
        return 0;
    }
    if (!wait_until(files, has_asked, 0) || !wait_until(files, has_saved, 0)) {
        return -1;
    }
    return sw_saver_outcome(files->saver, files->snapshot, reason, SW_REPL_REASON_BYTES) ==
                   SW_SAVED_OK
               ? 0
               : -1;
}

int sw_replica_files_archive(struct sw_replica_files *files, uint64_t sequence,
                             char name[SW_ARCHIVE_NAME_MAX], char reason[SW_REPL_REASON_BYTES])
{
    if (files->wal == NULL ? save(files, sequence, reason) != 0
                           : !wait_until(files, is_durable, sequence)) {
        return -1;
    }
    if (!sw_replica_files_hold_snapshots(files)) {
        return -1;
    }
    if (sw_saver_archive(files->saver, sequence, name, reason) != 0) {
        sw_saver_release(files->saver);
        return -1;
    }
    return 0;
}

int sw_replica_files_replace(struct sw_replica_files *files,
                             const struct sw_repl_history *repl_history, uint64_t sequence,
                             const char *archive, int (*beat)(void *context),
                             char reason[SW_REPL_REASON_BYTES])
{
    uint64_t beaten_ns = sw_log_now_ns();
    if (files->saver == NULL) {
        return 0;
    }
    const struct sw_history history = history_of(repl_history);
    if (sw_saver_replace(files->saver, &history, sequence, archive, reason) != 0) {
        return -1;
    }
    sw_log(SW_LOG_NOTICE,
           "a snapshot of the primary's table, at write %" PRIu64
           ", replaces the contents of the data directory",
           sequence);
    while (!is_replaced(files, 0)) {
        uint64_t now = sw_log_now_ns();
        if (files->is_over(files->context)) {
            return -1;
        }
        if (now - beaten_ns >= BEAT_NS) {
            beaten_ns = now;
            if (beat(files->context) != 0) {
                return -1;
            }
        }
        wait_briefly(files, is_replaced, 0);
    }
    return 0;
}

int sw_replica_files_set_history(struct sw_replica_files *files,
                                 const struct sw_repl_history *repl_history,
                                 char reason[SW_REPL_REASON_BYTES])
{
    const struct sw_history history = history_of(repl_history);
    return files->saver == NULL ? 0 : sw_saver_set_history(files->saver, &history, reason);
}

static void recall(struct sw_repl_state *state, const struct sw_history *history)
{
    pthread_mutex_lock(&state->lock);
    memcpy(state->history.id, history->id, sizeof(history->id));
    memcpy(state->history.before, history->before, sizeof(history->before));
    state->history.before_through = history->before_through;
    state->history.own_from = history->own_from;
    state->history.terms = history->terms;
    pthread_mutex_unlock(&state->lock);
}

int sw_replica_files_adopt_history(struct sw_replica_files *files, struct sw_repl_state *state,
                                   uint64_t sequence, char reason[SW_REPL_REASON_BYTES])
{
    struct sw_history history;
    struct sw_repl_history next;
    const bool is_replica = sw_repl_is_replica(state);
    sw_saver_history(files->saver, &history);
    if (history.kind == SW_HISTORY_REPLACED) {
        snprintf(reason, SW_REPL_REASON_BYTES,
                 "a copy of a primary's data into the data directory was interrupted: start with "
                 "--replicaof, or with another directory");
        (void)sw_repl_close_reads(state);
        return is_replica ? 0 : -1;
    }
    if (history.kind == SW_HISTORY_NONE) {
        return 0;
    }
    recall(state, &history);
    if (!sw_saver_keeps_position(files->saver)) {
        sw_repl_forget_position(state);
    }
    if (is_replica) {
        return 0;
    }
    sw_repl_next_history(state, sequence, &next);
    if (sw_replica_files_set_history(files, &next, reason) != 0) {
        return -1;
    }
    sw_repl_promote(state, &next);
    return 0;
}

/* --- writes ----------------------------------------------------------------------------------- */

bool sw_replica_files_wait_for_room(struct sw_replica_files *files)
{
    return files->wal == NULL || wait_until(files, has_room, 0);
}

/* Returns false if there is no memory. */
static bool copy(const struct sw_wal_write *write, struct sw_wal_write *own)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        bytes += write->columns[i].iov_len;
    }
    uint8_t *at = bytes == 0 ? NULL : malloc(bytes);
    *own = *write;
    own->owned = at;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX && at != NULL; i++) {
        if (write->columns[i].iov_len > 0) {
            memcpy(at, write->columns[i].iov_base, write->columns[i].iov_len);
            own->columns[i].iov_base = at;
            at += write->columns[i].iov_len;
        }
    }
    return bytes == 0 || own->owned != NULL;
}

bool sw_replica_files_add(struct sw_replica_files *files, const struct sw_wal_write *write)
{
    struct sw_wal_write own;
    if (files->wal == NULL) {
        return true;
    }
    if (!copy(write, &own)) {
        sw_wal_skip(files->wal, write->sequence);
        return true;
    }
    while (!sw_wal_add(files->wal, &own)) {
        if (!wait_until(files, has_room, 0)) {
            free(own.owned);
            sw_wal_skip(files->wal, write->sequence);
            return false;
        }
    }
    return true;
}

bool sw_replica_files_wait_until_safe(struct sw_replica_files *files, uint64_t sequence)
{
    return files->wal == NULL || wait_until(files, is_safe, sequence);
}
