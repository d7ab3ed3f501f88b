/* SPDX-License-Identifier: MIT
 *
 * snapshot_fixture.h - small tables of integers or of rows, and a data directory for their
 * snapshots.
 */
#ifndef SHERWOOD_TESTS_SERVER_SNAPSHOT_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_SNAPSHOT_FIXTURE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/value_type.h"
#include "server/log/snapshot_load.h"
#include "server/log/snapshot_write.h"
#include "server/observe/log.h"
#include "table/expiring.h"
#include "table/image.h"
#include "tests/support/must.h"

#define KEYS 300U
#define VALUE_OF(key) ((key)*3 + 1)

/* --- a table and a directory ------------------------------------------------------------------ */

/* Values of the tables of a test: rows of row_bytes bytes, at most 16, and of a type; 0: integers.
 */
static uint32_t row_bytes;
static uint32_t row_type = SW_TYPE_U32;
#define VALUE_BYTES_MAX 16

static inline struct sw_table *new_table(void)
{
    struct sw_table_config config = cpu_config(1024, 128);
    config.stash_slots = 64;
    config.value_bytes = row_bytes;
    return must_create(&config);
}

/* The bytes of a value: of an integer, or of a row of 32-bit words. */
static inline uint32_t value_bytes(void)
{
    return row_bytes > 0 ? row_bytes : 8;
}
static inline void put_value(uint8_t *values, uint32_t i, uint64_t key)
{
    const uint64_t value = VALUE_OF(key);
    uint8_t *to = values + (size_t)i * value_bytes();
    if (row_bytes == 0) {
        memcpy(to, &value, sizeof(value));
    }
    for (uint32_t w = 0; w < row_bytes / 4; w++) {
        const uint32_t word = (uint32_t)value * (w + 1);
        memcpy(to + 4 * (size_t)w, &word, sizeof(word));
    }
}

/* Sets keys [first, first + count) in one batch. */
static inline void set(struct sw_table *table, uint64_t first, uint32_t count)
{
    uint64_t keys[128];
    uint8_t values[128 * VALUE_BYTES_MAX];
    struct sw_queue *queue = NULL;
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = first + i;
        put_value(values, i, keys[i]);
    }
    struct sw_batch batch = {.op = SW_SET, .count = count, .keys = keys, .values = values};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    sw_queue_destroy(queue);
}

/* Checks that the table holds keys [0, count) and nothing else. */
static inline bool holds(struct sw_table *table, uint32_t count)
{
    uint64_t keys[KEYS * 2];
    uint8_t values[KEYS * 2 * VALUE_BYTES_MAX], wanted[VALUE_BYTES_MAX];
    uint32_t got = 0;
    struct sw_queue *queue = NULL;
    struct sw_image *image = NULL;
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    cr_assert_eq(sw_image_take(queue, true, &image), SW_OK);
    cr_assert_eq(sw_image_read(image, KEYS * 2, keys, values, NULL, &got), SW_OK);
    sw_image_drop(image);
    sw_queue_destroy(queue);
    for (uint32_t i = 0; i < got; i++) {
        put_value(wanted, 0, keys[i]);
        cr_assert(keys[i] < count, "never a wrong key");
        cr_assert_eq(memcmp(values + (size_t)i * value_bytes(), wanted, value_bytes()), 0,
                     "never a wrong value");
    }
    return got == count;
}

struct place {
    char path[64];
    struct sw_directory directory;
    char reason[SW_LOAD_REASON_BYTES];
};

static inline void open_place(struct place *place, const struct sw_io *io)
{
    strcpy(place->path, "/tmp/sherwood-snapshot-XXXXXX");
    cr_assert_not_null(mkdtemp(place->path));
    cr_assert_eq(sw_directory_open(&place->directory, sw_io_system(), place->path, place->reason,
                                   sizeof(place->reason)),
                 0);
    place->directory.io = io;
    sw_log_init(SW_LOG_ERROR);
}

static inline bool remove_one(void *context, const char *name)
{
    return unlinkat(*(int *)context, name, 0) == 0;
}

static inline void close_place(struct place *place)
{
    place->directory.io = sw_io_system();
    cr_assert_eq(sw_io_system()->list(place->directory.fd, remove_one, &place->directory.fd), 0);
    sw_directory_close(&place->directory);
    cr_assert_eq(rmdir(place->path), 0);
}

/* Writes a snapshot of the table, in blocks of 64 entries, whose values are of these kinds. */
static inline int save_values(struct place *place, struct sw_table *table, uint32_t format,
                              uint32_t type)
{
    struct sw_queue *queue = must_queue(table);
    struct sw_image *image = NULL;
    cr_assert_eq(sw_image_take(queue, false, &image), SW_OK);
    sw_queue_destroy(queue);
    struct sw_snapshot_write write = {
        .directory = &place->directory,
        .image = image,
        .header = {.sequence = sw_image_sequence(image),
                   .key_bytes = 8,
                   .value_bytes = value_bytes(),
                   .value_format = format,
                   .value_type = type,
                   .block_entries = 64,
                   .columns = SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES |
                              (sw_image_expires(image) ? SW_SNAPSHOT_TIMES : 0),
                   .writer = "test"},
    };
    memcpy(write.header.log_id, place->directory.log_id, SW_LOG_ID_BYTES);
    int status = sw_snapshot_write(&write, place->reason);
    sw_image_drop(image);
    return status;
}

static inline int save(struct place *place, struct sw_table *table)
{
    return row_bytes > 0 ? save_values(place, table, SW_FRAME_VALUES_FIXED, SW_TYPE_U32)
                         : save_values(place, table, SW_FRAME_VALUES_INTEGER, SW_TYPE_BYTES);
}

static inline int load(struct place *place, struct sw_table *table, struct sw_load *out)
{
    static const bool go_on;
    *out = (struct sw_load){.directory = &place->directory,
                            .table = table,
                            .value_format =
                                row_bytes > 0 ? SW_FRAME_VALUES_FIXED : SW_FRAME_VALUES_INTEGER,
                            .value_type = row_bytes > 0 ? row_type : SW_TYPE_BYTES,
                            .stop = &go_on};
    /* damaged files are logged, which is not wanted here */
    int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    int status = sw_snapshot_load(out, place->reason);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(nowhere);
    return status;
}

static inline bool has(const struct place *place, const char *name)
{
    return faccessat(place->directory.fd, name, F_OK, 0) == 0;
}

/* --- two snapshots; the newest gets damaged ----------------------------------------------------
 */

struct file {
    uint8_t *bytes;
    size_t size;
};

static inline struct file read_file(const struct place *place, const char *name)
{
    struct file file;
    uint64_t size = 0;
    int fd = openat(place->directory.fd, name, O_RDONLY);
    cr_assert(fd >= 0 && sw_io_system()->size(fd, &size) == 0);
    file.size = (size_t)size;
    file.bytes = malloc(file.size);
    cr_assert_eq(sw_io_read(sw_io_system(), fd, file.bytes, file.size, 0), 0);
    close(fd);
    return file;
}

static inline void write_file(const struct place *place, const char *name, const uint8_t *bytes,
                              size_t size)
{
    int fd = openat(place->directory.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert(fd >= 0);
    cr_assert_eq(sw_io_write(sw_io_system(), fd, bytes, size, 0), 0);
    close(fd);
}

static inline void clear(struct sw_table *table)
{
    struct sw_queue *queue = NULL;
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    sw_queue_destroy(queue);
}

struct damage {
    struct place place;
    struct sw_table *table;
    struct file file; /* the newest snapshot: two blocks, of 64 and of 57 entries */
};

static inline void open_damage(struct damage *damage)
{
    struct sw_table *table = new_table();
    open_place(&damage->place, sw_io_system());
    set(table, 0, 10);
    cr_assert_eq(save(&damage->place, table), 0);
    set(table, 10, 111);
    cr_assert_eq(save(&damage->place, table), 0);
    damage->file = read_file(&damage->place, "snapshot-0000000000000002");
    cr_assert_eq(damage->file.size, 4096U * 4);
    damage->table = new_table();
    sw_table_destroy(table);
}

static inline void close_damage(struct damage *damage)
{
    free(damage->file.bytes);
    sw_table_destroy(damage->table);
    close_place(&damage->place);
}

#endif
