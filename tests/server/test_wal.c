/* SPDX-License-Identifier: MIT
 *
 * test_wal.c - the threads of the write-ahead log: what was handed in, in whatever order, is read
 * again; what a failing disk does to it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/log/wal.h"
#include "tests/support/random.h"

enum { KEYS_MAX = 64 };

/* --- a disk whose calls can fail -------------------------------------------------------------- */

/* The next failures, by call: how many calls succeed before; atomic. -1: none fails. */
static int syncs_left = -1, writes_left = -1, opens_left = -1;
static int failed_fd = -1, syncs_after_failure;

static bool fails(int *left)
{
    int now = __atomic_load_n(left, __ATOMIC_SEQ_CST);
    return now == 0 || (now > 0 && __atomic_fetch_sub(left, 1, __ATOMIC_SEQ_CST) == 0);
}

static int failing_fdatasync(int fd)
{
    if (fd == __atomic_load_n(&failed_fd, __ATOMIC_SEQ_CST)) {
        syncs_after_failure++;
    }
    if (fails(&syncs_left)) {
        __atomic_store_n(&failed_fd, fd, __ATOMIC_SEQ_CST);
        errno = EIO;
        return -1;
    }
    return sw_io_system()->fdatasync(fd);
}

/* Writes as much as it likes of what it is given. */
static ssize_t failing_pwritev(int fd, const struct iovec *pieces, int count, off_t at)
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

static int failing_open(int dir, const char *name, int flags, mode_t mode)
{
    if (strcmp(name, "new-log") == 0 && __atomic_load_n(&opens_left, __ATOMIC_SEQ_CST) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return sw_io_system()->open(dir, name, flags, mode);
}

/* --- a log in a directory of its own ---------------------------------------------------------- */

struct fixture {
    char path[64];
    struct sw_io io;
    struct sw_directory directory;
    struct sw_wal *wal;
    uint64_t end; /* recovered */
    uint64_t wakes;
};

static void wake(void *context)
{
    __atomic_fetch_add(&((struct fixture *)context)->wakes, 1, __ATOMIC_RELAXED);
}

/* What a start reads: sequence after sequence, with the keys that belong to it. */
static int take(void *context, const struct sw_wal_record *record, const uint8_t *columns,
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

static int end(void *context, char reason[SW_WAL_REASON_BYTES])
{
    (void)context;
    (void)reason;
    return 0;
}

static void start(struct fixture *f, enum sw_wal_level level)
{
    const struct sw_wal_config config = {
        .level = level,
        .segment_bytes = 1 << 16,
        .backlog_bytes = 1 << 20,
        .columns_bytes_max = KEYS_MAX * 8,
        .shape = {.key_bytes = 8, .value_bytes = 8},
        .wake = wake,
        .context = f,
    };
    struct sw_wal_survey survey;
    char reason[SW_WAL_REASON_BYTES] = "";
    uint64_t next = 1;
    const struct sw_wal_taker taker = {take, end, &next};
    cr_assert_eq(sw_directory_open(&f->directory, &f->io, f->path, reason, sizeof(reason)), 0, "%s",
                 reason);
    cr_assert_eq(sw_wal_survey(&survey, &f->directory, 0, 0, &config.shape, sw_wal_heap(), reason),
                 0, "%s", reason);
    if (survey.count > 0) {
        memcpy(f->directory.log_id, survey.found[0].segment.log_id, 16);
    }
    cr_assert_eq(sw_wal_replay(&survey, &f->directory, 0, sw_wal_heap(), &taker, reason), 0, "%s",
                 reason);
    cr_assert_eq(next, survey.plan.end + 1);
    f->end = survey.plan.end;
    f->wal = sw_wal_create(&config);
    cr_assert_not_null(f->wal);
    cr_assert_eq(sw_wal_open(f->wal, &f->directory, &survey, reason), 0, "%s", reason);
    sw_wal_survey_free(&survey);
}

static void begin(struct fixture *f, enum sw_wal_level level)
{
    memset(f, 0, sizeof(*f));
    strcpy(f->path, "/tmp/sherwood-wal-XXXXXX");
    cr_assert_not_null(mkdtemp(f->path));
    f->io = *sw_io_system();
    f->io.fdatasync = failing_fdatasync;
    f->io.pwritev = failing_pwritev;
    f->io.open = failing_open;
    start(f, level);
}

static int stop(struct fixture *f)
{
    int status = sw_wal_close(f->wal);
    sw_wal_destroy(f->wal);
    sw_directory_close(&f->directory);
    return status;
}

static void finish(struct fixture *f)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", f->path);
    cr_assert_eq(system(command), 0);
}

static void hand_in(struct sw_wal *wal, uint64_t sequence)
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

static void wait_until(struct sw_wal *wal, uint64_t answerable)
{
    for (int i = 0; sw_wal_answerable(wal) < answerable; i++) {
        cr_assert_lt(i, 200000, "%lu of %lu", (unsigned long)sw_wal_answerable(wal),
                     (unsigned long)answerable);
        usleep(100);
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

struct producer {
    struct sw_wal *wal;
    uint64_t from, to, step;
};

static void *produce(void *argument)
{
    const struct producer *producer = argument;
    for (uint64_t i = producer->from; i <= producer->to; i += producer->step) {
        hand_in(producer->wal, i);
    }
    return NULL;
}

/* Four threads hand in every fourth write: it is one order in the log. */
Test(wal, writes_of_many_threads_are_read_in_order)
{
    static const enum sw_wal_level levels[] = {SW_WAL_ALWAYS, SW_WAL_EVERYSEC, SW_WAL_NO};
    for (int l = 0; l < 3; l++) {
        struct fixture f;
        pthread_t threads[4];
        struct producer producers[4];
        begin(&f, levels[l]);
        for (uint64_t i = 0; i < 4; i++) {
            producers[i] = (struct producer){f.wal, i + 1, 8000, 4};
            pthread_create(&threads[i], NULL, produce, &producers[i]);
        }
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
        wait_until(f.wal, 8000);
        struct sw_wal_figures figures;
        sw_wal_figures(f.wal, &figures);
        cr_assert_gt(figures.segments, 10); /* 8000 records of 300 bytes on average */
        cr_assert_eq(figures.written, 8000);
        cr_assert_eq(figures.records, 8000);
        cr_assert_eq(stop(&f), 0);
        start(&f, levels[l]);
        cr_assert_eq(f.end, 8000);
        cr_assert_eq(stop(&f), 0);
        finish(&f);
    }
}

/* A life after a life, each with some writes; now and then a snapshot stands for the older ones. */
Test(wal, lives_follow_each_other)
{
    struct random random = random_of(1);
    struct fixture f;
    begin(&f, SW_WAL_ALWAYS);
    uint64_t next = 1;
    for (int life = 0; life < 12; life++) {
        uint64_t writes = random_below(&random, 400);
        for (uint64_t i = 0; i < writes; i++) {
            hand_in(f.wal, next++);
        }
        wait_until(f.wal, next - 1);
        cr_assert_eq(stop(&f), 0);
        start(&f, life % 2 == 0 ? SW_WAL_NO : SW_WAL_ALWAYS);
        cr_assert_eq(f.end, next - 1);
    }
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

Test(wal, segments_go_that_a_snapshot_stands_for)
{
    struct sw_wal_figures figures;
    struct fixture f;
    begin(&f, SW_WAL_ALWAYS);
    for (uint64_t i = 1; i <= 2000; i++) {
        hand_in(f.wal, i);
    }
    wait_until(f.wal, 2000);
    sw_wal_forget(f.wal, 2000);
    for (int i = 0; i < 20000; i++) {
        sw_wal_figures(f.wal, &figures);
        if (figures.segments == 1) {
            break;
        }
        usleep(100);
    }
    cr_assert_eq(figures.segments, 1);
    uint64_t *numbers;
    size_t count;
    cr_assert_eq(sw_directory_numbers(&f.directory, SW_WAL_NAME, &numbers, &count), 0);
    cr_assert_leq(count, 2); /* the one that is written, and perhaps the next */
    free(numbers);
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

/* The rule of no_retry: what a failed sync was to make durable is never called durable, and the
 * file is not synced again. */
Test(wal, a_failed_sync_breaks_the_log)
{
    struct fixture f;
    begin(&f, SW_WAL_ALWAYS);
    hand_in(f.wal, 1);
    wait_until(f.wal, 1);
    __atomic_store_n(&syncs_left, 0, __ATOMIC_SEQ_CST);
    hand_in(f.wal, 2);
    while (sw_wal_state(f.wal) != SW_WAL_BROKEN) {
        usleep(100);
    }
    __atomic_store_n(&syncs_left, -1, __ATOMIC_SEQ_CST);
    hand_in(f.wal, 3);
    sw_wal_want_durable(f.wal, 3);
    usleep(20000);
    cr_assert_eq(sw_wal_answerable(f.wal), 1);
    cr_assert_not(sw_wal_has_room(f.wal));
    cr_assert_eq(stop(&f), -1);
    cr_assert_eq(syncs_after_failure, 0);
    start(&f, SW_WAL_ALWAYS);
    cr_assert(f.end == 1 || f.end == 2); /* this kernel has kept it */
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

Test(wal, a_failed_write_breaks_the_log)
{
    struct fixture f;
    begin(&f, SW_WAL_NO);
    hand_in(f.wal, 1);
    wait_until(f.wal, 1);
    __atomic_store_n(&writes_left, 0, __ATOMIC_SEQ_CST);
    hand_in(f.wal, 2);
    while (sw_wal_state(f.wal) != SW_WAL_BROKEN) {
        usleep(100);
    }
    __atomic_store_n(&writes_left, -1, __ATOMIC_SEQ_CST);
    cr_assert_leq(sw_wal_answerable(f.wal), 1);
    cr_assert_eq(stop(&f), -1);
    start(&f, SW_WAL_NO);
    cr_assert_eq(f.end, 1);
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

/* Without space for another segment writes are refused when the current one is full; with space
 * the log goes on, and nothing is lost. */
Test(wal, service_returns_when_space_returns)
{
    struct fixture f;
    begin(&f, SW_WAL_ALWAYS);
    __atomic_store_n(&opens_left, 0, __ATOMIC_SEQ_CST);
    uint64_t next = 1;
    while (sw_wal_state(f.wal) == SW_WAL_OK) {
        hand_in(f.wal, next++);
        usleep(200);
    }
    cr_assert_eq(sw_wal_state(f.wal), SW_WAL_FULL);
    cr_assert_not(sw_wal_has_room(f.wal));
    cr_assert_lt(sw_wal_answerable(f.wal), next - 1);
    __atomic_store_n(&opens_left, -1, __ATOMIC_SEQ_CST);
    wait_until(f.wal, next - 1);
    cr_assert_eq(sw_wal_state(f.wal), SW_WAL_OK);
    cr_assert_eq(stop(&f), 0);
    start(&f, SW_WAL_ALWAYS);
    cr_assert_eq(f.end, next - 1);
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

/* Hands in writes until the disk has no room for another segment. Returns how many there were. */
static uint64_t fill_disk(struct fixture *f)
{
    uint64_t next = 1;
    for (; next <= 1000; next++) {
        hand_in(f->wal, next);
    }
    wait_until(f->wal, 1000);
    __atomic_store_n(&opens_left, 0, __ATOMIC_SEQ_CST);
    while (sw_wal_state(f->wal) == SW_WAL_OK) {
        hand_in(f->wal, next++);
        usleep(200);
    }
    return next - 1;
}

/* A snapshot may be what makes room on a full disk. */
Test(wal, segments_go_though_another_one_cannot_be_made)
{
    struct sw_wal_figures figures;
    struct fixture f;
    begin(&f, SW_WAL_ALWAYS);
    uint64_t last = fill_disk(&f);
    sw_wal_figures(f.wal, &figures);
    cr_assert_gt(figures.segments, 2);
    sw_wal_forget(f.wal, last);
    for (int i = 0; figures.segments > 1; i++) {
        cr_assert_lt(i, 5000, "%lu segments", (unsigned long)figures.segments);
        usleep(1000);
        sw_wal_figures(f.wal, &figures);
    }
    __atomic_store_n(&opens_left, -1, __ATOMIC_SEQ_CST);
    wait_until(f.wal, last);
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

static uint64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* .. also when a MARK would be due, which takes a second. */
Test(wal, what_waits_for_a_segment_sleeps)
{
    struct fixture f;
    begin(&f, SW_WAL_ALWAYS);
    uint64_t last = fill_disk(&f);
    usleep(1200000);
    uint64_t before = cpu_ms();
    usleep(300000);
    cr_assert_lt(cpu_ms() - before, 100);
    __atomic_store_n(&opens_left, -1, __ATOMIC_SEQ_CST);
    wait_until(f.wal, last);
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}

/* EVERYSEC: a write is answered when it is written, synced within a second; or at once, if somebody
 * waits for it. */
Test(wal, everysec_syncs_by_itself_and_when_asked)
{
    struct fixture f;
    begin(&f, SW_WAL_EVERYSEC);
    hand_in(f.wal, 1);
    wait_until(f.wal, 1);
    sw_wal_want_durable(f.wal, 1);
    for (int i = 0; sw_wal_durable(f.wal) < 1; i++) {
        cr_assert_lt(i, 4000);
        usleep(100);
    }
    hand_in(f.wal, 2);
    for (int i = 0; sw_wal_durable(f.wal) < 2; i++) {
        cr_assert_lt(i, 30000);
        usleep(100);
    }
    cr_assert_eq(stop(&f), 0);
    finish(&f);
}
