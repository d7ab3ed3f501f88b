/* SPDX-License-Identifier: MIT
 *
 * wal_fixture.h - a write-ahead log in a directory of its own, on a disk whose calls can fail.
 */
#ifndef SHERWOOD_TESTS_SERVER_WAL_FIXTURE_H
#define SHERWOOD_TESTS_SERVER_WAL_FIXTURE_H

#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/log/wal.h"

enum { KEYS_MAX = 64 };
enum { LATE = 1000 }; /* writes that fill more than a segment */

/* --- a disk whose calls can fail -------------------------------------------------------------- */

/* The next failures, by call: how many calls succeed before; atomic. -1: none fails. */
static int syncs_left = -1, writes_left = -1, opens_left = -1, names_left = -1;
static bool opens_hang, hanging; /* atomic: segments are not made until then; one is not */
static bool open_failed;         /* atomic: of a segment */
static int failed_fd = -1, syncs_after_failure;
static int bad_closes; /* of what is not open */

static inline bool fails(int *left)
{
    int now = __atomic_load_n(left, __ATOMIC_SEQ_CST);
    return now == 0 || (now > 0 && __atomic_fetch_sub(left, 1, __ATOMIC_SEQ_CST) == 0);
}

static inline int failing_fdatasync(int fd)
{
    if (fd == __atomic_load_n(&failed_fd, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&syncs_after_failure, 1, __ATOMIC_SEQ_CST);
    }
    if (fails(&syncs_left)) {
        __atomic_store_n(&failed_fd, fd, __ATOMIC_SEQ_CST);
        errno = EIO;
        return -1;
    }
    return sw_io_system()->fdatasync(fd);
}

/* Fails if writes_left says so. Otherwise writes all pieces, or every third time a part of the
 * first one. */
static inline ssize_t failing_pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    static uint32_t turn;
    struct iovec less = {pieces[0].iov_base, pieces[0].iov_len};
    if (fails(&writes_left)) {
        errno = EIO;
        return -1;
    }
    if (__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % 3 != 0) {
        return sw_io_system()->pwritev(fd, pieces, count, at);
    }
    less.iov_len = less.iov_len / 2 + 1;
    return sw_io_system()->pwritev(fd, &less, 1, at);
}

static inline int failing_open(int dir, const char *name, int flags, mode_t mode)
{
    const bool is_new = strcmp(name, "new-log") == 0;
    while (is_new && __atomic_load_n(&opens_hang, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&hanging, true, __ATOMIC_SEQ_CST);
        usleep(1000);
    }
    if (is_new && __atomic_load_n(&opens_left, __ATOMIC_SEQ_CST) == 0) {
        __atomic_store_n(&open_failed, true, __ATOMIC_SEQ_CST);
        errno = ENOSPC;
        return -1;
    }
    return sw_io_system()->open(dir, name, flags, mode);
}

/* Its number is another file's from now on. */
static inline int noting_close(int fd)
{
    int expected = fd;
    __atomic_compare_exchange_n(&failed_fd, &expected, -1, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    int status = sw_io_system()->close(fd);
    __atomic_fetch_add(&bad_closes, status != 0, __ATOMIC_SEQ_CST);
    return status;
}

static inline int failing_fsync(int fd)
{
    if (fails(&names_left)) {
        errno = EIO;
        return -1;
    }
    return sw_io_system()->fsync(fd);
}

/* --- a log in a directory of its own ---------------------------------------------------------- */

struct fixture {
    char path[64];
    struct sw_io io;
    struct sw_directory directory;
    struct sw_wal *wal;
    uint64_t end;  /* recovered */
    uint64_t base; /* a snapshot stands for the writes up to here */
    uint64_t patience_ms;
    uint64_t wakes;
};

static inline void wake(void *context)
{
    __atomic_fetch_add(&((struct fixture *)context)->wakes, 1, __ATOMIC_RELAXED);
}

/* What a start reads: sequence after sequence, with the keys that belong to it. */
static inline int check_record(void *context, const struct sw_wal_record *record, uint8_t *columns,
                               char reason[SW_WAL_REASON_BYTES])
{
    uint64_t *next = context;
    const uint64_t *keys = (const uint64_t *)(const void *)columns;
    (void)reason;
    cr_assert_eq(record->sequence, *next);
    for (uint32_t i = 0; i < record->count; i++) {
        cr_assert_eq(keys[i], record->sequence * KEYS_MAX + i);
    }
    (*next)++;
    return 0;
}

static inline int end(void *context, char reason[SW_WAL_REASON_BYTES])
{
    (void)context;
    (void)reason;
    return 0;
}

static inline void start(struct fixture *f, enum sw_wal_level level)
{
    const struct sw_wal_config config = {
        .level = level,
        .segment_bytes = 1 << 16,
        .backlog_bytes = 1 << 20,
        .columns_bytes_max = KEYS_MAX * 8,
        .patience_ms = f->patience_ms,
        .shape = {.key_bytes = 8, .value_bytes = 8},
        .wake = wake,
        .context = f,
    };
    struct sw_log_scan scan;
    char reason[SW_WAL_REASON_BYTES] = "";
    uint64_t next = f->base + 1;
    const struct sw_wal_taker taker = {check_record, end, &next};
    cr_assert_eq(sw_directory_open(&f->directory, &f->io, f->path, reason, sizeof(reason)), 0, "%s",
                 reason);
    cr_assert_eq(sw_log_scan(&scan, &f->directory, f->base, f->base, &(struct sw_wal_beside){0, 0},
                             &config.shape, reason),
                 0, "%s", reason);
    for (size_t i = 0; i < scan.count; i++) { /* they have less than SW_WAL_KEPT_BYTES */
        cr_assert_not_null(scan.file[i].bytes, "the scan did not keep segment %zu", i);
    }
    if (scan.count > 0) {
        memcpy(f->directory.log_id, scan.found[0].segment.log_id, 16);
    }
    cr_assert_eq(sw_wal_replay(&scan, &f->directory, f->base, sw_wal_heap(), &taker, reason), 0,
                 "%s", reason);
    cr_assert_eq(next, scan.plan.end + 1);
    f->end = scan.plan.end;
    f->wal = sw_wal_create(&config);
    cr_assert_not_null(f->wal);
    cr_assert_eq(sw_wal_open(f->wal, &f->directory, &scan, reason), 0, "%s", reason);
    sw_log_scan_free(&scan);
}

static inline void begin_log(struct fixture *f, enum sw_wal_level level)
{
    memset(f, 0, sizeof(*f));
    strcpy(f->path, "/tmp/sherwood-wal-XXXXXX");
    cr_assert_not_null(mkdtemp(f->path));
    f->io = *sw_io_system();
    f->io.fdatasync = failing_fdatasync;
    f->io.pwritev = failing_pwritev;
    f->io.open = failing_open;
    f->io.fsync = failing_fsync;
    f->io.close = noting_close;
    f->patience_ms = 20000;
    start(f, level);
}

static inline int stop(struct fixture *f)
{
    int status = sw_wal_close(f->wal);
    sw_wal_destroy(f->wal);
    sw_directory_close(&f->directory);
    return status;
}

static inline void finish(struct fixture *f)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", f->path);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(bad_closes, 0, "closed twice");
}

/* A test between begin_log and END, a function of the fixture: its body has `f`. */
#define LOG_TEST(suite, name, LEVEL, END)          \
    static void suite##_##name(struct fixture *f); \
    Test(suite, name)                              \
    {                                              \
        struct fixture state, *f = &state;         \
        begin_log(f, LEVEL);                       \
        suite##_##name(f);                         \
        END(f);                                    \
    }                                              \
    static void suite##_##name(struct fixture *f)

static inline void hand_in(struct sw_wal *wal, uint64_t sequence)
{
    uint32_t count = (uint32_t)(sequence * 7 % KEYS_MAX);
    uint64_t *keys = malloc(KEYS_MAX * sizeof(*keys));
    for (uint32_t i = 0; i < KEYS_MAX; i++) {
        keys[i] = sequence * KEYS_MAX + i;
    }
    const struct sw_wal_write write = {
        .sequence = sequence,
        .kind = SW_WAL_OPERATIONS,
        .operation = 9,
        .count = count,
        .columns = {{keys, sw_wal_align(count * 8ULL, SW_WAL_ALIGN)}},
        .owned = keys,
    };
    while (!sw_wal_add(wal, &write)) {
        usleep(100);
    }
}

/* Waits until the condition holds. Fails after 20,000 looks, one a millisecond. */
#define WAIT_FOR(condition)                            \
    for (int waits_ = 0; !(condition); waits_++) {     \
        cr_assert_lt(waits_, 20000, "%s", #condition); \
        usleep(1000);                                  \
    }

static inline void wait_until(struct sw_wal *wal, uint64_t answerable)
{
    for (int i = 0; sw_wal_answerable(wal) < answerable; i++) {
        cr_assert_lt(i, 200000, "%lu of %lu", (unsigned long)sw_wal_answerable(wal),
                     (unsigned long)answerable);
        usleep(100);
    }
}

/* Hands in a write, and waits until it is in the log. */
static inline void write_one(struct sw_wal *wal, uint64_t sequence)
{
    hand_in(wal, sequence);
    wait_until(wal, sequence);
}

static inline void wait_for_state(struct sw_wal *wal, enum sw_wal_state state)
{
    WAIT_FOR(sw_wal_state(wal) == state);
}

/* Is there a segment that no write is in yet? The segmenter makes it beside the writes. */
static inline bool has_next_segment(struct fixture *f)
{
    struct sw_wal_stats stats;
    char pattern[sizeof(f->path) + sizeof(SW_WAL_NAME "-*")];
    glob_t names;
    snprintf(pattern, sizeof(pattern), "%s/" SW_WAL_NAME "-*", f->path);
    const size_t count = glob(pattern, 0, NULL, &names) == 0 ? names.gl_pathc : 0;
    sw_wal_stats(f->wal, &stats);
    globfree(&names);
    return count > stats.segments;
}

/* Hands in writes until the log refuses more, because the disk has no room for another segment.
 * Then hands in `late` more, which stand for writes that the log admitted before: they exceed its
 * reserved room. Returns the last write. */
static inline uint64_t fill_disk(struct fixture *f, uint64_t next, uint64_t late)
{
    __atomic_store_n(&open_failed, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&opens_left, 0, __ATOMIC_SEQ_CST);
    while (sw_wal_state(f->wal) == SW_WAL_OK) {
        /* the log reserves room once the segmenter, which may be late, has found the disk full */
        WAIT_FOR(has_next_segment(f) || __atomic_load_n(&open_failed, __ATOMIC_SEQ_CST));
        hand_in(f->wal, next);
        while (sw_wal_answerable(f->wal) < next && sw_wal_state(f->wal) == SW_WAL_OK) {
            usleep(100);
        }
        next++;
    }
    cr_assert_eq(sw_wal_state(f->wal), SW_WAL_FULL);
    for (uint64_t i = 0; i < late; i++) {
        hand_in(f->wal, next++);
    }
    return next - 1;
}

#endif
