/* SPDX-License-Identifier: MIT
 *
 * survey.c - reading the segments of a data directory.
 */
#include "server/log/survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/regular_file.h"

static void *heap_take(void *context, size_t bytes)
{
    (void)context;
    return aligned_alloc(SW_WAL_ALIGN, sw_wal_align(bytes, SW_WAL_ALIGN));
}

static void heap_give(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    free(memory);
}

const struct sw_wal_memory *sw_wal_heap(void)
{
    static const struct sw_wal_memory heap = {.take = heap_take, .give = heap_give};
    return &heap;
}

/* A segment's file in memory. */
struct file {
    uint8_t *bytes;
    uint64_t size;
};

static int say(char reason[SW_WAL_REASON_BYTES], const struct sw_directory *directory,
               const char *name, const char *text)
{
    snprintf(reason, SW_WAL_REASON_BYTES, "%s/%s: %s", directory->path, name, text);
    return -1;
}

static int read_file(const struct sw_directory *directory, int fd, const char *name,
                     const struct sw_wal_memory *memory, struct file *file,
                     char reason[SW_WAL_REASON_BYTES])
{
    if (directory->io->size(fd, &file->size) != 0) {
        return say(reason, directory, name, strerror(errno));
    }
    file->bytes = memory->take(memory->context, file->size > 0 ? file->size : 1);
    if (file->bytes == NULL) {
        return say(reason, directory, name, "there is no memory to read it to");
    }
    if (sw_io_read(directory->io, fd, file->bytes, file->size, 0) != 0) {
        memory->give(memory->context, file->bytes, file->size);
        return say(reason, directory, name, strerror(errno));
    }
    return 0;
}

static int load(const struct sw_directory *directory, uint64_t number,
                const struct sw_wal_memory *memory, struct file *file,
                char reason[SW_WAL_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    sw_directory_name(SW_WAL_NAME, number, name);
    int fd = directory->io->open(directory->fd, name, O_RDONLY, 0);
    if (fd < 0) {
        return say(reason, directory, name, sw_file_error(errno));
    }
    int status = read_file(directory, fd, name, memory, file, reason);
    directory->io->close(fd);
    return status;
}

static int look_at_all(struct sw_wal_survey *survey, const struct sw_directory *directory,
                       const uint64_t *numbers, const struct sw_wal_memory *memory,
                       char reason[SW_WAL_REASON_BYTES])
{
    uint8_t boot[SW_BOOT_ID_BYTES];
    directory->io->boot_id(boot);
    for (size_t i = 0; i < survey->count; i++) {
        struct file file;
        survey->found[i].number = numbers[i];
        if (load(directory, numbers[i], memory, &file, reason) != 0) {
            return -1;
        }
        sw_wal_look(&survey->found[i], file.bytes, file.size, file.size, boot);
        memory->give(memory->context, file.bytes, file.size);
    }
    return 0;
}

int sw_wal_survey(struct sw_wal_survey *survey, const struct sw_directory *directory, uint64_t base,
                  uint64_t named, const struct sw_wal_shape *shape,
                  const struct sw_wal_memory *memory, char reason[SW_WAL_REASON_BYTES])
{
    uint64_t *numbers;
    char refusal[SW_WAL_REFUSAL_BYTES];
    *survey = (struct sw_wal_survey){0};
    if (sw_directory_numbers(directory, SW_WAL_NAME, &numbers, &survey->count) != 0) {
        return say(reason, directory, "", strerror(errno));
    }
    survey->found = calloc(survey->count + 1, sizeof(*survey->found));
    survey->plan.piece = calloc(survey->count + 1, sizeof(*survey->plan.piece));
    int status = survey->found == NULL || survey->plan.piece == NULL
                     ? say(reason, directory, "", "there is no memory for its list of segments")
                     : look_at_all(survey, directory, numbers, memory, reason);
    free(numbers);
    if (status == 0 &&
        !sw_wal_plan(&survey->plan, survey->found, survey->count, base, named, shape, refusal)) {
        return say(reason, directory, "", refusal);
    }
    return status;
}

void sw_wal_survey_free(struct sw_wal_survey *survey)
{
    free(survey->found);
    free(survey->plan.piece);
    *survey = (struct sw_wal_survey){0};
}

int sw_wal_remove_unreachable(const struct sw_wal_survey *survey,
                              const struct sw_directory *directory,
                              char reason[SW_WAL_REASON_BYTES])
{
    for (size_t i = 0; i < survey->count; i++) {
        char name[SW_WAL_NAME_BYTES];
        sw_wal_name(survey->found[i].number, name);
        if ((survey->found[i].is_alias || survey->found[i].is_passed) &&
            directory->io->unlink(directory->fd, name) != 0 && errno != ENOENT) {
            return say(reason, directory, name, strerror(errno));
        }
    }
    return 0;
}

/* --- replay ----------------------------------------------------------------------------------- */

static int replay_piece(const struct file *file, const struct sw_wal_found *found, uint64_t from,
                        uint64_t to, const struct sw_wal_taker *taker,
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
        if (taker->write(taker->context, &record, columns, reason) != 0) {
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

int sw_wal_replay(const struct sw_wal_survey *survey, const struct sw_directory *directory,
                  uint64_t after, const struct sw_wal_memory *memory,
                  const struct sw_wal_taker *taker, char reason[SW_WAL_REASON_BYTES])
{
    for (size_t i = 0; i < survey->plan.pieces; i++) {
        const struct sw_wal_piece *piece = &survey->plan.piece[i];
        const struct sw_wal_found *found = &survey->found[piece->segment];
        uint64_t from = piece->from > after ? piece->from : after + 1;
        struct file file;
        if (from > piece->to) {
            continue;
        }
        if (load(directory, found->number, memory, &file, reason) != 0) {
            return -1;
        }
        char ended[SW_WAL_REASON_BYTES] = "";
        int status = replay_piece(&file, found, from, piece->to, taker, reason);
        if (taker->end(taker->context, ended) != 0 && status == 0) {
            memcpy(reason, ended, sizeof(ended));
            status = -1;
        }
        memory->give(memory->context, file.bytes, file.size);
        if (status != 0) {
            return -1;
        }
    }
    return 0;
}
