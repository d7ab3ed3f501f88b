/* SPDX-License-Identifier: MIT
 *
 * writer.c - the threads that write and sync.
 *
 * Only the writer decides where the next record goes and when a sync begins. After a sync has
 * begun, the next record begins a new page. So the writer never writes a page again that a sync may
 * have made durable.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/log/clock.h"
#include "server/log/wal_parts.h"
#include "server/observe/log.h"

#define PIECE_RECORDS 128
#define PIECE_BYTES (4U << 20)
/* ALWAYS: the writer itself syncs a write of at most this size. */
#define SYNC_ITSELF_BYTES (64U << 10)
/* EVERYSEC: age of the oldest write that is not durable at which a sync begins. */
#define SYNC_AFTER_NS 500000000ULL
/* The writer adds a MARK, which names the last durable write, when no write came for this long. */
#define MARK_AFTER_NS 1000000000ULL

/* Records that one system call writes. */
struct piece {
    uint32_t records;
    uint64_t bytes;
    bool is_full; /* the next record does not fit into the segment */
    int count;
    struct iovec parts[PIECE_RECORDS * (1 + SW_WAL_COLUMNS_MAX)];
    uint8_t headers[PIECE_RECORDS][SW_WAL_RECORD_BYTES];
};

static struct sw_wal_slot *slot_of(struct sw_wal *wal, uint64_t sequence)
{
    struct sw_wal_slot *slot = &wal->ring[sequence % SW_WAL_RING];
    return __atomic_load_n(&slot->ready, __ATOMIC_SEQ_CST) == sequence ? slot : NULL;
}

static void set_state(struct sw_wal *wal, enum sw_wal_state state)
{
    if (wal->state != state) { /* only the writer changes it */
        /* stored before wake() reads the waiting flags, which waiters set before they read it */
        __atomic_store_n(&wal->state, state, __ATOMIC_SEQ_CST);
        wal->config.wake(wal->config.context);
    }
}

/* Stops writing, because a write or a sync has failed, or the owner has given the log up. */
static void break_log(struct sw_wal *wal, const char *what, int error)
{
    pthread_mutex_lock(&wal->lock);
    wal->error = error;
    bool is_meant = wal->gives_up || wal->restart.replaces;
    wal->breaks += !wal->restart.replaces;
    bool gives_up = wal->gives_up;
    pthread_mutex_unlock(&wal->lock);
    if (!is_meant) {
        sw_log(SW_LOG_ERROR,
               "%s: %s: %s; the server refuses writes until a snapshot covers the writes that took "
               "effect",
               wal->directory->path, what, strerror(error));
    }
    wal->broke_ns = wal->stuck_ns != 0 ? wal->stuck_ns : sw_log_now_ns();
    wal->stuck_ns = 0;
    __atomic_store_n(&wal->is_hopeless, gives_up, __ATOMIC_RELEASE);
    set_state(wal, SW_WAL_BROKEN);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void add_to_piece(struct sw_wal *wal, struct piece *piece, const struct sw_wal_slot *slot,
                         uint64_t bytes)
{
    uint8_t *header = piece->headers[piece->records++];
    sw_wal_put_header(slot, __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE), wal->current.salt,
                      header);
    piece->parts[piece->count++] = (struct iovec){header, SW_WAL_RECORD_BYTES};
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX && slot->write.columns[i].iov_len > 0; i++) {
        piece->parts[piece->count++] = slot->write.columns[i];
    }
    piece->bytes += bytes;
}

/* Collects the next writes, up to the first that was not added yet or does not fit into the
 * segment. */
static void gather(struct sw_wal *wal, struct piece *piece)
{
    const bool has_segment = wal->current.fd >= 0;
    if (wal->current.direct) {
        wal->current.at = sw_wal_align(wal->current.at, SW_WAL_PAGE);
    }
    const uint64_t end = wal->current.size - SW_WAL_ENDING_BYTES;
    uint64_t room = has_segment ? end - wal->current.at : 0;
    piece->records = 0;
    piece->bytes = 0;
    piece->count = 0;
    piece->is_full = false;
    while (piece->records < PIECE_RECORDS && piece->bytes < PIECE_BYTES) {
        const struct sw_wal_slot *slot = slot_of(wal, wal->written + piece->records + 1);
        if (slot == NULL) {
            return;
        }
        uint64_t bytes = SW_WAL_RECORD_BYTES + sw_wal_write_bytes(&slot->write);
        piece->is_full = !has_segment || wal->current.at > end || bytes > room - piece->bytes;
        if (piece->is_full) {
            return;
        }
        add_to_piece(wal, piece, slot, bytes);
    }
}

/* Publishes that the piece is written, and frees the memory of its writes. */
static void publish(struct sw_wal *wal, const struct piece *piece)
{
    uint64_t bytes = 0;
    for (uint64_t i = 1; i <= piece->records; i++) {
        struct sw_wal_slot *slot = slot_of(wal, wal->written + i);
        bytes += sw_wal_write_bytes(&slot->write);
        free(slot->write.owned);
        slot->write.owned = NULL;
    }
    wal->wrote_ns = sw_log_now_ns();
    pthread_mutex_lock(&wal->lock);
    if (wal->since_ns == 0) {
        __atomic_store_n(&wal->since_ns, wal->wrote_ns, __ATOMIC_RELEASE);
    }
    if (wal->syncing && wal->since_next_ns == 0) {
        wal->since_next_ns = wal->wrote_ns;
    }
    wal->records += piece->records;
    __atomic_store_n(&wal->written, wal->written + piece->records, __ATOMIC_RELEASE);
    sw_wal_take_catalog(wal, wal->written);
    pthread_mutex_unlock(&wal->lock);
    __atomic_fetch_sub(&wal->backlog_bytes, bytes, __ATOMIC_RELAXED);
    if (wal->config.level != SW_WAL_ALWAYS) {
        wal->config.wake(wal->config.context);
    }
}

static void write_piece(struct sw_wal *wal, struct piece *piece)
{
    struct sw_wal_file *current = &wal->current;
    int status = current->direct ? sw_wal_write_direct(wal->io, current->fd, wal->stage,
                                                       piece->parts, piece->count, current->at)
                                 : sw_wal_write_pieces(wal->io, current->fd, piece->parts,
                                                       piece->count, current->at);
    if (status != 0) {
        break_log(wal, "a write of the log has failed", errno);
        return;
    }
    current->at += piece->bytes;
    current->last += piece->records;
    current->told = __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
    __atomic_store_n(&wal->appended, wal->appended + piece->bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&wal->current_bytes, current->at, __ATOMIC_RELAXED);
    publish(wal, piece);
}

/* Returns true if there is no next segment because the last attempt to make it failed. The caller
 * holds `lock`. */
static bool segment_is_missing(const struct sw_wal *wal)
{
    return wal->prepared.fd < 0 && wal->preparing_fails;
}

/* Returns FULL if the next segment is missing, and the current one has less than margin_bytes left.
 * Writes that were admitted before can use these bytes, so only new writes are refused. The caller
 * holds `lock`. */
static enum sw_wal_state state_by_room(const struct sw_wal *wal)
{
    const struct sw_wal_file *file = &wal->current;
    const bool has_margin = file->fd >= 0 && file->at + SW_WAL_ENDING_BYTES <= file->size &&
                            file->size - SW_WAL_ENDING_BYTES - file->at >= wal->margin_bytes;
    return segment_is_missing(wal) && !has_margin ? SW_WAL_FULL : SW_WAL_OK;
}

/* Makes the prepared segment the current one. */
static void take_prepared(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    if (wal->current.fd >= 0) {
        wal->unsynced[wal->unsynced_count++] = wal->current;
    }
    wal->prepared.last = wal->current.last;
    wal->current = wal->prepared;
    wal->prepared.fd = -1;
    sw_wal_take_catalog(wal, wal->written);
    pthread_cond_signal(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
    __atomic_store_n(&wal->salt, wal->current.salt, __ATOMIC_RELAXED);
    if (sw_wal_put_catalog(wal, &wal->current) != 0) {
        break_log(wal, "a write of the log has failed", errno);
    }
    __atomic_store_n(&wal->current_bytes, wal->current.at, __ATOMIC_RELAXED);
}

/* Continues in the next segment, if it exists and at most SW_WAL_UNSYNCED_MAX - 1 full segments are
 * unsynced. Writes the SEAL while the next segment is prepared: a sealed segment has a follower. */
static void rotate(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    bool is_there = wal->prepared.fd >= 0 && wal->unsynced_count < SW_WAL_UNSYNCED_MAX;
    bool is_stuck = segment_is_missing(wal) && slot_of(wal, wal->written + 1) != NULL;
    wal->needs_segment = !is_there;
    wal->stuck_ns = !is_stuck ? 0 : wal->stuck_ns != 0 ? wal->stuck_ns : sw_log_now_ns();
    pthread_cond_signal(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
    if (is_there && wal->current.fd >= 0 && sw_wal_put_mark(wal, &wal->current, SW_WAL_SEAL) != 0) {
        break_log(wal, "a write of the log has failed", errno);
    } else if (is_there) {
        take_prepared(wal);
    }
}

/* --- syncing ---------------------------------------------------------------------------------- */

/* Returns true if a sync must begin now. The caller holds `lock`. */
static bool sync_is_due(const struct sw_wal *wal)
{
    uint64_t durable = wal->durable, written = wal->written;
    if (wal->syncing || wal->trouble != NULL) {
        return false;
    }
    if (wal->unsynced_count > 0) {
        return true;
    }
    if (written == durable) {
        return false;
    }
    return wal->stopping || wal->config.level == SW_WAL_ALWAYS ||
           __atomic_load_n(&wal->wanted, __ATOMIC_RELAXED) > durable ||
           (wal->config.level == SW_WAL_EVERYSEC &&
            sw_log_now_ns() - wal->since_ns >= SYNC_AFTER_NS);
}

/* Begins a sync of all written records. The caller holds `lock`. */
static void begin_sync(struct sw_wal *wal)
{
    for (uint32_t i = 0; i < wal->unsynced_count; i++) {
        wal->sync_fds[i] = wal->unsynced[i].fd;
    }
    wal->sync_fds[wal->unsynced_count] = wal->current.fd;
    wal->sync_old = wal->unsynced_count;
    wal->sync_upto = wal->written;
    wal->syncing = true;
    wal->since_next_ns = 0;
    wal->current.at = sw_wal_align(wal->current.at, SW_WAL_PAGE);
}

/* Syncs the files in order. Never repeats a failed sync: the kernel may have dropped the pages that
 * it could not write. Returns errno, or 0. */
static int sync_files(const struct sw_wal *wal)
{
    for (uint32_t i = 0; i <= wal->sync_old; i++) {
        if (wal->io->fdatasync(wal->sync_fds[i]) != 0) {
            return errno;
        }
    }
    return 0;
}

/* Publishes that the writes of the sync are durable, and closes full segments. The caller holds
 * `lock`. */
static void finish_sync(struct sw_wal *wal)
{
    for (uint32_t i = 0; i < wal->sync_old; i++) {
        const struct sw_wal_file *file = &wal->unsynced[i];
        wal->io->close(file->fd);
        (void)sw_wal_add_old(wal, file->number, file->last, file->at);
    }
    wal->unsynced_count -= wal->sync_old;
    memmove(&wal->unsynced[0], &wal->unsynced[wal->sync_old],
            wal->unsynced_count * sizeof(wal->unsynced[0]));
    __atomic_store_n(&wal->since_ns, wal->since_next_ns, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->durable, wal->sync_upto, __ATOMIC_RELEASE);
    if (wal->sync_old > 0) {
        pthread_cond_signal(&wal->segment_work);
    }
}

static void sync_once(struct sw_wal *wal)
{
    pthread_mutex_unlock(&wal->lock);
    uint64_t began = sw_log_now_ns();
    int error = sync_files(wal);
    uint64_t took_us = (sw_log_now_ns() - began) / 1000;
    if (wal->config.synced != NULL) {
        wal->config.synced(wal->config.context, took_us);
    }
    pthread_mutex_lock(&wal->lock);
    wal->syncs++;
    wal->sync_us += took_us;
    wal->sync_took[sw_histogram_bucket(took_us)]++;
    wal->syncing = false;
    if (error == 0) {
        finish_sync(wal);
    } else {
        wal->trouble = "a sync of the log has failed";
        wal->error = error;
    }
    pthread_cond_signal(&wal->work);
}

void *sw_wal_run_syncer(void *argument)
{
    struct sw_wal *wal = argument;
    pthread_mutex_lock(&wal->lock);
    while (!wal->stopped) {
        if (wal->syncing && !wal->writer_syncs) {
            sync_once(wal);
            pthread_mutex_unlock(&wal->lock);
            wal->config.wake(wal->config.context);
            pthread_mutex_lock(&wal->lock);
        } else {
            pthread_cond_wait(&wal->sync_work, &wal->lock);
        }
    }
    pthread_mutex_unlock(&wal->lock);
    return NULL;
}

/* --- the writer ------------------------------------------------------------------------------- */

static uint64_t patience_ns(const struct sw_wal *wal)
{
    return wal->config.patience_ms * 1000000U;
}

/* Returns true if an applied write has waited for a segment for patience_ms. */
static bool has_waited(const struct sw_wal *wal)
{
    return wal->stuck_ns != 0 && sw_log_now_ns() - wal->stuck_ns >= patience_ns(wal);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the time at which the writer must act even without a new write; 0: never. The caller
 * holds `lock`. */
static uint64_t alarm_ns(const struct sw_wal *wal)
{
    if (wal->syncing || wal->trouble != NULL) {
        return 0;
    }
    uint64_t at = wal->stuck_ns != 0 ? wal->stuck_ns + patience_ns(wal) : UINT64_MAX;
    if (wal->written != wal->durable && wal->config.level == SW_WAL_EVERYSEC) {
        at = sooner(at, wal->since_ns + SYNC_AFTER_NS);
    }
    if (wal->written == wal->durable && wal->current.told < wal->durable && !wal->needs_segment) {
        at = sooner(at, wal->wrote_ns + MARK_AFTER_NS);
    }
    return at == UINT64_MAX ? 0 : at;
}

/* Returns true if the writer need not sleep. The caller holds `lock`. */
static bool has_work(struct sw_wal *wal)
{
    bool waits =
        wal->needs_segment && (wal->prepared.fd < 0 || wal->unsynced_count == SW_WAL_UNSYNCED_MAX);
    return wal->trouble != NULL || wal->gives_up || sync_is_due(wal) || has_waited(wal) ||
           state_by_room(wal) != wal->state ||
           (!waits && (wal->current.fd < 0 || slot_of(wal, wal->written + 1) != NULL));
}

/* Sleeps until the writer has work. The caller holds `lock`. */
static void sleep_until_work(struct sw_wal *wal)
{
    uint64_t at = alarm_ns(wal);
    struct timespec until = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
    __atomic_store_n(&wal->writer_sleeps, true, __ATOMIC_SEQ_CST);
    if (!has_work(wal) && (at == 0 || sw_log_now_ns() < at)) {
        if (at == 0) {
            pthread_cond_wait(&wal->work, &wal->lock);
        } else {
            pthread_cond_timedwait(&wal->work, &wal->lock, &until);
        }
    }
    __atomic_store_n(&wal->writer_sleeps, false, __ATOMIC_SEQ_CST);
}

/* Returns true if the owner stops the log and nothing is left that the writer can do. The caller
 * holds `lock`. */
static bool is_finished(struct sw_wal *wal)
{
    return wal->stopping && !wal->syncing && wal->trouble == NULL && wal->written == wal->durable &&
           (slot_of(wal, wal->written + 1) == NULL ||
            (wal->needs_segment && wal->prepared.fd < 0 && wal->preparing_fails));
}

/* Writes a MARK if the durable number has risen and no write has come for MARK_AFTER_NS. */
static void mark(struct sw_wal *wal)
{
    uint64_t durable = __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
    if (wal->written == durable && wal->current.told < durable &&
        slot_of(wal, wal->written + 1) == NULL &&
        sw_log_now_ns() - wal->wrote_ns >= MARK_AFTER_NS &&
        sw_wal_put_mark(wal, &wal->current, SW_WAL_MARK) != 0) {
        break_log(wal, "a write of the log has failed", errno);
    }
}

/* Writes the waiting records, or rotates, or writes a MARK. Returns false if the log is broken. */
static bool write_or_rotate(struct sw_wal *wal, struct piece *piece)
{
    pthread_mutex_lock(&wal->lock);
    const char *trouble = wal->gives_up     ? "the end"
                          : has_waited(wal) ? "no room for a write that took effect"
                                            : wal->trouble;
    int error = wal->error;
    pthread_mutex_unlock(&wal->lock);
    if (trouble != NULL) {
        break_log(wal, trouble, error);
        return false;
    }
    gather(wal, piece);
    if (piece->records > 0) {
        write_piece(wal, piece);
    } else if (piece->is_full || wal->current.fd < 0) {
        rotate(wal);
    } else {
        mark(wal);
    }
    if (wal->state != SW_WAL_BROKEN) {
        pthread_mutex_lock(&wal->lock);
        const enum sw_wal_state state = state_by_room(wal);
        pthread_mutex_unlock(&wal->lock);
        set_state(wal, state);
    }
    return wal->state != SW_WAL_BROKEN;
}

/* Writes the END record and syncs it, if every added write was written. */
static void end_log(struct sw_wal *wal)
{
    if (wal->current.fd >= 0 && wal->written == __atomic_load_n(&wal->handed, __ATOMIC_ACQUIRE) &&
        (sw_wal_put_mark(wal, &wal->current, SW_WAL_END) != 0 ||
         wal->io->fdatasync(wal->current.fd) != 0)) {
        sw_log(SW_LOG_WARNING, "%s: the end of the log cannot be written: %s; nothing is lost",
               wal->directory->path, strerror(errno));
    }
}

/* Begins a sync. After a short write, if no further write waits, the writer syncs itself. Writes
 * that arrive meanwhile would have to wait for the next sync anyway, and waking the syncer takes as
 * long as a write. The caller holds `lock`. */
static void start_sync(struct sw_wal *wal, const struct piece *piece)
{
    begin_sync(wal);
    wal->writer_syncs = wal->config.level == SW_WAL_ALWAYS && wal->sync_old == 0 &&
                        piece->bytes <= SYNC_ITSELF_BYTES && slot_of(wal, wal->written + 1) == NULL;
    if (wal->writer_syncs) {
        sync_once(wal);
        wal->writer_syncs = false;
        pthread_mutex_unlock(&wal->lock);
        wal->config.wake(wal->config.context);
        pthread_mutex_lock(&wal->lock);
    } else {
        pthread_cond_signal(&wal->sync_work);
    }
}

void *sw_wal_run_writer(void *argument)
{
    struct sw_wal *wal = argument;
    struct piece *piece = malloc(sizeof(*piece));
    bool goes_on = true;
    if (piece == NULL) {
        sw_wal_abandon(wal);
    }
    while (goes_on) {
        if (wal->state == SW_WAL_BROKEN || !write_or_rotate(wal, piece)) {
            goes_on = sw_wal_wait_for_restart(wal);
            continue;
        }
        pthread_mutex_lock(&wal->lock);
        if (sync_is_due(wal)) {
            start_sync(wal, piece);
        }
        goes_on = !is_finished(wal);
        if (goes_on) {
            sleep_until_work(wal);
        }
        pthread_mutex_unlock(&wal->lock);
    }
    if (wal->state != SW_WAL_BROKEN) {
        end_log(wal);
    }
    free(piece);
    pthread_mutex_lock(&wal->lock);
    wal->writer_ended = true;
    pthread_cond_broadcast(&wal->moved);
    pthread_mutex_unlock(&wal->lock);
    return NULL;
}
