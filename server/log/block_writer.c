/* SPDX-License-Identifier: MIT
 *
 * block_writer.c - a ring of blocks between the caller, which fills them, and the thread that
 * writes them.
 */
#include "server/log/block_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

/* One block is being filled, one is being written, and one is ready, so neither side waits for the
 * other to finish a block.
 */
#define BLOCKS 3U
/* If writes go to the page cache, the kernel is asked to write them out in steps of this size. So
 * the sync at the end has little left to write. */
#define WRITE_OUT_BYTES (8U << 20)

struct sw_block_writer {
    const struct sw_io *io;
    int fd;
    uint8_t *blocks[BLOCKS];
    size_t bytes[BLOCKS];
    uint64_t at, out; /* only the thread's: offset of the next write; end of the last write_out */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under `mutex`. */
    uint64_t filled, written; /* blocks so far */
    int error;                /* errno; 0: none */
    bool stopping;
};

int sw_block_writer_file(const struct sw_io *io, int dir, const char *name)
{
    const int flags = O_RDWR | O_CREAT | O_TRUNC;
    int fd = io->open(dir, name, flags | O_DIRECT, 0600);
    return fd < 0 && errno == EINVAL ? io->open(dir, name, flags, 0600) : fd;
}

/* Clears O_DIRECT after a write has failed with EINVAL: some file systems open a file with O_DIRECT
 * and then refuse its writes, and a partial write can end where no direct write may begin. Returns
 * false if O_DIRECT was not set. */
static bool leave_direct(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags != -1 && (flags & O_DIRECT) != 0 && fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

/* Returns errno, or 0. */
static int write_one(struct sw_block_writer *writer, unsigned which)
{
    const uint8_t *block = writer->blocks[which];
    size_t bytes = writer->bytes[which];
    int error = 0;
    if (sw_io_write(writer->io, writer->fd, block, bytes, writer->at) != 0) {
        error = errno;
    }
    if (error == EINVAL && leave_direct(writer->fd)) {
        error = sw_io_write(writer->io, writer->fd, block, bytes, writer->at) != 0 ? errno : 0;
    }
    if (error != 0) {
        return error;
    }
    writer->at += bytes;
    if (writer->at - writer->out >= WRITE_OUT_BYTES) {
        (void)writer->io->write_out(writer->fd, (off_t)writer->out,
                                    (off_t)(writer->at - writer->out));
        writer->out = writer->at;
    }
    return 0;
}

static void *run_block_writer(void *context)
{
    struct sw_block_writer *writer = context;
    pthread_mutex_lock(&writer->mutex);
    while (!writer->stopping && writer->error == 0) {
        if (writer->written == writer->filled) {
            pthread_cond_wait(&writer->changed, &writer->mutex);
            continue;
        }
        unsigned which = (unsigned)(writer->written % BLOCKS);
        pthread_mutex_unlock(&writer->mutex);
        int error = write_one(writer, which);
        pthread_mutex_lock(&writer->mutex);
        writer->error = error;
        writer->written += error == 0;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

static void free_all(struct sw_block_writer *writer)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(writer->blocks[i]);
    }
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
}

struct sw_block_writer *sw_block_writer_create(const struct sw_io *io, int fd, size_t block_bytes,
                                               uint64_t at)
{
    struct sw_block_writer *writer = calloc(1, sizeof(*writer));
    if (writer == NULL) {
        return NULL;
    }
    writer->io = io;
    writer->fd = fd;
    writer->at = writer->out = at;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    int error = 0;
    for (unsigned i = 0; i < BLOCKS && error == 0; i++) {
        writer->blocks[i] = aligned_alloc(SW_BLOCK_ALIGN, block_bytes);
        error = writer->blocks[i] == NULL ? ENOMEM : 0;
    }
    error = error == 0 ? pthread_create(&writer->thread, NULL, run_block_writer, writer) : error;
    if (error != 0) {
        free_all(writer);
        errno = error;
        return NULL;
    }
    return writer;
}

uint8_t *sw_block_writer_next(struct sw_block_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->error == 0 && writer->filled - writer->written == BLOCKS) {
        pthread_cond_wait(&writer->changed, &writer->mutex);
    }
    int error = writer->error;
    uint8_t *block = error == 0 ? writer->blocks[writer->filled % BLOCKS] : NULL;
    pthread_mutex_unlock(&writer->mutex);
    errno = error;
    return block;
}

void sw_block_writer_put(struct sw_block_writer *writer, size_t bytes)
{
    pthread_mutex_lock(&writer->mutex);
    writer->bytes[writer->filled++ % BLOCKS] = bytes;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

int sw_block_writer_flush(struct sw_block_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->error == 0 && writer->filled != writer->written) {
        pthread_cond_wait(&writer->changed, &writer->mutex);
    }
    int error = writer->error;
    pthread_mutex_unlock(&writer->mutex);
    errno = error;
    return error == 0 ? 0 : -1;
}

void sw_block_writer_destroy(struct sw_block_writer *writer)
{
    if (writer != NULL) {
        pthread_mutex_lock(&writer->mutex);
        writer->stopping = true;
        pthread_cond_broadcast(&writer->changed);
        pthread_mutex_unlock(&writer->mutex);
        pthread_join(writer->thread, NULL);
        free_all(writer);
    }
}
