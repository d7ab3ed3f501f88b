/* SPDX-License-Identifier: MIT
 *
 * wal.c - adds writes to the log, and reports its progress.
 */
#include "server/log/wal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/log/clock.h"
#include "server/log/wal_parts.h"

/* EVERYSEC: age of the oldest write that is not durable at which replies begin to wait. Replies in
 * flight then leave before it is a second old. */
#define WINDOW_NS 900000000ULL

static void raise_to(uint64_t *number, uint64_t least)
{
    uint64_t now = __atomic_load_n(number, __ATOMIC_RELAXED);
    while (now < least && !__atomic_compare_exchange_n(number, &now, least, true, __ATOMIC_ACQ_REL,
                                                       __ATOMIC_RELAXED)) {
    }
}

static void wake_writer(struct sw_wal *wal)
{
    if (__atomic_load_n(&wal->writer_sleeps, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&wal->lock);
        pthread_cond_signal(&wal->work);
        pthread_mutex_unlock(&wal->lock);
    }
}

static void count_taken(struct sw_wal *wal)
{
    __atomic_fetch_add(&wal->taken, 1, __ATOMIC_SEQ_CST);
}

/* Counts a write that goes to no segment. The caller holds `lock`. */
static void take_and_forget(struct sw_wal *wal, uint64_t sequence)
{
    raise_to(&wal->handed, sequence);
    count_taken(wal);
    pthread_cond_signal(&wal->work);
}

/* Drops a write of a broken log. Returns false if the log has restarted meanwhile. The state
 * changes under `lock`, so the snapshot of the restart has every dropped write. */
static bool forget_write(struct sw_wal *wal, const struct sw_wal_write *write)
{
    pthread_mutex_lock(&wal->lock);
    bool broken = sw_wal_state(wal) == SW_WAL_BROKEN;
    if (broken) {
        free(write->owned);
        take_and_forget(wal, write->sequence);
    }
    pthread_mutex_unlock(&wal->lock);
    return broken;
}

void sw_wal_skip(struct sw_wal *wal, uint64_t sequence)
{
    pthread_mutex_lock(&wal->lock);
    wal->trouble =
        wal->trouble != NULL ? wal->trouble : "not enough memory for a record of the log";
    wal->error = ENOMEM;
    take_and_forget(wal, sequence);
    pthread_mutex_unlock(&wal->lock);
}

bool sw_wal_add(struct sw_wal *wal, const struct sw_wal_write *write)
{
    struct sw_wal_slot *slot = &wal->ring[write->sequence % SW_WAL_RING];
    if (sw_wal_state(wal) == SW_WAL_BROKEN && forget_write(wal, write)) {
        return true;
    }
    if (write->sequence > __atomic_load_n(&wal->written, __ATOMIC_ACQUIRE) + SW_WAL_RING) {
        return false;
    }
    slot->write = *write;
    slot->salt = __atomic_load_n(&wal->salt, __ATOMIC_RELAXED);
    slot->columns_check = sw_wal_write_check(write, slot->salt);
    slot->wall_us = sw_log_wall_us();
    __atomic_fetch_add(&wal->backlog_bytes, sw_wal_write_bytes(write), __ATOMIC_RELAXED);
    raise_to(&wal->handed, write->sequence);
    __atomic_store_n(&slot->ready, write->sequence, __ATOMIC_SEQ_CST);
    count_taken(wal);
    wake_writer(wal);
    return true;
}

uint64_t sw_wal_incarnation(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->incarnation, __ATOMIC_ACQUIRE);
}

uint64_t sw_wal_written(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->written, __ATOMIC_ACQUIRE);
}

uint64_t sw_wal_durable(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
}

uint64_t sw_wal_handed(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->handed, __ATOMIC_SEQ_CST);
}

enum sw_wal_state sw_wal_state(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->state, __ATOMIC_ACQUIRE);
}

uint64_t sw_wal_answerable(const struct sw_wal *wal)
{
    uint64_t written = __atomic_load_n(&wal->written, __ATOMIC_ACQUIRE);
    if (wal->config.level == SW_WAL_ALWAYS || sw_wal_state(wal) == SW_WAL_BROKEN) {
        return sw_wal_durable(wal);
    }
    if (wal->config.level == SW_WAL_EVERYSEC) {
        uint64_t since = __atomic_load_n(&wal->since_ns, __ATOMIC_ACQUIRE);
        return since != 0 && sw_log_now_ns() - since >= WINDOW_NS ? sw_wal_durable(wal) : written;
    }
    return written;
}

bool sw_wal_has_room(const struct sw_wal *wal)
{
    uint64_t handed = __atomic_load_n(&wal->handed, __ATOMIC_RELAXED);
    uint64_t written = __atomic_load_n(&wal->written, __ATOMIC_RELAXED);
    return sw_wal_state(wal) == SW_WAL_OK &&
           (handed <= written || handed - written < SW_WAL_RECORDS_MAX) &&
           __atomic_load_n(&wal->backlog_bytes, __ATOMIC_RELAXED) < wal->config.backlog_bytes;
}

void sw_wal_want_durable(struct sw_wal *wal, uint64_t sequence)
{
    if (sw_wal_durable(wal) < sequence) {
        raise_to(&wal->wanted, sequence);
        wake_writer(wal);
    }
}

int sw_wal_wait_durable(struct sw_wal *wal, uint64_t sequence, const bool *stop)
{
    const struct timespec rest = {.tv_nsec = 100000};
    while (sw_wal_durable(wal) < sequence) {
        pthread_mutex_lock(&wal->lock);
        const bool is_over = wal->writer_ended || sw_wal_state(wal) == SW_WAL_BROKEN ||
                             (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED));
        pthread_mutex_unlock(&wal->lock);
        if (is_over) {
            return sw_wal_durable(wal) < sequence ? -1 : 0;
        }
        sw_wal_want_durable(wal, sequence);
        nanosleep(&rest, NULL);
    }
    return 0;
}

uint64_t sw_wal_appended(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->appended, __ATOMIC_RELAXED);
}

bool sw_wal_is_hopeless(const struct sw_wal *wal)
{
    return __atomic_load_n(&wal->is_hopeless, __ATOMIC_ACQUIRE);
}

void sw_wal_abandon(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    wal->gives_up = true;
    pthread_cond_signal(&wal->work);
    pthread_mutex_unlock(&wal->lock);
}

void sw_wal_beside(struct sw_wal *wal, struct sw_wal_beside *beside)
{
    pthread_mutex_lock(&wal->lock);
    const bool is_sound = sw_wal_state(wal) != SW_WAL_BROKEN && wal->current.fd >= 0;
    beside->segment = is_sound ? wal->current.number : 0;
    beside->from = is_sound                ? wal->current.number
                   : wal->prepared.fd >= 0 ? wal->prepared.number
                                           : wal->next_number;
    pthread_mutex_unlock(&wal->lock);
}

void sw_wal_forget(struct sw_wal *wal, uint64_t sequence, uint64_t from)
{
    pthread_mutex_lock(&wal->lock);
    wal->forget_from = wal->forget_from < from ? from : wal->forget_from;
    wal->forget = wal->forget < sequence ? sequence : wal->forget;
    pthread_cond_signal(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
}

void sw_wal_stats(struct sw_wal *wal, struct sw_wal_stats *stats)
{
    *stats = (struct sw_wal_stats){
        .has_begun = __atomic_load_n(&wal->has_begun, __ATOMIC_ACQUIRE),
        .state = sw_wal_state(wal),
    };
    if (!stats->has_begun) { /* sw_wal_open may be at work */
        return;
    }
    stats->durable = sw_wal_durable(wal);
    stats->written = __atomic_load_n(&wal->written, __ATOMIC_ACQUIRE);
    stats->backlog_bytes = __atomic_load_n(&wal->backlog_bytes, __ATOMIC_RELAXED);
    stats->log_bytes = __atomic_load_n(&wal->current_bytes, __ATOMIC_RELAXED);
    pthread_mutex_lock(&wal->lock);
    stats->segments = wal->old_count + wal->unsynced_count + (wal->current.fd >= 0);
    for (size_t i = 0; i < wal->old_count; i++) {
        stats->log_bytes += wal->old[i].bytes;
    }
    for (uint32_t i = 0; i < wal->unsynced_count; i++) {
        stats->log_bytes += wal->unsynced[i].at;
    }
    stats->records = wal->records;
    stats->syncs = wal->syncs;
    stats->breaks = wal->breaks;
    stats->restarts = wal->restarts;
    stats->sync_us = wal->sync_us;
    memcpy(stats->sync_took, wal->sync_took, sizeof(stats->sync_took));
    stats->error = wal->error;
    pthread_mutex_unlock(&wal->lock);
}
