/* SPDX-License-Identifier: MIT
 *
 * log_scan.c - reading the segments of a data directory.
 */
#include "server/log/log_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/regular_file.h"
#include "server/log/first_segment.h"

const struct sw_wal_memory *sw_wal_heap(void)
{
    static const struct sw_wal_memory heap = {.take = NULL};
    return &heap;
}

/* Writes a failure of the file `name`; "": of the directory. Returns -1. */
static int say(char reason[SW_WAL_REASON_BYTES], const struct sw_directory *directory,
               const char *name, const char *text)
{
    snprintf(reason, SW_WAL_REASON_BYTES, "%s%s%s: %s", directory->path, name[0] == '\0' ? "" : "/",
             name, text);
    return -1;
}

static int read_segment(const struct sw_directory *directory, uint64_t number,
                        struct sw_segment_file *file, char reason[SW_WAL_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    sw_directory_name(SW_WAL_NAME, number, name);
    return sw_segment_file_read(file, directory, name) != 0
               ? say(reason, directory, name, sw_file_error(errno))
               : 0;
}

/* Frees the bytes of the oldest segments. A segment keeps its bytes while the newer ones have less
 * than SW_WAL_KEPT_BYTES. So the newest segment with writes, which is read up to three more times,
 * is always in memory. */
static void keep_newest(struct sw_log_scan *scan, size_t count)
{
    uint64_t kept = 0;
    for (size_t i = count; i-- > 0;) {
        if (kept >= SW_WAL_KEPT_BYTES) {
            sw_segment_file_free(&scan->file[i]);
        }
        kept += scan->file[i].size;
    }
}

static int inspect_all(struct sw_log_scan *scan, const struct sw_directory *directory,
                       const uint64_t *numbers, char reason[SW_WAL_REASON_BYTES])
{
    uint8_t boot[SW_BOOT_ID_BYTES];
    directory->io->boot_id(boot);
    for (size_t i = 0; i < scan->count; i++) {
        struct sw_segment_file *file = &scan->file[i];
        struct sw_wal_found *found = &scan->found[i];
        found->number = numbers[i];
        if (read_segment(directory, numbers[i], file, reason) != 0) {
            return -1;
        }
        sw_wal_inspect(found, file->bytes, file->size, file->file_bytes, boot);
        while (found->run.wants > file->size) { /* a record that ends with zeros */
            if (sw_segment_file_extend(file, found->run.wants) != 0) {
                return say(reason, directory, "", "not enough memory for a segment");
            }
            sw_wal_inspect(found, file->bytes, file->size, file->file_bytes, boot);
        }
        keep_newest(scan, i + 1);
    }
    return 0;
}

/* Reads the file first-segment. */
static int read_first(struct sw_log_scan *scan, const struct sw_directory *directory,
                      char reason[SW_WAL_REASON_BYTES])
{
    memcpy(scan->plan.log_id, directory->log_id, sizeof(scan->plan.log_id));
    return sw_first_segment_read(directory, &scan->plan.first) == 0
               ? 0
               : say(reason, directory, SW_WAL_FIRST_NAME, sw_file_error(errno));
}

int sw_log_scan(struct sw_log_scan *scan, const struct sw_directory *directory, uint64_t base,
                uint64_t named, const struct sw_wal_beside *beside,
                const struct sw_wal_shape *shape, char reason[SW_WAL_REASON_BYTES])
{
    uint64_t *numbers;
    char refusal[SW_WAL_REFUSAL_BYTES];
    *scan = (struct sw_log_scan){.plan.beside = *beside};
    if (sw_directory_numbers(directory, SW_WAL_NAME, &numbers, &scan->count) != 0) {
        return say(reason, directory, "", strerror(errno));
    }
    scan->found = calloc(scan->count + 1, sizeof(*scan->found));
    scan->file = calloc(scan->count + 1, sizeof(*scan->file));
    scan->plan.piece = calloc(scan->count + 1, sizeof(*scan->plan.piece));
    int status = scan->found == NULL || scan->file == NULL || scan->plan.piece == NULL
                     ? say(reason, directory, "", "not enough memory for its list of segments")
                     : inspect_all(scan, directory, numbers, reason);
    free(numbers);
    status = status == 0 ? read_first(scan, directory, reason) : status;
    if (status == 0 &&
        !sw_wal_plan(&scan->plan, scan->found, scan->count, base, named, shape, refusal)) {
        return say(reason, directory, "", refusal);
    }
    return status;
}

void sw_log_scan_free(struct sw_log_scan *scan)
{
    for (size_t i = 0; scan->file != NULL && i < scan->count; i++) {
        sw_segment_file_free(&scan->file[i]);
    }
    free(scan->file);
    free(scan->found);
    free(scan->plan.piece);
    *scan = (struct sw_log_scan){0};
}

/* Does a segment with a lower number begin after a gap? */
static bool follows_passed(const struct sw_log_scan *scan, size_t segment)
{
    for (size_t i = 0; i < segment; i++) {
        if (scan->found[i].is_passed) {
            return true;
        }
    }
    return false;
}

static bool is_unreachable(const struct sw_log_scan *scan, size_t segment)
{
    const struct sw_wal_found *found = &scan->found[segment];
    return found->is_alias || found->is_passed ||
           (found->run.first == 0 && follows_passed(scan, segment));
}

/* Removes the newest first, and syncs each removal: a segment must not outlive the older segment
 * that it names. Removes the file first-segment before the segments that it may name. */
int sw_wal_remove_unreachable(const struct sw_log_scan *scan, const struct sw_directory *directory,
                              char reason[SW_WAL_REASON_BYTES])
{
    for (size_t i = scan->count; i-- > 0;) {
        const struct sw_wal_found *found = &scan->found[i];
        char name[SW_WAL_NAME_BYTES];
        if (!is_unreachable(scan, i)) {
            continue;
        }
        if (found->number >= scan->plan.first.number && sw_first_segment_remove(directory) != 0) {
            return say(reason, directory, SW_WAL_FIRST_NAME, strerror(errno));
        }
        sw_wal_name(found->number, name);
        if ((directory->io->unlink(directory->fd, name) != 0 && errno != ENOENT) ||
            directory->io->fsync(directory->fd) != 0) {
            return say(reason, directory, name, strerror(errno));
        }
    }
    return 0;
}

/* --- replay ----------------------------------------------------------------------------------- */

static int replay_piece(const struct sw_segment_file *file, const struct sw_wal_found *found,
                        uint64_t from, uint64_t to, const struct sw_wal_taker *taker,
                        char reason[SW_WAL_REASON_BYTES])
{
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    uint64_t next = from;
    sw_wal_reader_init(&reader, file->bytes, file->size, &found->segment);
    while (next <= to && sw_wal_reader_next(&reader, &record, &columns)) {
        if (!sw_wal_is_write(&record) || record.sequence < from) {
            continue;
        }
        if (taker->write(taker->context, &record, file->bytes + (columns - file->bytes), reason) !=
            0) {
            return -1;
        }
        next = record.sequence + 1;
    }
    if (next <= to) {
        snprintf(reason, SW_WAL_REASON_BYTES,
                 "segment %llx reads otherwise than it did a moment ago",
                 (unsigned long long)found->number);
        return -1;
    }
    return 0;
}

/* A segment in the memory that the caller of a replay wants. */
struct loaded {
    struct sw_segment_file file;
    struct sw_segment_file own; /* its bytes, if they were not kept and had to be read again */
    void *taken;
};

static int load(struct loaded *loaded, const struct sw_log_scan *scan, size_t segment,
                const struct sw_directory *directory, const struct sw_wal_memory *memory,
                char reason[SW_WAL_REASON_BYTES])
{
    const uint64_t number = scan->found[segment].number;
    *loaded = (struct loaded){.file = scan->file[segment]};
    if (loaded->file.bytes == NULL) {
        if (read_segment(directory, number, &loaded->own, reason) != 0) {
            return -1;
        }
        if (loaded->own.size < scan->found[segment].run.end &&
            sw_segment_file_extend(&loaded->own, scan->found[segment].run.end) != 0) {
            sw_segment_file_free(&loaded->own);
            return say(reason, directory, "", "not enough memory for a segment");
        }
        loaded->file = loaded->own;
    }
    if (memory->take != NULL) {
        loaded->taken = memory->take(memory->context, loaded->file.size + 1);
        if (loaded->taken == NULL) {
            sw_segment_file_free(&loaded->own);
            return say(reason, directory, "", "not enough I/O memory to read a segment");
        }
        memcpy(loaded->taken, loaded->file.bytes, loaded->file.size);
        loaded->file.bytes = loaded->taken;
        sw_segment_file_free(&loaded->own);
    }
    return 0;
}

static void unload(struct loaded *loaded, const struct sw_wal_memory *memory)
{
    if (loaded->taken != NULL) {
        memory->give(memory->context, loaded->taken, loaded->file.size + 1);
    }
    sw_segment_file_free(&loaded->own);
}

int sw_wal_replay(const struct sw_log_scan *scan, const struct sw_directory *directory,
                  uint64_t after, const struct sw_wal_memory *memory,
                  const struct sw_wal_taker *taker, char reason[SW_WAL_REASON_BYTES])
{
    for (size_t i = 0; i < scan->plan.pieces; i++) {
        const struct sw_wal_piece *piece = &scan->plan.piece[i];
        const struct sw_wal_found *found = &scan->found[piece->segment];
        uint64_t from = piece->from > after ? piece->from : after + 1;
        struct loaded loaded;
        if (from > piece->to) {
            continue;
        }
        if (load(&loaded, scan, piece->segment, directory, memory, reason) != 0) {
            return -1;
        }
        char ended[SW_WAL_REASON_BYTES] = "";
        int status = replay_piece(&loaded.file, found, from, piece->to, taker, reason);
        if (taker->end(taker->context, ended) != 0 && status == 0) {
            memcpy(reason, ended, sizeof(ended));
            status = -1;
        }
        unload(&loaded, memory);
        if (status != 0) {
            return -1;
        }
    }
    return 0;
}
