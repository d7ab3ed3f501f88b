/* SPDX-License-Identifier: MIT
 *
 * keeper.c - making segments, and removing those that a snapshot stands for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "server/log/clock.h"
#include "server/log/wal_parts.h"
#include "server/observe/log.h"

#define ZEROS_BYTES (1U << 20)
#define RETRY_NS 1000000000ULL

/* --- making ----------------------------------------------------------------------------------- */

uint64_t sw_wal_segment_bytes(const struct sw_wal *wal)
{
    /* a header, the longest record at the beginning of a page, and the last page for a SEAL */
    uint64_t least = SW_WAL_HEADER_BYTES + SW_WAL_RECORD_BYTES + wal->config.columns_bytes_max +
                     2ULL * SW_WAL_PAGE;
    uint64_t bytes = wal->config.segment_bytes > least ? wal->config.segment_bytes : least;
    return sw_wal_align(bytes, SW_WAL_PAGE);
}

/* Writes zeros over the whole file, so that a sync of records finds their blocks allocated. */
static int fill(const struct sw_io *io, int fd, uint64_t bytes)
{
    void *zeros = calloc(1, ZEROS_BYTES);
    int status = zeros == NULL ? -1 : 0;
    for (uint64_t at = 0; status == 0 && at < bytes; at += ZEROS_BYTES) {
        uint64_t rest = bytes - at;
        status = sw_io_write(io, fd, zeros, rest < ZEROS_BYTES ? rest : ZEROS_BYTES, at);
    }
    int error = errno;
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
    };
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
    file->fd = wal->io->open(wal->directory->fd, SW_WAL_NEW_NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file->fd < 0) {
        return -1;
    }
    if (fill(wal->io, file->fd, bytes) != 0 || put_segment_header(wal, file, through) != 0) {
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    return 0;
}

int sw_wal_name_segment(struct sw_wal *wal, const struct sw_wal_file *file)
{
    char name[SW_WAL_NAME_BYTES];
    sw_wal_name(file->number, name);
    return wal->io->rename(wal->directory->fd, SW_WAL_NEW_NAME, name) != 0
               ? -1
               : wal->io->fsync(wal->directory->fd);
}

void sw_wal_drop_segment(struct sw_wal *wal, struct sw_wal_file *file)
{
    int error = errno;
    wal->io->close(file->fd);
    wal->io->unlink(wal->directory->fd, SW_WAL_NEW_NAME);
    file->fd = -1;
    errno = error;
}

/* Makes the next segment. A name that may not be durable is never used: the number is given up. */
static int prepare(struct sw_wal *wal, struct sw_wal_file *file)
{
    uint64_t durable = __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
    if (sw_wal_make_segment(wal, file, wal->next_number, sw_wal_segment_bytes(wal), durable) != 0) {
        return -1;
    }
    if (wal->io->fdatasync(file->fd) != 0) {
        sw_wal_drop_segment(wal, file);
        return -1;
    }
    wal->next_number++;
    if (sw_wal_name_segment(wal, file) != 0) {
        char name[SW_WAL_NAME_BYTES];
        int error = errno;
        sw_wal_name(file->number, name);
        wal->io->unlink(wal->directory->fd, name);
        sw_wal_drop_segment(wal, file);
        errno = error;
        return -1;
    }
    return 0;
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

/* Removes the oldest segment that a snapshot stands for; `lock` is held, and is not while the file
 * goes. Returns false if there is none. */
static bool remove_one(struct sw_wal *wal)
{
    char name[SW_WAL_NAME_BYTES];
    size_t i = 0;
    while (i < wal->old_count && wal->old[i].last > wal->forget) {
        i++;
    }
    if (i == wal->old_count) {
        return false;
    }
    sw_wal_name(wal->old[i].number, name);
    memmove(&wal->old[i], &wal->old[i + 1], (wal->old_count - i - 1) * sizeof(*wal->old));
    wal->old_count--;
    pthread_mutex_unlock(&wal->lock);
    if (wal->io->unlink(wal->directory->fd, name) != 0 && errno != ENOENT) {
        sw_log(SW_LOG_WARNING, "%s/%s cannot be removed: %s; the next start needs it no more",
               wal->directory->path, name, strerror(errno));
    }
    pthread_mutex_lock(&wal->lock);
    return true;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void wait_a_second(struct sw_wal *wal)
{
    uint64_t at = sw_log_now_ns() + RETRY_NS;
    struct timespec until = {(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
    while (!wal->stopped && pthread_cond_timedwait(&wal->keep_work, &wal->lock, &until) == 0) {
    }
}

/* Makes the next segment, or waits a second before it is tried again; `lock` is held, and is not
 * meanwhile. */
static void prepare_next(struct sw_wal *wal)
{
    struct sw_wal_file file;
    pthread_mutex_unlock(&wal->lock);
    int status = prepare(wal, &file);
    int error = errno;
    pthread_mutex_lock(&wal->lock);
    wal->preparing_fails = status != 0;
    if (status == 0) {
        wal->prepared = file;
    } else {
        wal->error = error;
        sw_log_limited(SW_LOG_WAL, SW_LOG_ERROR,
                       "%s: the next segment of the log cannot be made: %s; it is tried again "
                       "every second",
                       wal->directory->path, strerror(error));
    }
    pthread_cond_signal(&wal->work);
    if (status != 0) {
        wait_a_second(wal);
    }
}

void *sw_wal_run_keeper(void *argument)
{
    struct sw_wal *wal = argument;
    pthread_mutex_lock(&wal->lock);
    while (!wal->stopped) {
        if (remove_one(wal)) {
            continue; /* first, for it may make room for the next segment */
        }
        if (wal->prepared.fd < 0 && (!wal->stopping || wal->needs_segment)) {
            prepare_next(wal);
        } else {
            pthread_cond_wait(&wal->keep_work, &wal->lock);
        }
    }
    pthread_mutex_unlock(&wal->lock);
    return NULL;
}
