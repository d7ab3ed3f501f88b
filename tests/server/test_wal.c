/* SPDX-License-Identifier: MIT
 *
 * test_wal.c - the threads of the write-ahead log: what was handed in, in whatever order, is read
 * again; what a failing disk does to it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/server/wal_fixture.h"
#include "tests/support/clock.h"
#include "tests/support/random.h"
#include "tests/support/threads.h"

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
        struct producer producers[4];
        begin_log(&f, levels[l]);
        for (uint64_t i = 0; i < 4; i++) {
            producers[i] = (struct producer){f.wal, i + 1, 8000, 4};
        }
        threads_run(4, produce, producers, sizeof(producers[0]));
        wait_until(f.wal, 8000);
        struct sw_wal_stats stats;
        sw_wal_stats(f.wal, &stats);
        cr_assert_gt(stats.segments, 10,
                     "8000 records of 300 bytes on average are in %llu segments",
                     (unsigned long long)stats.segments);
        cr_assert_eq(stats.written, 8000);
        cr_assert_eq(stats.records, 8000);
        cr_assert_eq(stop(&f), 0);
        start(&f, levels[l]);
        cr_assert_eq(f.end, 8000);
        cr_assert_eq(stop(&f), 0);
        finish(&f);
    }
}

/* A life after a life, each with some writes; now and then a snapshot stands for the older ones. */
LOG_TEST(wal, lives_follow_each_other, SW_WAL_ALWAYS, finish)
{
    struct random random = random_of(1);
    uint64_t next = 1;
    for (int life = 0; life < 12; life++) {
        uint64_t writes = random_below(&random, 400);
        for (uint64_t i = 0; i < writes; i++) {
            hand_in(f->wal, next++);
        }
        wait_until(f->wal, next - 1);
        cr_assert_eq(stop(f), 0);
        start(f, life % 2 == 0 ? SW_WAL_NO : SW_WAL_ALWAYS);
        cr_assert_eq(f->end, next - 1);
    }
    cr_assert_eq(stop(f), 0);
}

static size_t segment_files(const struct fixture *f)
{
    uint64_t *numbers;
    size_t count;
    cr_assert_eq(sw_directory_numbers(&f->directory, SW_WAL_NAME, &numbers, &count), 0);
    free(numbers);
    return count;
}

LOG_TEST(wal, segments_go_that_a_snapshot_stands_for, SW_WAL_ALWAYS, finish)
{
    struct sw_wal_stats stats;
    for (uint64_t i = 1; i <= 2000; i++) {
        hand_in(f->wal, i);
    }
    wait_until(f->wal, 2000);
    sw_wal_forget(f->wal, 2000, UINT64_MAX);
    for (int i = 0; i < 200000; i++) {
        sw_wal_stats(f->wal, &stats);
        if (stats.segments == 1) {
            break;
        }
        usleep(100);
    }
    cr_assert_eq(stats.segments, 1);
    WAIT_FOR(segment_files(f) <= 2); /* the one that is written, and perhaps the next */
    cr_assert_eq(stop(f), 0);
}

/* The rule of no_retry: what a failed sync was to make durable is never called durable, and the
 * file is not synced again. */
LOG_TEST(wal, a_failed_sync_breaks_the_log, SW_WAL_ALWAYS, finish)
{
    write_one(f->wal, 1);
    __atomic_store_n(&syncs_left, 0, __ATOMIC_SEQ_CST);
    hand_in(f->wal, 2);
    WAIT_FOR(sw_wal_state(f->wal) == SW_WAL_BROKEN);
    __atomic_store_n(&syncs_left, -1, __ATOMIC_SEQ_CST);
    hand_in(f->wal, 3);
    sw_wal_want_durable(f->wal, 3);
    usleep(20000);
    cr_assert_eq(sw_wal_answerable(f->wal), 1);
    cr_assert_not(sw_wal_has_room(f->wal));
    cr_assert_eq(stop(f), -1);
    cr_assert_eq(syncs_after_failure, 0);
    start(f, SW_WAL_ALWAYS);
    cr_assert(f->end == 1 || f->end == 2); /* this kernel has kept it */
    cr_assert_eq(stop(f), 0);
}

LOG_TEST(wal, a_failed_write_breaks_the_log, SW_WAL_NO, finish)
{
    write_one(f->wal, 1);
    __atomic_store_n(&writes_left, 0, __ATOMIC_SEQ_CST);
    hand_in(f->wal, 2);
    WAIT_FOR(sw_wal_state(f->wal) == SW_WAL_BROKEN);
    __atomic_store_n(&writes_left, -1, __ATOMIC_SEQ_CST);
    cr_assert_leq(sw_wal_answerable(f->wal), 1);
    cr_assert_eq(stop(f), -1);
    start(f, SW_WAL_NO);
    cr_assert_eq(f->end, 1);
    cr_assert_eq(stop(f), 0);
}

/* Without space for another segment writes are refused before the current one is full: those that
 * were let in are written. With space the log goes on, and nothing is lost. */
LOG_TEST(wal, service_returns_when_space_returns, SW_WAL_ALWAYS, finish)
{
    uint64_t last = fill_disk(f, 1, 4);
    cr_assert_not(sw_wal_has_room(f->wal));
    wait_until(f->wal, last);
    cr_assert_eq(sw_wal_state(f->wal), SW_WAL_FULL);
    __atomic_store_n(&opens_left, -1, __ATOMIC_SEQ_CST);
    wait_for_state(f->wal, SW_WAL_OK);
    hand_in(f->wal, ++last);
    cr_assert_eq(stop(f), 0);
    start(f, SW_WAL_ALWAYS);
    cr_assert_eq(f->end, last);
    cr_assert_eq(stop(f), 0);
}

/* Writes several segments, and then more than the disk has room for. */
static uint64_t overfill_disk(struct fixture *f)
{
    for (uint64_t next = 1; next <= 1000; next++) {
        hand_in(f->wal, next);
    }
    wait_until(f->wal, 1000);
    return fill_disk(f, 1001, LATE);
}

/* A snapshot may be what makes room on a full disk. */
LOG_TEST(wal, segments_go_though_another_one_cannot_be_made, SW_WAL_ALWAYS, finish)
{
    struct sw_wal_stats stats;
    uint64_t last = overfill_disk(f);
    sw_wal_stats(f->wal, &stats);
    cr_assert_gt(stats.segments, 2);
    sw_wal_forget(f->wal, last, UINT64_MAX);
    for (int i = 0; stats.segments > 1; i++) {
        cr_assert_lt(i, 20000, "%lu segments", (unsigned long)stats.segments);
        usleep(1000);
        sw_wal_stats(f->wal, &stats);
    }
    __atomic_store_n(&opens_left, -1, __ATOMIC_SEQ_CST);
    wait_until(f->wal, last);
    cr_assert_eq(stop(f), 0);
}

/* Reads a segment. Returns its size, or 0 if there is none; and whether there is a MARK in it. */
static uint64_t look_at_segment(const struct fixture *f, uint64_t number, bool *has_mark)
{
    static uint8_t bytes[1 << 18];
    char path[128];
    snprintf(path, sizeof(path), "%s/log-%016llx", f->path, (unsigned long long)number);
    FILE *file = fopen(path, "rb");
    uint64_t size = file == NULL ? 0 : fread(bytes, 1, sizeof(bytes), file);
    *has_mark = false;
    for (uint64_t at = SW_WAL_HEADER_BYTES; at + SW_WAL_RECORD_BYTES <= size; at += SW_WAL_ALIGN) {
        *has_mark |= memcmp(bytes + at, "SWR1", 4) == 0 && bytes[at + 4] == SW_WAL_MARK;
    }
    if (file != NULL) {
        fclose(file);
    }
    return size;
}

/* A MARK that follows the last write which a segment has room for leaves a page to the SEAL: a
 * rotation needs no space that the segment has not. */
Test(wal, a_mark_leaves_room_for_the_seal)
{
    for (uint64_t writes = 13; writes <= 14; writes++) { /* of 16 pages */
        struct fixture f;
        bool first, second = false;
        begin_log(&f, SW_WAL_ALWAYS);
        for (uint64_t i = 1; i <= writes; i++) {
            write_one(f.wal, i);
        }
        for (int i = 0; !second; i++) {
            cr_assert_lt(i, 20000, "a mark of what is durable");
            usleep(1000);
            (void)look_at_segment(&f, 2, &second);
            (void)look_at_segment(&f, 1, &first);
            second |= first;
        }
        hand_in(f.wal, writes + 1);
        write_one(f.wal, writes + 2);
        cr_assert_eq(look_at_segment(&f, 1, &first), 1 << 16, "%d writes", (int)writes);
        cr_assert_eq(stop(&f), 0);
        finish(&f);
    }
}

static void wait_until_durable(struct sw_wal *wal, uint64_t sequence)
{
    WAIT_FOR(sw_wal_durable(wal) >= sequence);
}

static uint64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* The writer also sleeps when a MARK would be due, which takes a second. */
LOG_TEST(wal, what_waits_for_a_segment_sleeps, SW_WAL_ALWAYS, finish)
{
    uint64_t last = overfill_disk(f);
    usleep(1200000);
    uint64_t before = cpu_ms();
    usleep(300000);
    cr_assert_lt(cpu_ms() - before, 100);
    __atomic_store_n(&opens_left, -1, __ATOMIC_SEQ_CST);
    wait_until(f->wal, last);
    cr_assert_eq(stop(f), 0);
}

/* EVERYSEC: a write is answered when it is written, synced within a second; or at once, if somebody
 * waits for it. */
LOG_TEST(wal, everysec_syncs_by_itself_and_when_asked, SW_WAL_EVERYSEC, finish)
{
    uint64_t next = 1;
    bool at_once = false;
    for (; !at_once; next++) { /* a disk may take long once; its own sync comes a second later */
        cr_assert_lt(next, 30, "a sync on request is never sooner");
        write_one(f->wal, next);
        uint64_t began_ms = ms_now();
        sw_wal_want_durable(f->wal, next);
        wait_until_durable(f->wal, next);
        at_once = ms_now() - began_ms < 400;
    }
    hand_in(f->wal, next);
    wait_until_durable(f->wal, next);
    cr_assert_eq(stop(f), 0);
}
