/* SPDX-License-Identifier: MIT
 *
 * test_snapshot.c - writing and loading snapshots: every byte cut and flipped, every call failing.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/frame.h"
#include "server/log/snapshot_load.h"
#include "server/log/snapshot_write.h"
#include "server/observe/log.h"

#define KEYS 300U
#define VALUE_OF(key) ((key)*3 + 1)

/* --- a table and a directory ------------------------------------------------------------------ */

static struct sw_table *new_table(void)
{
    struct sw_table_config config;
    struct sw_table *table = NULL;
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = 1024;
    config.batch_ops_max = 128;
    config.stash_slots = 64;
    config.threads = 1;
    cr_assert_eq(sw_table_create(&config, &table, NULL, 0), SW_OK);
    return table;
}

/* Sets keys [first, first + count) in one batch. */
static void set(struct sw_table *table, uint64_t first, uint32_t count)
{
    uint64_t keys[128], values[128];
    struct sw_queue *queue = NULL;
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = first + i;
        values[i] = VALUE_OF(keys[i]);
    }
    struct sw_batch batch = {.op = SW_SET, .count = count, .keys = keys, .values = values};
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    sw_queue_destroy(queue);
}

/* Checks that the table holds keys [0, count) and nothing else. */
static bool holds(struct sw_table *table, uint32_t count)
{
    uint64_t keys[KEYS * 2], values[KEYS * 2];
    uint32_t got = 0;
    struct sw_queue *queue = NULL;
    struct sw_image *image = NULL;
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    cr_assert_eq(sw_image_take(queue, true, &image), SW_OK);
    cr_assert_eq(sw_image_read(image, KEYS * 2, keys, values, NULL, &got), SW_OK);
    sw_image_drop(image);
    sw_queue_destroy(queue);
    for (uint32_t i = 0; i < got; i++) {
        cr_assert(keys[i] < count && values[i] == VALUE_OF(keys[i]), "never a wrong value");
    }
    return got == count;
}

struct place {
    char path[64];
    struct sw_directory directory;
    char reason[SW_LOAD_REASON_BYTES];
};

static void open_place(struct place *place, const struct sw_io *io)
{
    strcpy(place->path, "/tmp/sherwood-snapshot-XXXXXX");
    cr_assert_not_null(mkdtemp(place->path));
    cr_assert_eq(sw_directory_open(&place->directory, sw_io_system(), place->path, place->reason,
                                   sizeof(place->reason)),
                 0);
    place->directory.io = io;
    sw_log_init(SW_LOG_ERROR);
}

static bool remove_one(void *context, const char *name)
{
    return unlinkat(*(int *)context, name, 0) == 0;
}

static void close_place(struct place *place)
{
    place->directory.io = sw_io_system();
    cr_assert_eq(sw_io_system()->list(place->directory.fd, remove_one, &place->directory.fd), 0);
    sw_directory_close(&place->directory);
    cr_assert_eq(rmdir(place->path), 0);
}

/* Writes a snapshot of the table, in blocks of 64 entries. */
static int save(struct place *place, struct sw_table *table)
{
    struct sw_queue *queue = NULL;
    struct sw_image *image = NULL;
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    cr_assert_eq(sw_image_take(queue, false, &image), SW_OK);
    sw_queue_destroy(queue);
    struct sw_snapshot_write write = {
        .directory = &place->directory,
        .image = image,
        .header = {.sequence = sw_image_sequence(image),
                   .key_bytes = 8,
                   .value_bytes = 8,
                   .block_entries = 64,
                   .columns = SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES,
                   .writer = "test"},
    };
    memcpy(write.header.log_id, place->directory.log_id, SW_LOG_ID_BYTES);
    int status = sw_snapshot_write(&write, place->reason);
    sw_image_drop(image);
    return status;
}

static int load(struct place *place, struct sw_table *table, struct sw_load *out)
{
    static const bool go_on;
    *out = (struct sw_load){.directory = &place->directory, .table = table, .stop = &go_on};
    /* what is damaged is logged, which is not wanted here */
    int saved = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    int status = sw_snapshot_load(out, place->reason);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(nowhere);
    return status;
}

static bool has(const struct place *place, const char *name)
{
    return faccessat(place->directory.fd, name, F_OK, 0) == 0;
}

/* --- whole ------------------------------------------------------------------------------------ */

Test(snapshot, what_was_saved_is_loaded_and_numbers_go_on)
{
    struct place place;
    struct sw_load loaded;
    struct sw_table *table = new_table(), *other = new_table();
    open_place(&place, sw_io_system());
    cr_assert_eq(load(&place, other, &loaded), 0);
    cr_assert_not(loaded.found);
    set(table, 0, 100);
    cr_assert_eq(save(&place, table), 0, "%s", place.reason);
    set(table, 100, 100);
    set(table, 200, 100);
    cr_assert_eq(save(&place, table), 0, "%s", place.reason);
    uint8_t id[SW_LOG_ID_BYTES];
    memcpy(id, place.directory.log_id, sizeof(id));
    memset(place.directory.log_id, 0, sizeof(id));
    cr_assert_eq(load(&place, other, &loaded), 0, "%s", place.reason);
    cr_assert(loaded.found && holds(other, KEYS));
    cr_assert_eq(loaded.header.sequence, 3);
    cr_assert_eq(memcmp(id, place.directory.log_id, sizeof(id)), 0, "the directory's own");
    cr_assert_eq(save(&place, other), 0);
    cr_assert(has(&place, "snapshot-0000000000000003"), "the sequence goes on after a load");
    sw_snapshot_remove_old(&place.directory, 1, NULL, 0);
    cr_assert(!has(&place, "snapshot-0000000000000001") &&
              has(&place, "snapshot-0000000000000003"));
    close_place(&place);
    sw_table_destroy(table);
    sw_table_destroy(other);
}

/* --- damage ----------------------------------------------------------------------------------- */

struct file {
    uint8_t *bytes;
    size_t size;
};

static struct file read_file(const struct place *place, const char *name)
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

static void write_file(const struct place *place, const char *name, const uint8_t *bytes,
                       size_t size)
{
    int fd = openat(place->directory.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert(fd >= 0);
    cr_assert_eq(sw_io_write(sw_io_system(), fd, bytes, size, 0), 0);
    close(fd);
}

static void clear(struct sw_table *table)
{
    struct sw_queue *queue = NULL;
    struct sw_batch batch = {.kind = SW_BATCH_CLEAR};
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    cr_assert_eq(sw_batch_run(queue, &batch), SW_OK);
    sw_queue_destroy(queue);
}

/* Which bytes mean nothing: zeros behind the head of a block and behind its columns, and between
 * the fields of the footer and its check, which the check covers. */
static bool is_padding(size_t at)
{
    const size_t block = 4096, head = 64;
    if (at < SW_SNAPSHOT_HEADER_BYTES || at >= SW_SNAPSHOT_HEADER_BYTES + 2 * block) {
        return false;
    }
    size_t in_block = (at - SW_SNAPSHOT_HEADER_BYTES) % block;
    bool is_last = at >= SW_SNAPSHOT_HEADER_BYTES + block;
    size_t columns = is_last ? 2 * 64 * sizeof(uint64_t) : 2 * 64 * sizeof(uint64_t);
    return (in_block >= 40 && in_block < head) || in_block >= head + columns;
}

struct damage {
    struct place place;
    struct sw_table *table;
    struct file file; /* the newest snapshot: two blocks, of 64 and of 57 entries */
};

static void open_damage(struct damage *damage)
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

static void close_damage(struct damage *damage)
{
    free(damage->file.bytes);
    sw_table_destroy(damage->table);
    close_place(&damage->place);
}

/* The file is changed where it is: a file system may put one to storage that is truncated, written
 * and closed, and these tests would wait for that 20,000 times. */
static int open_newest(const struct damage *damage)
{
    int fd = openat(damage->place.directory.fd, "snapshot-0000000000000002", O_RDWR);
    cr_assert(fd >= 0);
    return fd;
}

Test(snapshot, a_file_cut_at_any_byte_is_found_and_the_one_before_is_loaded)
{
    struct damage damage;
    struct sw_load loaded;
    open_damage(&damage);
    size_t sizes[4096 * 4], count = 0;
    for (size_t size = 0; size < damage.file.size; size += size % 61 == 60 ? 3 : 1) {
        sizes[count++] = size;
    }
    int fd = open_newest(&damage);
    while (count > 0) {
        size_t size = sizes[--count];
        cr_assert_eq(ftruncate(fd, (off_t)size), 0);
        cr_assert_eq(load(&damage.place, damage.table, &loaded), 0, "cut at %zu: %s", size,
                     damage.place.reason);
        cr_assert(holds(damage.table, 10), "cut at %zu", size);
        cr_assert_eq(loaded.damaged_count, 1);
        cr_assert_eq(loaded.highest, 2, "numbers go on after the damaged one");
        clear(damage.table);
    }
    close(fd);
    close_damage(&damage);
}

Test(snapshot, a_flipped_byte_is_found_or_means_nothing)
{
    struct damage damage;
    struct sw_load loaded;
    open_damage(&damage);
    int fd = open_newest(&damage);
    for (size_t at = 0; at < damage.file.size; at++) {
        uint8_t flipped = damage.file.bytes[at] ^ (uint8_t)(1U << at % 8);
        cr_assert_eq(pwrite(fd, &flipped, 1, (off_t)at), 1);
        cr_assert_eq(load(&damage.place, damage.table, &loaded), 0, "byte %zu: %s", at,
                     damage.place.reason);
        bool found = loaded.damaged_count == 1;
        cr_assert(found || is_padding(at), "byte %zu was flipped and not found", at);
        cr_assert(holds(damage.table, found ? 10 : 121), "byte %zu", at);
        clear(damage.table);
        cr_assert_eq(pwrite(fd, &damage.file.bytes[at], 1, (off_t)at), 1);
    }
    close(fd);
    close_damage(&damage);
}

static void expect_refused(struct damage *damage, const char *expected)
{
    struct sw_load loaded;
    cr_assert_eq(load(&damage->place, damage->table, &loaded), -1);
    cr_assert_not_null(strstr(damage->place.reason, expected), "%s", damage->place.reason);
}

Test(snapshot, what_cannot_be_loaded_is_refused_in_words)
{
    struct damage damage;
    struct sw_snapshot_header header;
    bool newer = false;
    open_damage(&damage);
    cr_assert_null(sw_snapshot_get_header(damage.file.bytes, &header, &newer));
    header.columns |= 16;
    sw_snapshot_put_header(&header, damage.file.bytes);
    write_file(&damage.place, "snapshot-0000000000000002", damage.file.bytes, damage.file.size);
    expect_refused(&damage,
                   "snapshot-0000000000000002 has columns that this program does not know");
    header.columns = 3;
    header.value_format = SW_FRAME_VALUES_FIXED;
    sw_snapshot_put_header(&header, damage.file.bytes);
    write_file(&damage.place, "snapshot-0000000000000002", damage.file.bytes, damage.file.size);
    expect_refused(&damage, "has keys of 8 bytes and fixed values of 8 bytes, which do not fit");
    write_file(&damage.place, "snapshot-0000000000000002", damage.file.bytes, 100);
    write_file(&damage.place, "snapshot-0000000000000001", damage.file.bytes, 100);
    expect_refused(&damage, "no snapshot in ");
    close_damage(&damage);
}

Test(snapshot, more_keys_than_the_table_takes_are_refused_with_what_is_needed)
{
    struct damage damage;
    struct sw_table_config config;
    open_damage(&damage);
    sw_table_destroy(damage.table);
    sw_table_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity_slots = 64;
    config.batch_ops_max = 128;
    cr_assert_eq(sw_table_create(&config, &damage.table, NULL, 0), SW_OK);
    expect_refused(&damage, "has 121 keys, more than the table takes: it needs --capacity, or "
                            "--max-capacity, of at least 143");
    close_damage(&damage);
}

/* --- failing calls ---------------------------------------------------------------------------- */

static struct sw_io failing;
static int calls_left; /* of those that are counted, until one fails */
static int error_then;
static int syncs_failed;

static bool fails(void)
{
    if (calls_left < 0 || calls_left-- > 0) {
        return false;
    }
    calls_left = -1;
    errno = error_then;
    return true;
}

static int failing_open(int dir, const char *name, int flags, mode_t mode)
{
    return fails() ? -1 : sw_io_system()->open(dir, name, flags, mode);
}
static int failing_close(int fd)
{
    int status = close(fd);
    return fails() ? -1 : status;
}
static ssize_t failing_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    return fails() ? -1 : pwrite(fd, data, bytes, at);
}
static int failing_fdatasync(int fd)
{
    cr_assert_eq(syncs_failed, 0, "a failed sync is not repeated");
    syncs_failed += fails();
    return syncs_failed > 0 ? -1 : fdatasync(fd);
}
static int failing_fsync(int fd)
{
    return fails() ? -1 : fsync(fd);
}
static int failing_rename(int dir, const char *from, const char *to)
{
    return fails() ? -1 : sw_io_system()->rename(dir, from, to);
}

static void make_failing(void)
{
    failing = *sw_io_system();
    failing.open = failing_open;
    failing.close = failing_close;
    failing.pwrite = failing_pwrite;
    failing.fdatasync = failing_fdatasync;
    failing.fsync = failing_fsync;
    failing.rename = failing_rename;
}

/* The n-th call fails, for every n until none does. The snapshot before it stays, and is loaded. */
Test(snapshot, a_call_that_fails_leaves_what_was_there)
{
    static const int errors[] = {ENOSPC, EIO, EDQUOT, EROFS, EFBIG};
    struct damage damage;
    struct sw_load loaded;
    struct sw_table *table = new_table();
    make_failing();
    open_damage(&damage);
    set(table, 0, 121);
    sw_table_set_sequence(table, 9);
    int failed = 0, status = -1;
    for (int n = 0; status != 0; n++) {
        damage.place.directory.io = &failing;
        calls_left = n;
        error_then = errors[n % 5];
        syncs_failed = 0;
        status = save(&damage.place, table);
        damage.place.directory.io = sw_io_system();
        failed += status != 0;
        cr_assert_not(has(&damage.place, SW_SNAPSHOT_NEW), "call %d", n);
        if (status != 0) {
            cr_assert_not_null(strstr(damage.place.reason, strerror(error_then)), "call %d: %s", n,
                               damage.place.reason);
            cr_assert_eq(load(&damage.place, damage.table, &loaded), 0);
            cr_assert_eq(loaded.damaged_count, 0, "call %d", n);
            cr_assert(holds(damage.table, 121));
            clear(damage.table);
        }
    }
    cr_assert_eq(failed, 9, "open, 2 blocks, 2 ends, 2 syncs, close, rename");
    cr_assert(has(&damage.place, "snapshot-0000000000000009"));
    sw_table_destroy(table);
    close_damage(&damage);
}

static ssize_t failing_pread(int fd, void *data, size_t bytes, off_t at)
{
    return fails() ? -1 : pread(fd, data, bytes, at);
}

/* A file that cannot be read now may be whole: it is not taken for a damaged one. */
Test(snapshot, a_read_that_fails_stops_the_load)
{
    struct damage damage;
    struct sw_load loaded;
    int refused = 0, status = -1;
    make_failing();
    failing.pread = failing_pread;
    open_damage(&damage);
    for (int n = 0; status != 0; n++) {
        damage.place.directory.io = &failing;
        calls_left = n;
        error_then = EIO;
        status = load(&damage.place, damage.table, &loaded);
        refused += status != 0;
        cr_assert(status == 0 || strstr(damage.place.reason, strerror(EIO)) != NULL, "%s",
                  damage.place.reason);
        clear(damage.table);
    }
    calls_left = -1;
    cr_assert_eq(refused, 5, "open, header, 2 blocks, footer");
    close_damage(&damage);
}
