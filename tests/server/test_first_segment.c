/* SPDX-License-Identifier: MIT
 *
 * test_first_segment.c - the file first-segment: a start notices that all segments of the newest
 * run are missing, wherever the run before, or a start, was cut off; and it refuses nothing else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/wal_first.h"
#include "server/log/first_segment.h"
#include "server/log/history_file.h"
#include "server/log/wal.h"
#include "tests/support/power_disk.h"

#ifdef SHERWOOD_CHECKS /* sanitizers are slow */
enum { STEP = 9, ROUNDS = 1 };
#else
enum { STEP = 1, ROUNDS = 3 };
#endif
enum { WRITES = 3, CALLS_MAX = 400 };

/* --- a server's log on a disk that loses power ------------------------------------------------ */

static struct sw_directory directory;
static struct sw_wal *wal;
static struct sw_io io; /* the disk's, whose opens can fail */
static int opens_left;  /* of new-first-segment: how many fail; atomic */
static char reason[SW_WAL_REASON_BYTES];
static const struct sw_wal_shape shape = {.key_bytes = 8, .value_bytes = 8};

static int failing_open(int dir, const char *name, int flags, mode_t mode)
{
    if (strcmp(name, "new-first-segment") == 0 &&
        __atomic_load_n(&opens_left, __ATOMIC_SEQ_CST) > 0) {
        __atomic_fetch_sub(&opens_left, 1, __ATOMIC_SEQ_CST);
        errno = EIO;
        return -1;
    }
    return power_disk_io()->open(dir, name, flags, mode);
}

static void begin(void)
{
    power_disk_init();
    io = *power_disk_io();
    io.open = failing_open;
}

TestSuite(first_segment, .init = begin, .fini = power_disk_free);

static void no_wake(void *context)
{
    (void)context;
}

static const struct sw_wal_config config = {.level = SW_WAL_ALWAYS,
                                            .segment_bytes = 1 << 15,
                                            .backlog_bytes = 1 << 20,
                                            .patience_ms = 10000,
                                            .columns_bytes_max = 64,
                                            .shape = shape,
                                            .wake = no_wake};

static int check_next_record(void *context, const struct sw_wal_record *record, uint8_t *columns,
                             char why[SW_WAL_REASON_BYTES])
{
    (void)columns, (void)why;
    uint64_t *last = context;
    cr_assert_eq(record->sequence, *last + 1);
    *last = record->sequence;
    return 0;
}

static int end(void *context, char why[SW_WAL_REASON_BYTES])
{
    (void)context, (void)why;
    return 0;
}

/* Returns 0 with the last recovered write in *last, or -1 with an error in `reason`. */
static int start(uint64_t *last)
{
    const struct sw_wal_taker taker = {check_next_record, end, last};
    struct sw_log_scan scan = {.count = 0};
    *last = 0;
    reason[0] = '\0';
    int status = sw_directory_open(&directory, &io, "/data", reason, sizeof(reason));
    if (status == 0 &&
        sw_log_scan(&scan, &directory, 0, 0, &(struct sw_wal_beside){0, 0}, &shape, reason) == 0 &&
        sw_wal_replay(&scan, &directory, 0, sw_wal_heap(), &taker, reason) == 0) {
        if (scan.count > 0) {
            memcpy(directory.log_id, scan.found[0].segment.log_id, SW_LOG_ID_BYTES);
        }
        wal = sw_wal_create(&config);
        status = sw_wal_open(wal, &directory, &scan, reason);
        if (status != 0) {
            sw_wal_destroy(wal);
        }
    } else {
        status = -1;
    }
    sw_log_scan_free(&scan);
    if (status != 0) {
        sw_directory_close(&directory);
    }
    return status;
}

static void stop(void)
{
    (void)sw_wal_close(wal);
    sw_wal_destroy(wal);
    sw_directory_close(&directory);
}

/* Adds WRITES writes, which are durable then. */
static void write_some(uint64_t last)
{
    for (uint64_t i = 1; i <= WRITES; i++) {
        uint64_t *keys = calloc(8, sizeof(*keys));
        keys[0] = last + i;
        const struct sw_wal_write write = {
            .sequence = last + i,
            .kind = SW_WAL_OPERATIONS,
            .operation = 9,
            .count = 1,
            .columns = {{keys, sw_wal_align(8, SW_WAL_ALIGN)}},
            .owned = keys,
        };
        while (!sw_wal_add(wal, &write)) {
            usleep(50);
        }
    }
    while (sw_wal_answerable(wal) < last + WRITES) {
        usleep(50);
    }
}

/* A run that ends by kill -9, or by a loss of power. Returns its first segment. */
static uint64_t run_until_crash(uint64_t expected, struct random *power)
{
    struct sw_wal_first first;
    uint64_t last;
    cr_assert_eq(start(&last), 0, "%s", reason);
    cr_assert_eq(last, expected);
    write_some(last);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    power_disk_crash(power);
    stop();
    power_disk_reboot();
    return first.number;
}

/* Removes the segments from this number on. Returns how many. */
static int lose_from(uint64_t first)
{
    uint64_t *numbers;
    size_t count;
    int lost = 0;
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    cr_assert_eq(sw_directory_numbers(&directory, SW_WAL_NAME, &numbers, &count), 0);
    for (size_t i = 0; i < count; i++) {
        char name[SW_DIRECTORY_NAME_MAX];
        sw_directory_name(SW_WAL_NAME, numbers[i], name);
        lost += numbers[i] >= first;
        cr_assert(numbers[i] < first || io.unlink(directory.fd, name) == 0);
    }
    free(numbers);
    cr_assert_eq(io.fsync(directory.fd), 0);
    sw_directory_close(&directory);
    return lost;
}

/* --- what is noticed, and what is not --------------------------------------------------------- */

/* Two runs with writes, then a start that is cut off before its call `call`. Returns whether it was
 * cut off. */
static bool cut_off_a_start(uint32_t call, struct random *power, uint64_t *second)
{
    uint64_t last;
    begin();
    const uint64_t before = run_until_crash(0, power);
    *second = run_until_crash(WRITES, power);
    cr_assert_lt(before, *second);
    power_disk_crash_before(call, power);
    const bool started = start(&last) == 0;
    const bool was_cut = power_disk_is_dead();
    cr_assert(started || was_cut, "%s", reason);
    power_disk_crash_before(0, NULL);
    power_disk_crash(NULL);
    if (started) {
        stop();
    }
    power_disk_reboot();
    return was_cut;
}

/* Wherever a start is cut off, the next one refuses nothing, and has every write. */
static uint32_t cut_off_each(struct random *power)
{
    uint64_t second, last;
    uint32_t call = 1;
    while (cut_off_a_start(call, power, &second)) {
        cr_assert_eq(start(&last), 0, "call %u: %s", call, reason);
        cr_assert_eq(last, 2 * WRITES, "call %u", call);
        write_some(last);
        stop();
        cr_assert_lt(call += STEP, CALLS_MAX);
    }
    return call;
}

/* The same start reports it if all segments of the run before and of the start are missing. */
static uint32_t cut_off_each_and_lose(struct random *power)
{
    uint64_t second, last;
    uint32_t call = 1;
    while (cut_off_a_start(call, power, &second)) {
        cr_assert_gt(lose_from(second), 0);
        cr_assert_neq(start(&last), 0, "call %u", call);
        cr_assert_not_null(strstr(reason, "are missing, and first-segment names it"), "%s", reason);
        cr_assert_lt(call += STEP, CALLS_MAX);
    }
    return call;
}

Test(first_segment, a_start_that_is_killed_at_any_call)
{
    cr_assert_gt(cut_off_each(NULL), 20);
    cr_assert_gt(cut_off_each_and_lose(NULL), 20);
}

Test(first_segment, a_start_that_loses_power_at_any_call)
{
    struct random random = random_of(1);
    for (int i = 0; i < ROUNDS; i++) {
        cr_assert_gt(cut_off_each(&random), 20);
        cr_assert_gt(cut_off_each_and_lose(&random), 20);
    }
}

/* The first run of a directory, and one whose segments are all missing. */
Test(first_segment, nothing_is_left)
{
    uint64_t last;
    cr_assert_eq(run_until_crash(0, NULL), 1);
    cr_assert_gt(lose_from(1), 0);
    cr_assert_neq(start(&last), 0);
    cr_assert_not_null(strstr(reason, "/data: log-0000000000000001 and all newer"), "%s", reason);
}

/* A release that does not know the file has removed the log, and numbers segments from 1. */
Test(first_segment, an_earlier_release_in_between)
{
    uint64_t last;
    run_until_crash(0, NULL);
    struct sw_wal_first first;
    const uint64_t number = run_until_crash(WRITES, NULL);
    lose_from(1);
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    cr_assert_eq(sw_first_segment_remove(&directory), 0);
    sw_directory_close(&directory);
    cr_assert_eq(run_until_crash(0, NULL), 1);
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0); /* has the id of this log */
    first.number = number;
    first.wall_us = 1;
    cr_assert_eq(sw_first_segment_write(&directory, &first), 0); /* as that release left it */
    sw_directory_close(&directory);
    cr_assert_eq(start(&last), 0, "%s", reason);
    cr_assert_eq(last, WRITES);
    stop();
}

/* Lets all segments look as if the clock had been an hour ahead when they were begun. */
static void put_clock_ahead(void)
{
    uint64_t *numbers;
    size_t count;
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    cr_assert_eq(sw_directory_numbers(&directory, SW_WAL_NAME, &numbers, &count), 0);
    for (size_t i = 0; i < count; i++) {
        char name[SW_DIRECTORY_NAME_MAX];
        uint8_t header[SW_WAL_HEADER_BYTES];
        struct sw_wal_segment segment;
        bool is_newer;
        sw_directory_name(SW_WAL_NAME, numbers[i], name);
        const int fd = io.open(directory.fd, name, O_RDWR, 0);
        cr_assert_eq(io.direct(fd, false), 0);
        cr_assert_eq(sw_io_read(&io, fd, header, sizeof(header), 0), 0);
        cr_assert(sw_wal_segment_decode(header, &segment, &is_newer));
        segment.wall_us += 3600000000U;
        sw_wal_segment_encode(&segment, header);
        cr_assert_eq(sw_io_write(&io, fd, header, sizeof(header), 0), 0);
        cr_assert_eq(io.fdatasync(fd), 0);
        io.close(fd);
    }
    free(numbers);
    sw_directory_close(&directory);
}

/* A clock that goes back between two runs hides no loss. */
Test(first_segment, a_clock_that_goes_back)
{
    uint64_t last;
    run_until_crash(0, NULL);
    put_clock_ahead();
    cr_assert_gt(lose_from(run_until_crash(WRITES, NULL)), 0);
    cr_assert_neq(start(&last), 0);
    cr_assert_not_null(strstr(reason, "first-segment names it"), "%s", reason);
}

/* A log that was removed behind a run without one: the numbers of new segments go on. */
Test(first_segment, numbers_go_on_behind_the_file)
{
    struct sw_wal_first first = {.number = 7, .wall_us = UINT64_MAX};
    struct sw_log_scan scan;
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    memcpy(first.log_id, directory.log_id, sizeof(first.log_id));
    cr_assert_eq(sw_first_segment_write(&directory, &first), 0);
    cr_assert_eq(
        sw_log_scan(&scan, &directory, 1, 1, &(struct sw_wal_beside){0, 0}, &shape, reason), 0);
    wal = sw_wal_create(&config);
    cr_assert_eq(sw_wal_open(wal, &directory, &scan, reason), 0, "%s", reason);
    sw_log_scan_free(&scan);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    cr_assert_eq(first.number, 8);
    stop();
}

/* A file that cannot be written does not stop the server, which tries again. */
Test(first_segment, a_file_that_cannot_be_written)
{
    struct sw_wal_first first;
    uint64_t last;
    cr_assert_eq(run_until_crash(0, NULL), 1);
    __atomic_store_n(&opens_left, 2, __ATOMIC_SEQ_CST);
    cr_assert_eq(start(&last), 0, "%s", reason);
    write_some(last);
    do {
        usleep(1000);
        cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    } while (first.number == 1);
    cr_assert_eq(__atomic_load_n(&opens_left, __ATOMIC_SEQ_CST), 0);
    cr_assert_gt(first.number, 1);
    stop();
}

/* A file of another version is ignored and replaced. */
Test(first_segment, a_damaged_file)
{
    struct sw_wal_first first;
    uint64_t last;
    const uint64_t number = run_until_crash(0, NULL);
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    const int fd = io.open(directory.fd, SW_WAL_FIRST_NAME, O_WRONLY, 0);
    cr_assert_eq(sw_io_write(&io, fd, "sherwood-first-segment 2", 24, 0), 0);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    cr_assert_eq(first.number, 0);
    sw_directory_close(&directory);
    cr_assert_eq(start(&last), 0, "%s", reason);
    cr_assert_eq(last, WRITES);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    cr_assert_gt(first.number, number);
    stop();
}

/* A crash before any call of the removal of another history's files. As long as the file exists, a
 * segment exists. The next start removes the rest. */
Test(first_segment, files_that_are_replaced)
{
    char why[SW_HISTORY_REASON_BYTES] = "";
    int removed = -1;
    for (uint32_t call = 1; removed != 0; call++) {
        struct sw_wal_first first;
        uint64_t *numbers, last;
        size_t count;
        begin();
        run_until_crash(0, NULL);
        cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
        power_disk_crash_before(call, NULL);
        removed = sw_history_remove_files(&directory, why);
        power_disk_crash_before(0, NULL);
        power_disk_reboot();
        cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
        cr_assert_eq(sw_directory_numbers(&directory, SW_WAL_NAME, &numbers, &count), 0);
        cr_assert(first.number == 0 || count > 0, "call %u", call);
        free(numbers);
        cr_assert_eq(sw_history_remove_files(&directory, why), 0, "%s", why);
        sw_directory_close(&directory);
        cr_assert_eq(start(&last), 0, "call %u: %s", call, reason);
        stop();
        cr_assert_lt(call, CALLS_MAX);
    }
}

/* A start without a log removes segments that no later start may read: the file may name them. */
Test(first_segment, segments_that_a_start_without_a_log_removes)
{
    struct sw_log_scan scan;
    struct sw_wal_first first;
    run_until_crash(0, NULL);
    cr_assert_eq(sw_directory_open(&directory, &io, "/data", reason, sizeof(reason)), 0);
    cr_assert_eq(
        sw_log_scan(&scan, &directory, 0, 0, &(struct sw_wal_beside){0, 0}, &shape, reason), 0);
    cr_assert_eq(sw_wal_remove_unreachable(&scan, &directory, reason), 0);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    cr_assert_eq(first.number, 1, "nothing was removed");
    scan.found[0].is_passed = true;
    cr_assert_eq(sw_wal_remove_unreachable(&scan, &directory, reason), 0);
    cr_assert_eq(sw_first_segment_read(&directory, &first), 0);
    cr_assert_eq(first.number, 0);
    sw_log_scan_free(&scan);
    sw_directory_close(&directory);
}
