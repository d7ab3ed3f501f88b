/* SPDX-License-Identifier: MIT
 *
 * wal_open.c - begins a log after the recovered writes, and ends it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "server/log/clock.h"
#include "server/log/wal_parts.h"
#include "server/observe/log.h"

/* --- the first segment ------------------------------------------------------------------------ */

/* State of copying recovered writes, which may never have been synced, to the first segment. */
struct copying {
    struct sw_wal *wal;
    struct sw_wal_file *file; /* NULL: only counts bytes */
    uint64_t bytes;
    bool cannot_write;
};

static int copy_write(void *context, const struct sw_wal_record *record, uint8_t *columns,
                      char reason[SW_WAL_REASON_BYTES])
{
    struct copying *copying = context;
    struct sw_wal_file *file = copying->file;
    uint64_t bytes = (uint64_t)record->units * SW_WAL_ALIGN;
    uint8_t header[SW_WAL_RECORD_BYTES];
    copying->bytes += bytes;
    if (file == NULL) {
        return 0;
    }
    struct sw_wal_slot slot = {
        .write = sw_wal_write_of(record, columns),
        .wall_us = record->wall_us,
        .salt = ~file->salt, /* differs from the segment's, so that the checksum is computed anew */
    };
    sw_wal_put_header(&slot, file->told, file->salt, header);
    struct iovec pieces[2] = {{header, sizeof(header)}, slot.write.columns[0]};
    if (sw_wal_write_pieces(copying->wal->io, file->fd, pieces, 2, file->at) != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "%s: what was recovered cannot be copied: %s",
                 copying->wal->directory->path, strerror(errno));
        copying->cannot_write = true;
        return -1;
    }
    file->at += bytes;
    return 0;
}

static int copy_end(void *context, char reason[SW_WAL_REASON_BYTES])
{
    (void)context;
    (void)reason;
    return 0;
}

/* Returns the write up to which a new segment needs no copies: it is durable. */
static uint64_t after_of(const struct sw_wal_plan *plan)
{
    return plan->evidence > plan->base ? plan->evidence : plan->base;
}

static int copy_tail(struct copying *copying, const struct sw_log_scan *scan,
                     char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_wal_taker taker = {copy_write, copy_end, copying};
    return sw_wal_replay(scan, copying->wal->directory, after_of(&scan->plan), sw_wal_heap(),
                         &taker, reason);
}

static int say(const struct sw_wal *wal, const char *what, char reason[SW_WAL_REASON_BYTES])
{
    snprintf(reason, SW_WAL_REASON_BYTES, "%s: %s: %s", wal->directory->path, what,
             strerror(errno));
    return -1;
}

/* Lists the segments that stay until a snapshot has their writes, and the ghosts, which are removed
 * soon. */
static int note_segments(struct sw_wal *wal, const struct sw_log_scan *scan,
                         char reason[SW_WAL_REASON_BYTES])
{
    wal->ghosts = calloc(scan->count + 1, sizeof(*wal->ghosts));
    if (wal->ghosts == NULL) {
        return say(wal, "the list of its segments", reason);
    }
    for (size_t i = 0; i < scan->count; i++) {
        const struct sw_wal_found *found = &scan->found[i];
        const uint64_t begun_us = found->segment.wall_us;
        wal->begun_us = begun_us > wal->begun_us ? begun_us : wal->begun_us;
        if (sw_wal_is_superfluous(found)) {
            wal->ghosts[wal->ghost_count++] = found->number;
        } else if (sw_wal_add_old(wal, found->number, found->run.last, found->run.end) != 0) {
            return say(wal, "the list of its segments", reason);
        } else if (found->run.last > scan->plan.base) {
            wal->appended += found->run.end;
        }
    }
    return 0;
}

/* Makes the first segment of this process. Once it has its name, all recovered writes are durable.
 * Returns 0. Returns -1 and an error in `reason`, without a current segment; copying->cannot_write
 * tells whether the cause was a failed write. */
static int put_first(struct copying *copying, const struct sw_log_scan *scan,
                     char reason[SW_WAL_REASON_BYTES])
{
    struct sw_wal *wal = copying->wal;
    struct sw_wal_file *file = &wal->current;
    uint64_t end = scan->plan.end;
    uint64_t bytes = sw_wal_align(sw_wal_segment_bytes(wal) + copying->bytes, SW_WAL_PAGE);
    wal->follows = sw_wal_newest(wal);
    if (sw_wal_make_segment(wal, file, wal->next_number++, bytes, end) != 0) {
        copying->cannot_write = true;
        return say(wal, "the first segment of the log cannot be made", reason);
    }
    copying->file = file;
    file->last = after_of(&scan->plan);
    sw_wal_take_catalog(wal, UINT64_MAX - 1);
    if (sw_wal_put_catalog(wal, file) != 0) {
        copying->cannot_write = true;
        (void)say(wal, "the first segment of the log cannot be written", reason);
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    if (copy_tail(copying, scan, reason) != 0) {
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    file->last = end;
    file->at = sw_wal_align(file->at, SW_WAL_PAGE);
    copying->cannot_write = true;
    if (wal->io->fdatasync(file->fd) != 0 || sw_wal_name_segment(wal, file) != 0) {
        (void)say(wal, "the first segment of the log cannot be synced, or named", reason);
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    sw_wal_note_first(wal, file->number);
    wal->ghosts_may_go = true;
    if (sw_wal_remove_ghosts(wal) != 0) {
        (void)say(wal, "segments that the next start must not read cannot be removed", reason);
        sw_wal_leave_segment(wal, file);
        (void)sw_wal_add_old(wal, file->number, end, file->at);
        return -1;
    }
    return 0;
}

/* Begins the log. If the first segment cannot be written now, the log begins without one. Writes up
 * to plan->evidence are known to be durable. If more writes were recovered, only a snapshot can
 * make them durable, so the log is BROKEN; otherwise it is FULL. */
static int begin_log(struct sw_wal *wal, const struct sw_log_scan *scan,
                     char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_wal_plan *plan = &scan->plan;
    struct copying copying = {.wal = wal};
    if (note_segments(wal, scan, reason) != 0 || copy_tail(&copying, scan, reason) != 0) {
        return -1;
    }
    if (put_first(&copying, scan, reason) == 0) {
        return 0;
    }
    if (!copying.cannot_write) {
        return -1;
    }
    sw_log(SW_LOG_ERROR, "%s; reads are served, and writes are refused until it can", reason);
    wal->current.last = plan->end;
    wal->durable = after_of(plan);
    wal->state = wal->durable < plan->end ? SW_WAL_BROKEN : SW_WAL_FULL;
    wal->needs_segment = true;
    wal->preparing_fails = true;
    wal->broke_ns = sw_log_now_ns();
    wal->breaks = wal->state == SW_WAL_BROKEN;
    return 0;
}

/* --- open and close --------------------------------------------------------------------------- */

static void init_locks(struct sw_wal *wal)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&wal->lock, NULL);
    pthread_cond_init(&wal->work, &monotonic);
    pthread_cond_init(&wal->sync_work, &monotonic);
    pthread_cond_init(&wal->segment_work, &monotonic);
    pthread_cond_init(&wal->moved, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

struct sw_wal *sw_wal_create(const struct sw_wal_config *config)
{
    struct sw_wal *wal = calloc(1, sizeof(*wal));
    struct sw_wal_slot *ring = calloc(SW_WAL_RING, sizeof(*ring));
    void *stage =
        config->level == SW_WAL_ALWAYS ? aligned_alloc(SW_WAL_PAGE, SW_WAL_STAGE_BYTES) : NULL;
    uint64_t incarnation = 0;
    if (wal == NULL || ring == NULL || (stage == NULL && config->level == SW_WAL_ALWAYS) ||
        getrandom(&incarnation, sizeof(incarnation), 0) != (ssize_t)sizeof(incarnation)) {
        free(wal);
        free(ring);
        free(stage);
        return NULL;
    }
    wal->config = *config;
    wal->ring = ring;
    wal->stage = stage;
    __atomic_store_n(&wal->incarnation, incarnation | 1, __ATOMIC_RELEASE);
    wal->current.fd = -1;
    wal->prepared.fd = -1;
    init_locks(wal);
    return wal;
}

void sw_wal_destroy(struct sw_wal *wal)
{
    if (wal == NULL) {
        return;
    }
    for (uint32_t i = 0; i < SW_WAL_RING; i++) {
        free(wal->ring[i].write.owned);
    }
    pthread_mutex_destroy(&wal->lock);
    pthread_cond_destroy(&wal->work);
    pthread_cond_destroy(&wal->sync_work);
    pthread_cond_destroy(&wal->segment_work);
    pthread_cond_destroy(&wal->moved);
    free(wal->catalog.message);
    free(wal->next_catalog.message);
    free(wal->ring);
    free(wal->stage);
    free(wal->ghosts);
    free(wal->old);
    free(wal);
}

/* Closes the files. Holds the lock, because other threads read statistics until the end. */
static void close_files(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    for (uint32_t i = 0; i < wal->unsynced_count; i++) {
        wal->io->close(wal->unsynced[i].fd);
    }
    if (wal->current.fd >= 0) {
        wal->io->close(wal->current.fd);
    }
    wal->unsynced_count = 0;
    wal->current.fd = -1;
    pthread_mutex_unlock(&wal->lock);
}

/* Ends the threads except the writer. Removes the unused next segment, unless the log is broken:
 * the current segment may then have a SEAL, because a failed write may have reached storage. */
static void stop_others(struct sw_wal *wal, bool syncer, bool segmenter)
{
    pthread_mutex_lock(&wal->lock);
    wal->stopped = true;
    pthread_cond_broadcast(&wal->sync_work);
    pthread_cond_broadcast(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
    if (syncer) {
        pthread_join(wal->syncer, NULL);
    }
    if (segmenter) {
        pthread_join(wal->segmenter, NULL);
    }
    if (wal->prepared.fd >= 0) {
        char name[SW_WAL_NAME_BYTES];
        sw_wal_name(wal->prepared.number, name);
        wal->io->close(wal->prepared.fd);
        wal->prepared.fd = -1;
        if (wal->state != SW_WAL_BROKEN && wal->current.fd >= 0) {
            wal->io->unlink(wal->directory->fd, name);
        }
    }
}

/* Returns margin_bytes. Only the memory of all loops limits the writes in flight at the moment when
 * the log begins to refuse writes. In practice they are smaller than backlog_bytes. */
static uint64_t margin_of(const struct sw_wal *wal)
{
    const uint64_t longest =
        sw_wal_align(SW_WAL_RECORD_BYTES + wal->config.columns_bytes_max, SW_WAL_PAGE);
    const uint64_t half = sw_wal_segment_bytes(wal) / 2;
    const uint64_t usual = half < wal->config.backlog_bytes ? half : wal->config.backlog_bytes;
    return usual > longest ? usual : longest;
}

static int start_threads(struct sw_wal *wal)
{
    bool syncer = pthread_create(&wal->syncer, NULL, sw_wal_run_syncer, wal) == 0;
    bool segmenter =
        syncer && pthread_create(&wal->segmenter, NULL, sw_wal_run_segmenter, wal) == 0;
    bool writer = segmenter && pthread_create(&wal->writer, NULL, sw_wal_run_writer, wal) == 0;
    if (!writer) {
        stop_others(wal, syncer, segmenter);
    }
    return writer ? 0 : -1;
}

/* Returns the number of the first new segment: higher than all existing segments, and than those
 * that the snapshot or first-segment names. The latter are absent if the snapshot is a restored
 * backup, or if somebody removed the log; the new segment must still count as newer. */
static uint64_t first_number(const struct sw_log_scan *scan)
{
    const struct sw_wal_beside *beside = &scan->plan.beside;
    uint64_t next = scan->count > 0 ? scan->found[scan->count - 1].number + 1 : 1;
    next = next > beside->segment ? next : beside->segment + 1;
    next = next > scan->plan.first.number ? next : scan->plan.first.number + 1;
    return next > beside->from ? next : beside->from;
}

int sw_wal_open(struct sw_wal *wal, const struct sw_directory *directory,
                const struct sw_log_scan *scan, char reason[SW_WAL_REASON_BYTES])
{
    uint64_t end = scan->plan.end;
    wal->directory = directory;
    wal->io = directory->io;
    memcpy(wal->log_id, directory->log_id, sizeof(wal->log_id));
    /* atomic: loops may call sw_wal_has_room */
    __atomic_store_n(&wal->written, end, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->durable, end, __ATOMIC_RELEASE);
    __atomic_store_n(&wal->handed, end, __ATOMIC_RELEASE);
    wal->begun_at = end;
    wal->margin_bytes = margin_of(wal);
    wal->next_number = first_number(scan);
    if (begin_log(wal, scan, reason) != 0) {
        close_files(wal);
        return -1;
    }
    wal->salt = wal->current.salt;
    wal->current_bytes = wal->current.at;
    if (start_threads(wal) != 0) {
        snprintf(reason, SW_WAL_REASON_BYTES, "the threads of the write-ahead log do not start");
        close_files(wal);
        return -1;
    }
    __atomic_store_n(&wal->has_begun, true, __ATOMIC_RELEASE);
    return 0;
}

/* Returns true if the current segment still has a name, and data-dir still names its directory.
 * Logs an error if not. */
static bool is_there(const struct sw_wal *wal)
{
    uint64_t names;
    if (wal->current.fd >= 0 && wal->io->links(wal->current.fd, &names) == 0 && names == 0) {
        sw_log(SW_LOG_ERROR, "%s: the files of the log were removed", wal->directory->path);
        return false;
    }
    char reason[SW_WAL_REASON_BYTES];
    if (sw_directory_check(wal->directory, reason, sizeof(reason)) != 0) {
        sw_log(SW_LOG_ERROR, "%s", reason);
        return false;
    }
    return true;
}

int sw_wal_close(struct sw_wal *wal)
{
    if (!wal->has_begun) {
        return 0;
    }
    pthread_mutex_lock(&wal->lock);
    wal->stopping = true;
    pthread_cond_broadcast(&wal->work);
    pthread_cond_broadcast(&wal->segment_work);
    pthread_mutex_unlock(&wal->lock);
    pthread_join(wal->writer, NULL);
    stop_others(wal, true, true);
    bool holds = wal->state != SW_WAL_BROKEN && is_there(wal);
    close_files(wal);
    if (wal->durable != wal->handed) {
        sw_log(SW_LOG_ERROR, "%s: writes %llu to %llu took effect, but the log may lack them",
               wal->directory->path, (unsigned long long)(wal->durable + 1),
               (unsigned long long)wal->handed);
        holds = false;
    }
    return holds ? 0 : -1;
}
