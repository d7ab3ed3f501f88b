/* SPDX-License-Identifier: MIT
 *
 * snapshot_write.c - writes a snapshot block by block, and renames the finished file.
 */
#include "server/log/snapshot_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/regular_file.h"
#include "server/log/block_writer.h"
#include "server/observe/log.h"
#include "table/image.h"
#include "table/status.h"

struct writing {
    struct sw_snapshot_write *write;
    const struct sw_io *io;
    int fd;
    struct sw_block_writer *writer;
    uint64_t *checks; /* one for each block so far */
    uint64_t blocks, room;
    uint64_t at; /* in the file */
    char *reason;
};

static int say(const struct sw_directory *directory, const char *what,
               char reason[SW_SNAPSHOT_REASON_BYTES])
{
    snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "%s/%s cannot be %s: %s", directory->path,
             SW_SNAPSHOT_NEW, what, sw_file_error(errno));
    return -1;
}

static int snapshot_write_failed(const struct writing *writing, const char *what)
{
    return say(writing->write->directory, what, writing->reason);
}

static int add_check(struct writing *writing, uint64_t check)
{
    if (writing->blocks == writing->room) {
        uint64_t room = writing->room == 0 ? 256 : writing->room * 2;
        uint64_t *checks = realloc(writing->checks, room * sizeof(*checks));
        if (checks == NULL) {
            return snapshot_write_failed(writing, "written");
        }
        writing->checks = checks;
        writing->room = room;
    }
    writing->checks[writing->blocks++] = check;
    return 0;
}

/* Moves the columns of the last block together. They were read to their places in a full block; in
 * a smaller block they lie closer, each followed by zeros up to the next. */
static void close_ranks(const struct sw_snapshot_header *header, uint8_t *columns, uint32_t entries)
{
    static const uint32_t ids[] = {SW_SNAPSHOT_KEYS, SW_SNAPSHOT_VALUES, SW_SNAPSHOT_SCORES,
                                   SW_SNAPSHOT_TIMES};
    const uint32_t widths[] = {header->key_bytes, header->value_bytes, 8, 8};
    for (int i = 0; i < 4; i++) {
        if ((header->columns & ids[i]) == 0) {
            continue;
        }
        uint64_t to = sw_snapshot_column_at(header, entries, ids[i]);
        uint64_t from = sw_snapshot_column_at(header, header->block_entries, ids[i]);
        uint64_t bytes = (uint64_t)entries * widths[i];
        uint64_t end = sw_snapshot_column_at(header, entries, i < 3 ? ids[i + 1] : 0);
        memmove(columns + to, columns + from, (size_t)bytes);
        memset(columns + to + bytes, 0, (size_t)(end - to - bytes));
    }
}

int sw_snapshot_fill_block(const struct sw_snapshot_header *header, struct sw_image *image,
                           uint8_t *block, uint32_t *entries)
{
    const uint32_t full = header->block_entries;
    uint8_t *columns = block + SW_SNAPSHOT_BLOCK_HEAD_BYTES;
    const uint32_t third = header->columns & (SW_SNAPSHOT_SCORES | SW_SNAPSHOT_TIMES);
    uint64_t *scores =
        third == 0 ? NULL
                   : (uint64_t *)(void *)(columns + sw_snapshot_column_at(header, full, third));
    *entries = 0;
    int status = sw_image_read(image, full, columns,
                               columns + sw_snapshot_column_at(header, full, SW_SNAPSHOT_VALUES),
                               scores, entries);
    if (status == SW_OK && *entries < full) {
        close_ranks(header, columns, *entries);
    }
    return status;
}

/* Reads a block's entries. Returns their number, or -1 and an error if the image cannot be read. */
static int64_t read_entries(struct writing *writing, uint8_t *block)
{
    uint32_t got = 0;
    int status =
        sw_snapshot_fill_block(&writing->write->header, writing->write->image, block, &got);
    if (status != SW_OK) {
        snprintf(writing->reason, SW_SNAPSHOT_REASON_BYTES, "the table cannot be read: %s",
                 status == SW_E_NOMEM
                     ? "not enough memory for entries that are overwritten meanwhile"
                     : sw_status_text(status));
        return -1;
    }
    return got;
}

static int put_block(struct writing *writing, uint8_t *block, uint32_t entries)
{
    struct sw_snapshot_write *write = writing->write;
    uint64_t bytes = sw_snapshot_block_bytes(&write->header, entries);
    if (add_check(writing,
                  sw_snapshot_seal_block(&write->header, writing->blocks, entries, block)) != 0) {
        return -1;
    }
    sw_block_writer_put(writing->writer, (size_t)bytes);
    writing->at += bytes;
    write->header.entries += entries;
    if (write->progress != NULL) {
        write->progress(write->context);
    }
    return 0;
}

static int write_blocks(struct writing *writing)
{
    const struct sw_snapshot_write *write = writing->write;
    int64_t entries = write->header.block_entries;
    while (entries == write->header.block_entries) {
        if (write->is_outdated != NULL && write->is_outdated(write)) {
            snprintf(writing->reason, SW_SNAPSHOT_REASON_BYTES, "a newer one is needed");
            return -1;
        }
        uint8_t *block = sw_block_writer_next(writing->writer);
        if (block == NULL) {
            return snapshot_write_failed(writing, "written");
        }
        entries = read_entries(writing, block);
        if (entries < 0 || (entries > 0 && put_block(writing, block, (uint32_t)entries) != 0)) {
            return -1;
        }
    }
    return sw_block_writer_flush(writing->writer) == 0 ? 0
                                                       : snapshot_write_failed(writing, "written");
}

/* Writes the footer, then the header, so that an unfinished file has no header. Uses the memory of
 * a block: the block writer is idle. */
static int write_ends(struct writing *writing)
{
    struct sw_snapshot_write *write = writing->write;
    uint8_t *bytes = sw_block_writer_next(writing->writer);
    struct sw_snapshot_footer footer = {
        .blocks = writing->blocks,
        .entries = write->header.entries,
        .file_bytes = writing->at + SW_SNAPSHOT_FOOTER_BYTES,
        .check = sw_check64(writing->checks, (size_t)writing->blocks * sizeof(*writing->checks), 0),
        .sequence = write->header.sequence,
    };
    sw_snapshot_put_footer(&footer, bytes);
    if (sw_io_write(writing->io, writing->fd, bytes, SW_SNAPSHOT_FOOTER_BYTES, writing->at) != 0) {
        return snapshot_write_failed(writing, "written");
    }
    sw_snapshot_put_header(&write->header, bytes);
    if (sw_io_write(writing->io, writing->fd, bytes, SW_SNAPSHOT_HEADER_BYTES, 0) != 0) {
        return snapshot_write_failed(writing, "written");
    }
    write->file_bytes = footer.file_bytes;
    return writing->io->fdatasync(writing->fd) == 0 ? 0 : snapshot_write_failed(writing, "synced");
}

static int write_file(struct writing *writing)
{
    struct sw_snapshot_write *write = writing->write;
    const struct sw_snapshot_header *header = &write->header;
    writing->fd = sw_block_writer_file(writing->io, write->directory->fd, SW_SNAPSHOT_NEW);
    if (writing->fd < 0) {
        return snapshot_write_failed(writing, "created");
    }
    writing->at = SW_SNAPSHOT_HEADER_BYTES;
    writing->writer = sw_block_writer_create(
        writing->io, writing->fd, (size_t)sw_snapshot_block_bytes(header, header->block_entries),
        writing->at);
    int status = writing->writer == NULL ? snapshot_write_failed(writing, "written") : 0;
    if (status == 0) {
        status = write_blocks(writing) != 0 || write_ends(writing) != 0 ? -1 : 0;
    }
    sw_block_writer_destroy(writing->writer);
    if (writing->io->close(writing->fd) != 0 && status == 0) {
        status = snapshot_write_failed(writing, "closed");
    }
    free(writing->checks);
    return status;
}

int sw_snapshot_write_new(struct sw_snapshot_write *write, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    const struct sw_directory *directory = write->directory;
    struct writing writing = {.write = write, .io = directory->io, .reason = reason};
    write->header.entries = 0;
    const int status = write_file(&writing);
    if (status != 0) {
        (void)directory->io->unlink(directory->fd, SW_SNAPSHOT_NEW);
    }
    return status;
}

int sw_snapshot_name(const struct sw_directory *directory, const char *name,
                     char reason[SW_SNAPSHOT_REASON_BYTES])
{
    if (directory->io->rename(directory->fd, SW_SNAPSHOT_NEW, name) != 0) {
        (void)say(directory, "renamed", reason);
        (void)directory->io->unlink(directory->fd, SW_SNAPSHOT_NEW);
        return -1;
    }
    if (directory->io->fsync(directory->fd) != 0) {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "the data directory %s cannot be synced: %s",
                 directory->path, strerror(errno));
        return -1;
    }
    return 0;
}

int sw_snapshot_write(struct sw_snapshot_write *write, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    if (sw_snapshot_write_new(write, reason) != 0) {
        return -1;
    }
    sw_directory_name(SW_SNAPSHOT_KIND, write->header.sequence, name);
    return sw_snapshot_name(write->directory, name, reason);
}

static int probe_file(const struct sw_io *io, int fd, uint64_t bytes)
{
    uint8_t page[SW_SNAPSHOT_HEADER_BYTES] = {0};
    if (io->allocate(fd, (off_t)bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS &&
        errno != EINVAL) {
        return -1;
    }
    return sw_io_write(io, fd, page, sizeof(page), 0) != 0 ? -1 : io->fdatasync(fd);
}

int sw_snapshot_probe(const struct sw_directory *directory, uint64_t bytes,
                      char reason[SW_SNAPSHOT_REASON_BYTES])
{
    const struct sw_io *io = directory->io;
    int fd = io->open(directory->fd, SW_SNAPSHOT_NEW, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int status = fd < 0 ? -1 : probe_file(io, fd, bytes);
    int error = errno;
    if (fd >= 0) {
        io->close(fd);
        io->unlink(directory->fd, SW_SNAPSHOT_NEW);
    }
    if (status != 0) {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "%s/%s cannot be written: %s", directory->path,
                 SW_SNAPSHOT_NEW, strerror(error));
    }
    return status;
}

/* --- files that are not needed any more ------------------------------------------------------- */

void sw_snapshot_remove_unfinished(const struct sw_directory *directory)
{
    if (directory->io->unlink(directory->fd, SW_SNAPSHOT_NEW) == 0) {
        sw_log(SW_LOG_NOTICE, "%s/%s was removed, because it is incomplete", directory->path,
               SW_SNAPSHOT_NEW);
    } else if (errno != ENOENT) {
        sw_log(SW_LOG_WARNING, "%s/%s cannot be removed: %s", directory->path, SW_SNAPSHOT_NEW,
               strerror(errno));
    }
}

bool sw_snapshot_is_among(uint64_t number, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == number) {
            return true;
        }
    }
    return false;
}

void sw_snapshot_remove_old(const struct sw_directory *directory, uint32_t keep,
                            const uint64_t *damaged, size_t damaged_count)
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    uint32_t kept = 0;
    char name[SW_DIRECTORY_NAME_MAX];
    if (sw_directory_numbers(directory, SW_SNAPSHOT_KIND, &numbers, &count) != 0) {
        sw_log(SW_LOG_WARNING, "the data directory %s cannot be read: %s", directory->path,
               strerror(errno));
        return;
    }
    while (count > 0) {
        uint64_t number = numbers[--count];
        if (sw_snapshot_is_among(number, damaged, damaged_count) || kept++ < keep) {
            continue;
        }
        sw_directory_name(SW_SNAPSHOT_KIND, number, name);
        if (directory->io->unlink(directory->fd, name) != 0) {
            sw_log(SW_LOG_WARNING, "%s/%s cannot be removed: %s", directory->path, name,
                   strerror(errno));
        }
    }
    free(numbers);
}
