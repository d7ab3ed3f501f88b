/* SPDX-License-Identifier: MIT
 *
 * keep.c - waiting for the log, and telling the saver.
 */
#include "server/repl/keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/log/clock.h"
#include "server/observe/log.h"

#define REST_NS 50000000ULL /* how long a wait goes without looking whether it is over */
#define BEAT_NS 500000000ULL

void sw_keep_init(struct sw_keep *keep, struct sw_saver *saver, struct sw_wal *wal,
                  bool (*is_over)(void *context), void *context)
{
    pthread_condattr_t monotonic;
    *keep = (struct sw_keep){.saver = saver, .wal = wal, .is_over = is_over, .context = context};
    pthread_mutex_init(&keep->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&keep->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void sw_keep_fini(struct sw_keep *keep)
{
    pthread_cond_destroy(&keep->moved);
    pthread_mutex_destroy(&keep->lock);
}

/* --- waiting ---------------------------------------------------------------------------------- */

void sw_keep_log_moved(struct sw_keep *keep)
{
    if (__atomic_load_n(&keep->waits, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&keep->lock);
        pthread_cond_signal(&keep->moved);
        pthread_mutex_unlock(&keep->lock);
    }
}

static void rest(struct sw_keep *keep, bool (*holds)(struct sw_keep *keep, uint64_t sequence),
                 uint64_t sequence)
{
    uint64_t at = sw_log_now_ns() + REST_NS;
    const struct timespec until = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
    pthread_mutex_lock(&keep->lock);
    __atomic_store_n(&keep->waits, true, __ATOMIC_SEQ_CST);
    if (!holds(keep, sequence)) {
        pthread_cond_timedwait(&keep->moved, &keep->lock, &until);
    }
    __atomic_store_n(&keep->waits, false, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&keep->lock);
}

static bool wait_until(struct sw_keep *keep, bool (*holds)(struct sw_keep *keep, uint64_t sequence),
                       uint64_t sequence)
{
    while (!holds(keep, sequence)) {
        if (keep->is_over(keep->context)) {
            return false;
        }
        rest(keep, holds, sequence);
    }
    return true;
}

static bool has_loaded(struct sw_keep *keep, uint64_t sequence)
{
    (void)sequence;
    return !sw_saver_is_loading(keep->saver);
}

static bool is_held(struct sw_keep *keep, uint64_t sequence)
{
    (void)sequence;
    return sw_saver_hold(keep->saver);
}

static bool is_replaced(struct sw_keep *keep, uint64_t sequence)
{
    (void)sequence;
    return !sw_saver_is_replacing(keep->saver);
}

static bool has_room(struct sw_keep *keep, uint64_t sequence)
{
    (void)sequence;
    return sw_wal_has_room(keep->wal);
}

static bool is_safe(struct sw_keep *keep, uint64_t sequence)
{
    return sw_wal_answerable(keep->wal) >= sequence;
}

static bool is_written(struct sw_keep *keep, uint64_t sequence)
{
    return is_safe(keep, sequence) || sw_wal_state(keep->wal) == SW_WAL_BROKEN;
}

bool sw_keep_wait_until_written(struct sw_keep *keep, uint64_t sequence)
{
    return keep->wal == NULL || wait_until(keep, is_written, sequence);
}

bool sw_keep_wait_for_loading(struct sw_keep *keep)
{
    return keep->saver == NULL || wait_until(keep, has_loaded, 0);
}

/* --- whose writes ----------------------------------------------------------------------------- */

static struct sw_history history_of(const struct sw_lineage *lineage)
{
    struct sw_history history = {.kind = SW_HISTORY_WHOLE,
                                 .before_through = lineage->before_through,
                                 .own_from = lineage->own_from,
                                 .terms = lineage->terms};
    memcpy(history.id, lineage->id, sizeof(history.id));
    memcpy(history.before, lineage->before, sizeof(history.before));
    return history;
}

bool sw_keep_hold(struct sw_keep *keep)
{
    return keep->saver == NULL || wait_until(keep, is_held, 0);
}

/* --- what is kept aside ----------------------------------------------------------------------- */

static bool is_durable(struct sw_keep *keep, uint64_t sequence)
{
    sw_wal_want_durable(keep->wal, sequence);
    return sw_wal_durable(keep->wal) >= sequence; /* a broken log is mended first */
}

/* Asks for a snapshot. `keep->asked` has its number; 0: one is being written, ask again. */
static bool has_asked(struct sw_keep *keep, uint64_t sequence)
{
    (void)sequence;
    keep->asked = sw_saver_ask(keep->saver);
    return keep->asked != 0;
}

static bool has_saved(struct sw_keep *keep, uint64_t sequence)
{
    char reason[SW_REPL_REASON_BYTES];
    (void)sequence;
    return sw_saver_outcome(keep->saver, keep->asked, reason, sizeof(reason)) != SW_SAVED_PENDING;
}

/* Writes a snapshot, unless the newest one has the writes up to `sequence`. */
static int save(struct sw_keep *keep, uint64_t sequence, char reason[SW_REPL_REASON_BYTES])
{
    struct sw_persistence facts;
    sw_saver_status(keep->saver, &facts);
    if (facts.saved_sequence == sequence && facts.changes == 0) {
        return 0;
    }
    if (!wait_until(keep, has_asked, 0) || !wait_until(keep, has_saved, 0)) {
        return -1;
    }
    return sw_saver_outcome(keep->saver, keep->asked, reason, SW_REPL_REASON_BYTES) == SW_SAVED_OK
               ? 0
               : -1;
}

int sw_keep_aside(struct sw_keep *keep, uint64_t sequence, char name[SW_ASIDE_NAME_MAX],
                  char reason[SW_REPL_REASON_BYTES])
{
    if (keep->wal == NULL ? save(keep, sequence, reason) != 0
                          : !wait_until(keep, is_durable, sequence)) {
        return -1;
    }
    if (!sw_keep_hold(keep)) {
        return -1;
    }
    if (sw_saver_archive(keep->saver, sequence, name, reason) != 0) {
        sw_saver_let_go(keep->saver);
        return -1;
    }
    return 0;
}

int sw_keep_replace(struct sw_keep *keep, const struct sw_lineage *lineage, uint64_t sequence,
                    const char *aside, int (*beat)(void *context),
                    char reason[SW_REPL_REASON_BYTES])
{
    uint64_t beaten_ns = sw_log_now_ns();
    if (keep->saver == NULL) {
        return 0;
    }
    const struct sw_history history = history_of(lineage);
    if (sw_saver_replace(keep->saver, &history, sequence, aside, reason) != 0) {
        return -1;
    }
    sw_log(SW_LOG_NOTICE,
           "a snapshot of the primary's table, at write %" PRIu64
           ", replaces the contents of the data directory",
           sequence);
    while (!is_replaced(keep, 0)) {
        uint64_t now = sw_log_now_ns();
        if (keep->is_over(keep->context)) {
            return -1;
        }
        if (now - beaten_ns >= BEAT_NS) {
            beaten_ns = now;
            if (beat(keep->context) != 0) {
                return -1;
            }
        }
        rest(keep, is_replaced, 0);
    }
    return 0;
}

int sw_keep_history(struct sw_keep *keep, const struct sw_lineage *lineage,
                    char reason[SW_REPL_REASON_BYTES])
{
    const struct sw_history history = history_of(lineage);
    return keep->saver == NULL ? 0 : sw_saver_set_history(keep->saver, &history, reason);
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

int sw_keep_loaded(struct sw_keep *keep, struct sw_repl_state *state, uint64_t sequence,
                   char reason[SW_REPL_REASON_BYTES])
{
    struct sw_history history;
    struct sw_lineage next;
    const bool is_replica = sw_repl_is_replica(state);
    sw_saver_history(keep->saver, &history);
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
    if (is_replica) {
        return 0;
    }
    sw_repl_next_history(state, sequence, &next);
    if (sw_keep_history(keep, &next, reason) != 0) {
        return -1;
    }
    sw_repl_promote(state, &next);
    return 0;
}

/* --- writes ----------------------------------------------------------------------------------- */

bool sw_keep_wait_for_room(struct sw_keep *keep)
{
    return keep->wal == NULL || wait_until(keep, has_room, 0);
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

bool sw_keep_add(struct sw_keep *keep, const struct sw_wal_write *write)
{
    struct sw_wal_write own;
    if (keep->wal == NULL) {
        return true;
    }
    if (!copy(write, &own)) {
        sw_wal_skip(keep->wal, write->sequence);
        return true;
    }
    while (!sw_wal_add(keep->wal, &own)) {
        if (!wait_until(keep, has_room, 0)) {
            free(own.owned);
            sw_wal_skip(keep->wal, write->sequence);
            return false;
        }
    }
    return true;
}

bool sw_keep_wait_until_safe(struct sw_keep *keep, uint64_t sequence)
{
    return keep->wal == NULL || wait_until(keep, is_safe, sequence);
}
