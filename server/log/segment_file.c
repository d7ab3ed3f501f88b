/* SPDX-License-Identifier: MIT
 *
 * segment_file.c - reads the written part of a segment's file.
 */
#include "server/log/segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (1U << 20) /* of a read */
#define PAGE_BYTES 4096U

struct reading {
    struct sw_segment_file *file;
    const struct sw_io *io;
    int fd;
    uint64_t room; /* bytes of memory */
    uint64_t at;   /* the file is read, or known to be zeros, up to this offset */
};

static bool is_zero(const uint8_t *bytes, uint64_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static int make_room(struct reading *reading, uint64_t room)
{
    struct sw_segment_file *file = reading->file;
    if (room > reading->room) {
        uint64_t twice =
            reading->room * 2 < file->file_bytes ? reading->room * 2 : file->file_bytes;
        room = room > twice ? room : twice;
        uint8_t *bytes = realloc(file->bytes, room);
        if (bytes == NULL) {
            return -1;
        }
        file->bytes = bytes;
        reading->room = room;
    }
    return 0;
}

/* Reads [at, to), and appends it up to its last byte that is not zero. */
static int read_chunk(struct reading *reading, uint64_t to)
{
    struct sw_segment_file *file = reading->file;
    const uint64_t at = reading->at;
    if (make_room(reading, to) != 0 ||
        sw_io_read(reading->io, reading->fd, file->bytes + at, to - at, at) != 0) {
        return -1;
    }
    uint64_t last = to;
    while (last > at && is_zero(file->bytes + last - 1, 1)) {
        last -= last - at > PAGE_BYTES && is_zero(file->bytes + last - PAGE_BYTES, PAGE_BYTES)
                    ? PAGE_BYTES
                    : 1;
    }
    if (last > at) {
        memset(file->bytes + file->size, 0, at - file->size);
        file->size = last;
    }
    reading->at = to;
    return 0;
}

/* Returns 1 if the page at this offset has a byte that is not zero, 0 if it is all zeros, or -1
 * with errno. */
static int probe_page(const struct reading *reading, uint64_t at, uint64_t to)
{
    uint8_t page[PAGE_BYTES];
    const uint64_t bytes = to - at < sizeof(page) ? to - at : sizeof(page);
    return sw_io_read(reading->io, reading->fd, page, bytes, at) != 0 ? -1 : !is_zero(page, bytes);
}

/* Probes pages of [at, to), and the last page, where a SEAL may be. Returns 1 if one has a byte
 * that is not zero, 0 if not, or -1 with errno. */
static int probe(const struct reading *reading, uint64_t to)
{
    int found = probe_page(reading, to < PAGE_BYTES ? 0 : to - PAGE_BYTES, to);
    for (uint64_t at = reading->at; at < to && found == 0; at += SW_SEGMENT_PROBE) {
        found = probe_page(reading, at, to);
    }
    return found;
}

static int read_some(struct reading *reading, uint64_t to)
{
    const uint64_t rest = to - reading->at;
    return read_chunk(reading, reading->at + (rest < CHUNK_BYTES ? rest : CHUNK_BYTES));
}

/* Reads the data [at, to) of the file. */
static int read_extent(struct reading *reading, uint64_t to)
{
    const struct sw_segment_file *file = reading->file;
    const uint64_t begin = reading->at;
    bool has_more = false; /* a probe has found bytes after `at` */
    while (reading->at < to) {
        const uint64_t zeros = reading->at - (file->size > begin ? file->size : begin);
        has_more = has_more && zeros >= SW_SEGMENT_ZEROS;
        if (zeros >= SW_SEGMENT_ZEROS && !has_more) {
            int more = probe(reading, to);
            if (more <= 0) {
                reading->at = to;
                return more;
            }
            has_more = true;
        }
        if (read_some(reading, to) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_all(struct reading *reading)
{
    struct sw_segment_file *file = reading->file;
    if (reading->io->size(reading->fd, &file->file_bytes) != 0 || make_room(reading, 1) != 0) {
        return -1;
    }
    for (int more = 0; more == 0 && reading->at < file->file_bytes;) {
        uint64_t from = reading->at, to = file->file_bytes;
        more = reading->io->data(reading->fd, reading->at, &from, &to);
        if (more == 0) {
            reading->at = from;
            more = read_extent(reading, to < file->file_bytes ? to : file->file_bytes);
        }
        if (more < 0) {
            return -1;
        }
    }
    /* whole pages, so that no record header is cut where its zeros begin */
    const uint64_t whole = (file->size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    return sw_segment_file_extend(file, whole < file->file_bytes ? whole : file->file_bytes);
}

int sw_segment_file_read(struct sw_segment_file *file, const struct sw_directory *directory,
                         const char *name)
{
    *file = (struct sw_segment_file){.bytes = NULL};
    struct reading reading = {.file = file, .io = directory->io};
    reading.fd = directory->io->open(directory->fd, name, O_RDONLY, 0);
    if (reading.fd < 0) {
        return -1;
    }
    int status = read_all(&reading);
    int error = errno;
    directory->io->close(reading.fd);
    if (status != 0) {
        sw_segment_file_free(file);
        errno = error;
    }
    return status;
}

int sw_segment_file_extend(struct sw_segment_file *file, uint64_t size)
{
    uint8_t *bytes = realloc(file->bytes, size + 1);
    if (bytes == NULL) {
        return -1;
    }
    memset(bytes + file->size, 0, size - file->size);
    file->bytes = bytes;
    file->size = size;
    return 0;
}

void sw_segment_file_free(struct sw_segment_file *file)
{
    free(file->bytes);
    *file = (struct sw_segment_file){.bytes = NULL};
}
