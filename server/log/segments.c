/* SPDX-License-Identifier: MIT
 *
 * segments.c - makes segments, and removes segments whose writes a snapshot has.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "server/log/clock.h"
#include "server/log/first_segment.h"
#include "server/log/wal_parts.h"
#include "server/observe/log.h"

#define ZEROS_BYTES (1U << 20)
#define RETRY_NS 1000000000ULL
/* From this average sync size on, syncing file system metadata costs less than writing twice. */
#define LARGE_SYNC_BYTES (512U << 10)

/* --- making ----------------------------------------------------------------------------------- */

uint64_t sw_wal_segment_bytes(const struct sw_wal *wal)
{
    /* a header, the longest record at the beginning of a page, and the pages behind the last */
    uint64_t least = SW_WAL_HEADER_BYTES + SW_WAL_RECORD_BYTES + wal->config.columns_bytes_max +
                     SW_WAL_PAGE + SW_WAL_ENDING_BYTES;
    uint64_t bytes = wal->config.segment_bytes > least ? wal->config.segment_bytes : least;
    return sw_wal_align(bytes, SW_WAL_PAGE);
}

static int put_zeros(const struct sw_io *io, int fd, const void *zeros, uint64_t bytes)
{
    int status = 0;
    for (uint64_t at = 0; status == 0 && at < bytes; at += ZEROS_BYTES) {
        uint64_t rest = bytes - at;
        status = sw_io_write(io, fd, zeros, rest < ZEROS_BYTES ? rest : ZEROS_BYTES, at);
    }
    return status;
}

/* Does the file take writes past the page cache? Some file systems report that only at the first
 * write, so it writes a page.
 */
static bool takes_direct(const struct sw_wal *wal, int fd, const void *zeros)
{
    bool takes = wal->stage != NULL && wal->io->direct(fd, true) == 0;
    return takes && sw_io_write(wal->io, fd, zeros, SW_WAL_PAGE, 0) == 0;
}

/* Allocates the blocks, without writing them. Returns 0, 1 if the file system does not support
 * that, or -1 with errno. */
static int allocate(const struct sw_wal *wal, int fd, uint64_t bytes)
{
    if (wal->io->allocate(fd, (off_t)bytes) == 0) {
        return 0;
    }
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL ? 1 : -1;
}

/* Gives the file its final length. A sync of blocks that were only allocated must also write file
 * system metadata. With ALWAYS, where a client waits for each sync, the blocks are therefore filled
 * with zeros first. With few syncs, or large ones, writing everything twice would cost more. With
 * ALWAYS zeros and records go past the page cache if the file system supports that. */
static int make_room(const struct sw_wal *wal, struct sw_wal_file *file, uint64_t bytes)
{
    void *zeros = aligned_alloc(SW_WAL_PAGE, ZEROS_BYTES);
    if (zeros == NULL) {
        return -1;
    }
    memset(zeros, 0, ZEROS_BYTES);
    file->direct = takes_direct(wal, file->fd, zeros);
    if (!file->direct) {
        (void)wal->io->direct(file->fd, false);
    }
    int status = wal->config.level != SW_WAL_ALWAYS || wal->syncs_are_large
                     ? allocate(wal, file->fd, bytes)
                     : 1;
    if (status == 1) {
        status = put_zeros(wal->io, file->fd, zeros, bytes);
    }
    int error = errno;
    if (wal->io->direct(file->fd, false) != 0 && file->direct && status == 0) {
        status = -1;
        error = errno;
    }
    free(zeros);
    errno = error;
    return status;
}

static int put_segment_header(struct sw_wal *wal, const struct sw_wal_file *file, uint64_t through)
{
    uint8_t bytes[SW_WAL_HEADER_BYTES];
    struct sw_wal_segment segment = {
        .number = file->number,
        .salt = file->salt,
        .shape = wal->config.shape,
        .through = through,
        .wall_us = sw_log_wall_us(),
        .key_form = wal->config.key_form,
        .bytes = file->size,
        .previous = wal->follows,
    };
    wal->io->boot_id(segment.boot);
    memcpy(segment.log_id, wal->log_id, sizeof(segment.log_id));
    sw_wal_segment_encode(&segment, bytes);
    return sw_io_write(wal->io, file->fd, bytes, sizeof(bytes), 0);
}

int sw_wal_make_segment(struct sw_wal *wal, struct sw_wal_file *file, uint64_t number,
                        uint64_t bytes, uint64_t through)
{
    *file = (struct sw_wal_file){
        .fd = -1, .number = number, .size = bytes, .at = SW_WAL_HEADER_BYTES, .told = through};
    if (getrandom(&file->salt, sizeof(file->salt), 0) != (ssize_t)sizeof(file->salt)) {
        return -1;
    }
    /* never reuse the old file: an interrupted rename may have left it with two names */
    wal->io->unlink(wal->directory->fd, SW_WAL_NEW_NAME);
    file->fd = wal->io->open(wal->directory->fd, SW_WAL_NEW_NAME, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file->fd < 0) {
        return -1;
    }
    if (make_room(wal, file, bytes) != 0 || put_segment_header(wal, file, through) != 0) {
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    return 0;
}

int sw_wal_name_segment(struct sw_wal *wal, struct sw_wal_file *file)
{
    char name[SW_WAL_NAME_BYTES];
    sw_wal_name(file->number, name);
    file->direct = file->direct && wal->io->direct(file->fd, true) == 0;
    return wal->io->rename(wal->directory->fd, SW_WAL_NEW_NAME, name) != 0
               ? -1
               : wal->io->fsync(wal->directory->fd);
}

void sw_wal_drop_segment(struct sw_wal *wal, struct sw_wal_file *file)
{
    char name[SW_WAL_NAME_BYTES];
    int error = errno;
    sw_wal_name(file->number, name);
    wal->io->close(file->fd);
    wal->io->unlink(wal->directory->fd, SW_WAL_NEW_NAME);
    wal->io->unlink(wal->directory->fd, name);
    file->fd = -1;
    errno = error;
}

void sw_wal_leave_segment(struct sw_wal *wal, struct sw_wal_file *file)
{
    int error = errno;
    wal->io->close(file->fd);
    file->fd = -1;
    errno = error;
}

void sw_wal_note_first(struct sw_wal *wal, uint64_t first)
{
    const uint64_t now_us = sw_log_wall_us();
    struct sw_wal_first note = {
        .number = first,
        .wall_us = now_us > wal->begun_us ? now_us : wal->begun_us, /* clocks may go back */
    };
    memcpy(note.log_id, wal->log_id, sizeof(note.log_id));
    wal->first = first;
    wal->first_is_noted = sw_first_segment_write(wal->directory, &note) == 0;
    if (!wal->first_is_noted) {
        sw_log_limited(SW_LOG_WAL, SW_LOG_ERROR,
                       "%s/" SW_WAL_FIRST_NAME " cannot be written: %s; the server tries again "
                       "every second. Without it a start does not notice if all segments of this "
                       "run are missing",
                       wal->directory->path, strerror(errno));
    }
}

/* Closes a segment that cannot be used while the ghosts stay. It remains among the old segments:
 * the next segment names it, and a snapshot removes it. */
static void set_aside(struct sw_wal *wal, struct sw_wal_file *file, uint64_t durable)
{
    const int error = errno;
    sw_wal_leave_segment(wal, file);
    pthread_mutex_lock(&wal->lock);
    (void)sw_wal_add_old(wal, file->number, durable, file->at);
    pthread_mutex_unlock(&wal->lock);
    errno = error;
}

/* Makes the next segment. If its name may not be durable, its number is not used again. If the
 * ghosts cannot be removed, later calls try that first, and make no other segment before. */
static int prepare(struct sw_wal *wal, struct sw_wal_file *file)
{
    uint64_t durable = __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
    if (wal->ghosts_may_go && sw_wal_remove_ghosts(wal) != 0) {
        return -1;
    }
    if (sw_wal_make_segment(wal, file, wal->next_number, sw_wal_segment_bytes(wal), durable) != 0) {
        return -1;
    }
    if (wal->io->fdatasync(file->fd) != 0) {
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    pthread_mutex_lock(&wal->lock); /* sw_wal_beside reads next_number */
    wal->next_number++;
    pthread_mutex_unlock(&wal->lock);
    if (sw_wal_name_segment(wal, file) != 0) {
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    if (wal->first == 0) {
        sw_wal_note_first(wal, file->number);
    }
    wal->ghosts_may_go = true;
    if (sw_wal_remove_ghosts(wal) != 0) {
        set_aside(wal, file, durable);
        return -1;
    }
    return 0;
}

bool sw_wal_takes(struct sw_wal *wal, uint64_t columns_bytes)
{
    const bool takes =
        columns_bytes <= sw_wal_room(sw_wal_segment_bytes(wal) - SW_WAL_HEADER_BYTES);
    pthread_mutex_lock(&wal->lock);
    wal->longest_bytes =
        takes && columns_bytes > wal->longest_bytes ? columns_bytes : wal->longest_bytes;
    pthread_mutex_unlock(&wal->lock);
    return takes;
}

/* --- removing --------------------------------------------------------------------------------- */

int sw_wal_add_old(struct sw_wal *wal, uint64_t number, uint64_t last, uint64_t bytes)
{
    if (wal->old_count == wal->old_room) {
        size_t room = wal->old_room * 2 + 16;
        struct sw_wal_old *old = realloc(wal->old, room * sizeof(*old));
        if (old == NULL) {
            return -1; /* the file stays until the next start */
        }
        wal->old = old;
        wal->old_room = room;
    }
    wal->old[wal->old_count++] = (struct sw_wal_old){number, last, bytes};
    return 0;
}

int sw_wal_remove_ghosts(struct sw_wal *wal)
{
    char name[SW_WAL_NAME_BYTES];
    if (wal->ghost_count == 0) {
        return 0;
    }
    for (size_t i = 0; i < wal->ghost_count; i++) {
        sw_wal_name(wal->ghosts[i], name);
        if (wal->io->unlink(wal->directory->fd, name) != 0 && errno != ENOENT) {
            return -1;
        }
    }
    if (wal->io->fsync(wal->directory->fd) != 0) {
        return -1;
    }
    wal->ghost_count = 0;
    return 0;
}

/* The segmenter uses the directory only between these two calls. The caller holds `lock`
 * before the first and after the second; between them it is released. */
static void begin_segmenting(struct sw_wal *wal)
{
    wal->segmenting = true;
    pthread_mutex_unlock(&wal->lock);
}

static void end_segmenting(struct sw_wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    wal->segmenting = false;
    pthread_cond_broadcast(&wal->moved);
}

uint64_t sw_wal_newest(const struct sw_wal *wal)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < wal->old_count; i++) {
        newest = wal->old[i].number > newest ? wal->old[i].number : newest;
    }
    newest = wal->current.fd >= 0 ? wal->current.number : newest;
    return newest == 0 ? SW_WAL_NO_PREVIOUS : newest;
}

/* Returns the newest segment while no segment is being written; 0: none. It must stay: the segment
 * before it may be sealed, which means that another one follows, and may come back if its removal
 * does not survive a crash. */
static uint64_t newest_needed(const struct sw_wal *wal)
{
    uint64_t newest = 0;
    for (size_t i = 0; i < wal->old_count && wal->current.fd < 0; i++) {
        newest = wal->old[i].number > newest ? wal->old[i].number : newest;
    }
    return newest;
}

/* Removes the oldest segment whose writes a snapshot has. The caller holds `lock`; the function
 * releases it while it removes the file. Returns false if there is no such segment. */
static bool remove_one(struct sw_wal *wal)
{
    char name[SW_WAL_NAME_BYTES];
    const uint64_t needed = newest_needed(wal);
    size_t i = 0;
    while (i < wal->old_count &&
           (wal->old[i].last > wal->forget || wal->old[i].number >= wal->forget_from ||
            wal->old[i].number == needed)) {
        i++;
    }
    if (i == wal->old_count) {
        return false;
    }
    sw_wal_name(wal->old[i].number, name);
    memmove(&wal->old[i], &wal->old[i + 1], (wal->old_count - i - 1) * sizeof(*wal->old));
    wal->old_count--;
    begin_segmenting(wal);
    if (wal->io->unlink(wal->directory->fd, name) != 0 && errno != ENOENT) {
        sw_log(SW_LOG_WARNING, "%s/%s cannot be removed: %s; the next start does not need it",
               wal->directory->path, name, strerror(errno));
    }
    end_segmenting(wal);
    return true;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Waits for a second. Returns earlier if the thread is woken, unless `whole` is set. */
static void wait_a_second(struct sw_wal *wal, bool whole)
{
    uint64_t at = sw_log_now_ns() + RETRY_NS;
    struct timespec until = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
    while (!wal->stopped && pthread_cond_timedwait(&wal->segment_work, &wal->lock, &until) == 0 &&
           whole) {
    }
}

/* Breaks the log if the current segment no longer has a name: a start would not find it. The caller
 * holds `lock`. */
static void look_for_name(struct sw_wal *wal)
{
    uint64_t names;
    if (wal->current.fd >= 0 && wal->trouble == NULL && sw_wal_state(wal) != SW_WAL_BROKEN &&
        wal->io->links(wal->current.fd, &names) == 0 && names == 0) {
        wal->trouble = "the files of the log were removed";
        wal->error = ENOENT;
        pthread_cond_signal(&wal->work);
    }
}

/* Breaks the log if data-dir no longer names its directory. The caller holds `lock`; the function
 * releases it meanwhile. */
static void look_for_directory(struct sw_wal *wal)
{
    char reason[SW_WAL_REASON_BYTES];
    begin_segmenting(wal);
    const bool is_there = sw_directory_check(wal->directory, reason, sizeof(reason)) == 0;
    end_segmenting(wal);
    if (!is_there && wal->trouble == NULL && sw_wal_state(wal) != SW_WAL_BROKEN) {
        wal->trouble = "the data directory was moved, removed or replaced";
        wal->error = ENOENT;
        pthread_cond_signal(&wal->work);
    }
}

/* Writes the file first-segment again, if that has failed. The caller holds `lock`; the function
 * releases it meanwhile. */
static void note_first_again(struct sw_wal *wal)
{
    if (wal->first != 0 && !wal->first_is_noted) {
        begin_segmenting(wal);
        sw_wal_note_first(wal, wal->first);
        end_segmenting(wal);
    }
}

/* Makes the next segment. If that fails, waits a second. The caller holds `lock`; the function
 * releases it meanwhile. */
static void prepare_next(struct sw_wal *wal)
{
    struct sw_wal_file file;
    uint64_t bytes = __atomic_load_n(&wal->appended, __ATOMIC_RELAXED);
    uint64_t syncs = wal->syncs - wal->counted_syncs;
    wal->syncs_are_large = syncs > 0 && (bytes - wal->counted_bytes) / syncs >= LARGE_SYNC_BYTES;
    wal->counted_bytes = bytes;
    wal->counted_syncs = wal->syncs;
    wal->follows = sw_wal_newest(wal);
    begin_segmenting(wal);
    int status = prepare(wal, &file);
    int error = errno;
    end_segmenting(wal);
    wal->preparing_fails = status != 0;
    if (status == 0) {
        wal->prepared = file;
    } else {
        wal->error = error;
        sw_log_limited(
            SW_LOG_WAL, SW_LOG_ERROR,
            "%s: cannot make the next segment of the log: %s; the server tries again every second",
            wal->directory->path, strerror(error));
    }
    pthread_cond_signal(&wal->work);
    if (status != 0) {
        wait_a_second(wal, true);
    }
}

void *sw_wal_run_segmenter(void *argument)
{
    struct sw_wal *wal = argument;
    pthread_mutex_lock(&wal->lock);
    while (!wal->stopped) {
        look_for_name(wal);
        if (wal->must_wait) {
            wait_a_second(wal, false);
            continue;
        }
        look_for_directory(wal);
        note_first_again(wal);
        if (remove_one(wal)) {
            continue; /* removals first: they may make room for the next segment */
        }
        if (wal->prepared.fd < 0 && (!wal->stopping || wal->needs_segment)) {
            prepare_next(wal);
        } else {
            wait_a_second(wal, false);
        }
    }
    pthread_mutex_unlock(&wal->lock);
    return NULL;
}
