/* SPDX-License-Identifier: MIT
 *
 * test_snapshot.c - writing and loading snapshots: what is there again, and every call failing.
 */
#include <errno.h>
#include <pthread.h>

#include "server/log/snapshot_fits.h"
#include "server/log/snapshot_take.h"
#include "table/image.h"
#include "table/table.h"
#include "tests/server/snapshot_fixture.h"

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

/* Entries that expire are loaded by batches, in the order of slots. The table has grown before. */
Test(snapshot, a_table_grows_once_for_entries_that_expire)
{
    struct place place;
    struct sw_load loaded;
    struct sw_table_stats stats;
    struct sw_table_config config = cpu_config(128, 128);
    config.max_capacity_slots = 1024;
    struct sw_table *table = new_table(), *other = must_create(&config);
    struct sw_queue *queue = must_queue(table);
    const uint64_t key = 0, at = UINT64_C(1) << 45; /* milliseconds: in a thousand years */
    struct sw_batch expire = {.op = SW_EXPIRE, .count = 1, .keys = &key, .expires = &at};
    open_place(&place, sw_io_system());
    for (uint32_t first = 0; first < KEYS; first += 100) {
        set(table, first, 100);
    }
    cr_assert_eq(sw_batch_run(queue, &expire), SW_OK);
    sw_queue_destroy(queue);
    cr_assert_eq(save(&place, table), 0, "%s", place.reason);
    cr_assert_eq(load(&place, other, &loaded), 0, "%s", place.reason);
    cr_assert(holds(other, KEYS));
    sw_table_stats(other, &stats);
    cr_assert_eq(stats.expires, 1);
    cr_assert_eq(stats.resized, 1);
    cr_assert_eq(stats.grown, 0);
    close_place(&place);
    sw_table_destroy(table);
    sw_table_destroy(other);
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

/* --- who goes first --------------------------------------------------------------------------- */

static bool never(void *context)
{
    (void)context;
    return false;
}

struct first {
    struct sw_table *table;
    struct sw_image *image;
    int status;
};

static void *take_first(void *context)
{
    struct first *first = context;
    first->status = sw_snapshot_image(first->table, true, false, NULL, NULL, &first->image);
    return NULL;
}

/* While somebody who goes first waits for the image, its holder hears of it and nobody else gets
 * it. */
Test(snapshot, an_image_is_given_up_for_another)
{
    struct sw_table *table = new_table();
    struct sw_image *held = NULL, *other = NULL;
    struct first first = {table, NULL, SW_PENDING};
    pthread_t thread;
    set(table, 0, 100);
    cr_assert_eq(sw_snapshot_image(table, false, false, NULL, NULL, &held), SW_OK);
    cr_assert_eq(sw_snapshot_image(table, false, false, never, NULL, &other), SW_E_BUSY);
    cr_assert_not(sw_image_is_claimed(table));
    cr_assert_eq(pthread_create(&thread, NULL, take_first, &first), 0);
    while (!sw_image_is_claimed(table)) {
        usleep(100);
    }
    cr_assert_eq(sw_snapshot_image(table, false, false, never, NULL, &other), SW_E_BUSY);
    sw_image_drop(held);
    pthread_join(thread, NULL);
    cr_assert_eq(first.status, SW_OK);
    cr_assert_not(sw_image_is_claimed(table));
    cr_assert_eq(sw_table_images(table), 1);
    sw_image_drop(first.image);
    cr_assert_eq(sw_table_images(table), 0);
    sw_table_destroy(table);
}

struct taker {
    struct sw_table *table;
    uint64_t last; /* the highest number that an image may have */
    unsigned above;
    bool stop; /* atomic */
};

static void *take_images(void *context)
{
    struct taker *taker = context;
    struct sw_image *image = NULL;
    while (!__atomic_load_n(&taker->stop, __ATOMIC_RELAXED)) {
        cr_assert_eq(sw_snapshot_image(taker->table, false, false, NULL, NULL, &image), SW_OK);
        taker->above += sw_image_sequence(image) > taker->last;
        sw_image_drop(image);
    }
    return NULL;
}

/* A RESIZE below a claim gives its number back, as that of a replica does. No image has the number,
 * also if it was begun before the claim. */
Test(snapshot, no_image_has_what_a_claim_hides)
{
    struct sw_table *table = new_table();
    struct sw_queue *queue = NULL;
    pthread_t threads[2];
    set(table, 0, 100);
    cr_assert_eq(sw_queue_create(table, &queue), SW_OK);
    struct taker takers[2] = {{.table = table, .last = sw_table_last_sequence(table)}};
    takers[1] = takers[0];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, take_images, &takers[i]), 0);
    }
    for (unsigned i = 0; i < 3000; i++) {
        struct sw_batch resize = {.kind = SW_BATCH_RESIZE, .capacity = 512 + i % 2 * 512};
        sw_image_claim(table);
        cr_assert_eq(sw_batch_run(queue, &resize), SW_OK);
        sw_table_set_sequence(table, takers[0].last);
        sw_image_unclaim(table);
        usleep(10);
    }
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&takers[i].stop, true, __ATOMIC_RELAXED);
        pthread_join(threads[i], NULL);
        cr_assert_eq(takers[i].above, 0, "%u images", takers[i].above);
    }
    sw_queue_destroy(queue);
    sw_table_destroy(table);
}

static bool is_outdated(const struct sw_snapshot_write *write)
{
    return write->context != NULL;
}

/* A file that is no longer needed is given up, and the directory is as it was. */
Test(snapshot, one_that_is_outdated_is_given_up)
{
    struct place place;
    struct sw_table *table = new_table();
    set(table, 0, 100);
    open_place(&place, sw_io_system());
    cr_assert_eq(save(&place, table), 0, "%s", place.reason);
    struct sw_snapshot_write write = {.directory = &place.directory,
                                      .header = {.key_bytes = 8,
                                                 .value_bytes = 8,
                                                 .block_entries = 64,
                                                 .columns = SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES},
                                      .is_outdated = is_outdated};
    for (int outdated = 1; outdated >= 0; outdated--) {
        set(table, 200, 100);
        write.context = outdated ? &place : NULL;
        cr_assert_eq(sw_snapshot_image(table, false, false, NULL, NULL, &write.image), SW_OK);
        write.header.sequence = sw_image_sequence(write.image);
        cr_assert_eq(sw_snapshot_write(&write, place.reason), outdated ? -1 : 0);
        sw_image_drop(write.image);
        cr_assert_not(has(&place, "new-snapshot"));
    }
    cr_assert_not(has(&place, "snapshot-0000000000000002"));
    cr_assert(has(&place, "snapshot-0000000000000003"));
    close_place(&place);
    sw_table_destroy(table);
}

static int no_space(int fd, off_t bytes)
{
    (void)fd;
    errno = bytes > 1 << 20 ? ENOSPC : EOPNOTSUPP;
    return -1;
}

/* Before others give the image up for a snapshot, the disk is asked. */
Test(snapshot, the_disk_is_probed)
{
    struct place place;
    struct sw_io io = *sw_io_system();
    io.allocate = no_space;
    open_place(&place, &io);
    cr_assert_eq(sw_snapshot_probe(&place.directory, 1 << 20, place.reason), 0, "not supported");
    cr_assert_eq(sw_snapshot_probe(&place.directory, 1 << 21, place.reason), -1);
    cr_assert_not_null(strstr(place.reason, "cannot be written: No space left"));
    cr_assert_not(has(&place, "new-snapshot"));
    close_place(&place);
}

Test(snapshot, every_block_has_entries)
{
    static const uint64_t rows[][2] = {{0, 0}, {1, 1}, {4, 1}, {5, 2}, {8, 2}, {9, 3}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct sw_snapshot_header header = {.entries = rows[i][0], .block_entries = 4};
        uint64_t entries = 0;
        cr_assert_eq(sw_snapshot_blocks(&header), rows[i][1], "%lu entries",
                     (unsigned long)rows[i][0]);
        for (uint64_t block = 0; block < rows[i][1]; block++) {
            cr_assert_gt(sw_snapshot_entries_of(&header, block), 0);
            entries += sw_snapshot_entries_of(&header, block);
        }
        cr_assert_eq(entries, rows[i][0]);
    }
}

/* Keys may become wider, and integers; rows stay as they are. */
Test(snapshot, fits_wider_keys)
{
    static const struct {
        uint32_t keys, table_keys, format, bytes, table_bytes;
        bool fits;
    } rows[] = {
        {8, 8, SW_FRAME_VALUES_FIXED, 16, 16, true},  {4, 8, SW_FRAME_VALUES_FIXED, 16, 16, true},
        {8, 4, SW_FRAME_VALUES_FIXED, 16, 16, false}, {8, 8, SW_FRAME_VALUES_FIXED, 16, 20, false},
        {8, 8, SW_FRAME_VALUES_FIXED, 20, 16, false}, {4, 8, SW_FRAME_VALUES_INTEGER, 4, 8, true},
        {8, 4, SW_FRAME_VALUES_INTEGER, 8, 4, false}, {4, 8, SW_FRAME_VALUES_INTEGER, 8, 4, false},
    };
    struct sw_directory directory = {.fd = -1};
    char reason[SW_LOAD_REASON_BYTES];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_load load = {.directory = &directory, .value_format = rows[i].format};
        struct sw_table_info info = {.key_bytes = rows[i].table_keys,
                                     .value_bytes = rows[i].table_bytes};
        load.header.key_bytes = rows[i].keys;
        load.header.value_bytes = rows[i].bytes;
        load.header.value_format = rows[i].format;
        reason[0] = '\0';
        cr_assert_eq(sw_snapshot_fits(&load, &info, "snapshot", reason), rows[i].fits,
                     "row %zu: %s", i, reason);
        cr_assert_eq(strstr(reason, "do not fit this table") == NULL, rows[i].fits, "%s", reason);
    }
}
