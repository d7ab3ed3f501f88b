/* SPDX-License-Identifier: MIT
 *
 * snapshot_restore.c - several threads that each take the next block.
 */
#include "server/log/snapshot_restore.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/string_value.h"
#include "proto/value_type.h"
#include "table/status.h"

/* Threads in addition to one per processor: some wait for the disk while the others compute. */
#define MORE_THREADS 2
#define THREADS_MAX 16

struct restoring {
    struct sw_snapshot_restore *job;
    uint64_t blocks;
    uint64_t next; /* atomic: block */
    bool failed;   /* atomic: no further block is begun */
    pthread_mutex_t mutex;
    bool has_failed; /* under the mutex, like the job's fields about the failure */
};

/* A thread's memory. */
struct reader {
    uint8_t *block;
    void *keys, *values; /* copies of columns that are wider in the table; else NULL */
};

/* Stores the failure of a block. If several blocks fail, keeps the one that comes first in the
 * file. */
static void note_failed_block(struct restoring *restoring, uint64_t at, int error,
                              const char *wrong)
{
    struct sw_snapshot_restore *job = restoring->job;
    pthread_mutex_lock(&restoring->mutex);
    if (!restoring->has_failed || at < job->failed_at) {
        restoring->has_failed = true;
        job->failed_at = at;
        job->error = error;
        job->wrong = wrong;
    }
    pthread_mutex_unlock(&restoring->mutex);
    __atomic_store_n(&restoring->failed, true, __ATOMIC_RELAXED);
}

static bool open_reader(const struct sw_snapshot_restore *job, struct reader *reader)
{
    const uint32_t full = job->header->block_entries;
    *reader = (struct reader){.block = malloc(sw_snapshot_block_bytes(job->header, full))};
    bool enough = reader->block != NULL;
    if (job->key_bytes != job->header->key_bytes) {
        reader->keys = malloc((size_t)full * job->key_bytes);
        enough = enough && reader->keys != NULL;
    }
    if (job->value_bytes != job->header->value_bytes) {
        reader->values = malloc((size_t)full * job->value_bytes);
        enough = enough && reader->values != NULL;
    }
    return enough;
}

static void close_reader(struct reader *reader)
{
    free(reader->block);
    free(reader->keys);
    free(reader->values);
}

/* Widens the elements of a column by zeros after each one. Returns `wide`, or the column itself if
 * the widths are equal. */
static void *widen(uint8_t *column, uint32_t from_bytes, void *wide, uint32_t to_bytes,
                   uint32_t count)
{
    if (from_bytes == to_bytes) {
        return column;
    }
    memset(wide, 0, (size_t)count * to_bytes);
    for (uint32_t i = 0; i < count; i++) {
        memcpy((uint8_t *)wide + (size_t)i * to_bytes, column + (size_t)i * from_bytes, from_bytes);
    }
    return wide;
}

static void restore_block(struct restoring *restoring, struct reader *reader, uint64_t number)
{
    struct sw_snapshot_restore *job = restoring->job;
    const struct sw_snapshot_header *header = job->header;
    const uint32_t entries = sw_snapshot_entries_of(header, number);
    const uint64_t at = sw_snapshot_block_at(header, number);
    const size_t bytes = (size_t)sw_snapshot_block_bytes(header, entries);
    if (sw_io_read(job->io, job->fd, reader->block, bytes, at) != 0) {
        note_failed_block(restoring, at, errno, NULL);
        return;
    }
    const char *wrong =
        sw_snapshot_check_block(header, number, reader->block, &job->checks[number]);
    if (wrong != NULL) {
        note_failed_block(restoring, at, 0, wrong);
        return;
    }
    uint8_t *columns = reader->block + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
    const void *keys = widen(columns, header->key_bytes, reader->keys, job->key_bytes, entries);
    void *values = widen(columns + sw_snapshot_column_at(header, entries, SW_SNAPSHOT_VALUES),
                         header->value_bytes, reader->values, job->value_bytes, entries);
    if (header->value_format == SW_FRAME_VALUES_STRING) {
        sw_string_values_clear_tails(values, job->value_bytes,
                                     job->value_bytes - header->key_text_bytes, entries);
    }
    if (sw_restore_add(job->restore, keys, values, entries) != SW_OK) {
        note_failed_block(restoring, at, ENOMEM, NULL);
    }
    __atomic_fetch_add(job->done_bytes, bytes, __ATOMIC_RELAXED);
}

static void restore_blocks(struct restoring *restoring, bool tells)
{
    struct sw_snapshot_restore *job = restoring->job;
    struct reader reader;
    if (!open_reader(job, &reader)) {
        note_failed_block(restoring, 0, ENOMEM, NULL);
    }
    while (!__atomic_load_n(&restoring->failed, __ATOMIC_RELAXED) &&
           !__atomic_load_n(job->stop, __ATOMIC_RELAXED)) {
        uint64_t number = __atomic_fetch_add(&restoring->next, 1, __ATOMIC_RELAXED);
        if (number >= restoring->blocks) {
            break;
        }
        restore_block(restoring, &reader, number);
        if (tells && job->progress != NULL) {
            job->progress(job->context);
        }
    }
    close_reader(&reader);
}

static void *run_restore_thread(void *context)
{
    restore_blocks(context, false);
    return NULL;
}

/* Returns the number of threads in addition to the caller's. */
static uint64_t threads_for(uint64_t blocks)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = (processors > 1 ? (uint64_t)processors : 1U) - 1 + MORE_THREADS;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    return blocks > threads ? threads : blocks > 0 ? blocks - 1 : 0;
}

bool sw_snapshot_restore(struct sw_snapshot_restore *job)
{
    struct restoring restoring = {.job = job, .blocks = sw_snapshot_blocks(job->header)};
    pthread_t threads[THREADS_MAX];
    const uint64_t wanted = threads_for(restoring.blocks);
    uint64_t started = 0;
    job->error = 0;
    job->wrong = NULL;
    __atomic_store_n(job->done_bytes, SW_SNAPSHOT_HEADER_BYTES, __ATOMIC_RELAXED);
    pthread_mutex_init(&restoring.mutex, NULL);
    while (started < wanted &&
           pthread_create(&threads[started], NULL, run_restore_thread, &restoring) == 0) {
        started++; /* if a thread does not start, the others do its work */
    }
    restore_blocks(&restoring, true);
    while (started > 0) {
        pthread_join(threads[--started], NULL);
    }
    pthread_mutex_destroy(&restoring.mutex);
    return !restoring.failed && !__atomic_load_n(job->stop, __ATOMIC_RELAXED);
}
