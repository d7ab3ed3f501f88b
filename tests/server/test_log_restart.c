/* SPDX-License-Identifier: MIT
 *
 * test_log_restart.c - a log that broke, or could not begin, continues without a restart of the
 * server, after a snapshot. This test sets the last write of the snapshot: f.base.
 */
#include <pthread.h>

#include "tests/server/wal_fixture.h"

static void set(int *left, int to)
{
    __atomic_store_n(left, to, __ATOMIC_SEQ_CST);
}

/* Breaks the log by a sync that fails, once `writes` are durable. Returns how many there are then.
 */
static uint64_t break_by_sync(struct fixture *f, uint64_t writes)
{
    for (uint64_t i = 1; i <= writes; i++) {
        hand_in(f->wal, f->end + i);
    }
    sw_wal_want_durable(f->wal, f->end + writes);
    WAIT_FOR(sw_wal_durable(f->wal) >= f->end + writes);
    set(&syncs_left, 0);
    hand_in(f->wal, f->end + writes + 1);
    sw_wal_want_durable(f->wal, f->end + writes + 1);
    wait_for_state(f->wal, SW_WAL_BROKEN);
    set(&syncs_left, -1);
    return f->end + writes + 1;
}

/* A snapshot is durable, and stands for the writes up to here. */
static int mend(struct fixture *f, uint64_t through)
{
    f->base = through;
    return sw_wal_restart(f->wal, through);
}

/* Ends this life and begins the next one, which has all writes up to `last`. */
static void restart(struct fixture *f, uint64_t last)
{
    cr_assert_eq(stop(f), 0);
    start(f, SW_WAL_ALWAYS);
    cr_assert_eq(f->end, last);
}

static void end_all(struct fixture *f)
{
    cr_assert_eq(stop(f), 0);
    finish(f);
}

Test(log_restart, goes_on_behind_a_snapshot)
{
    static const enum sw_wal_level levels[] = {SW_WAL_ALWAYS, SW_WAL_EVERYSEC, SW_WAL_NO};
    for (int l = 0; l < 3; l++) {
        struct sw_wal_stats stats;
        struct fixture f;
        begin_log(&f, levels[l]);
        uint64_t next = break_by_sync(&f, 20) + 1;
        for (int i = 0; i < 30; i++) {
            hand_in(f.wal, next++); /* they were on their way: applied, and forgotten */
        }
        cr_assert_eq(sw_wal_answerable(f.wal), 20);
        cr_assert_not(sw_wal_has_room(f.wal));
        cr_assert_eq(mend(&f, next - 1), 0);
        cr_assert_eq(sw_wal_answerable(f.wal), next - 1);
        cr_assert_eq(sw_wal_durable(f.wal), next - 1);
        wait_for_state(f.wal, SW_WAL_OK);
        for (int i = 0; i < 3000; i++) {
            hand_in(f.wal, next++);
        }
        wait_until(f.wal, next - 1);
        sw_wal_stats(f.wal, &stats);
        cr_assert_eq(stats.breaks, 1);
        cr_assert_eq(stats.restarts, 1);
        cr_assert_eq(stats.backlog_bytes, 0);
        cr_assert_eq(syncs_after_failure, 0);
        restart(&f, next - 1);
        cr_assert_eq(mend(&f, next - 1), -1, "it is not broken");
        end_all(&f);
    }
}

/* repair_new: a snapshot that lacks a write which was handed in does not mend. */
LOG_TEST(log_restart, a_snapshot_that_lacks_a_write, SW_WAL_ALWAYS, end_all)
{
    uint64_t last = break_by_sync(f, 5);
    hand_in(f->wal, last + 1);
    cr_assert_eq(sw_wal_restart(f->wal, last), -1);
    cr_assert_eq(sw_wal_state(f->wal), SW_WAL_BROKEN);
    cr_assert_eq(sw_wal_durable(f->wal), 5);
    cr_assert_eq(mend(f, last + 1), 0);
    restart(f, last + 1);
}

static void *hand_in_late(void *argument)
{
    struct fixture *f = argument;
    usleep(30000);
    hand_in(f->wal, 12);
    usleep(30000);
    hand_in(f->wal, 11);
    return NULL;
}

/* The table had writes 11 and 12 when the snapshot was taken, and loops had not seen it: were the
 * log to go on before, they would be written behind others. */
LOG_TEST(log_restart, waits_for_writes_on_their_way, SW_WAL_ALWAYS, end_all)
{
    pthread_t thread;
    cr_assert_eq(break_by_sync(f, 9), 10);
    pthread_create(&thread, NULL, hand_in_late, f);
    cr_assert_eq(mend(f, 12), 0);
    write_one(f->wal, 13);
    pthread_join(thread, NULL);
    restart(f, 13);
}

LOG_TEST(log_restart, answers_wait_so_long_and_not_longer, SW_WAL_ALWAYS, finish)
{
    cr_assert_eq(stop(f), 0);
    f->patience_ms = 200;
    start(f, SW_WAL_ALWAYS);
    uint64_t last = break_by_sync(f, 1);
    uint64_t wakes = __atomic_load_n(&f->wakes, __ATOMIC_RELAXED);
    WAIT_FOR(sw_wal_is_hopeless(f->wal));
    WAIT_FOR(__atomic_load_n(&f->wakes, __ATOMIC_RELAXED) != wakes);
    cr_assert_eq(mend(f, last), 0);
    cr_assert_not(sw_wal_is_hopeless(f->wal));
    sw_wal_abandon(f->wal);
    wait_for_state(f->wal, SW_WAL_BROKEN);
    cr_assert(sw_wal_is_hopeless(f->wal));
    cr_assert_eq(sw_wal_restart(f->wal, last), -1, "it was given up");
    cr_assert_eq(stop(f), -1);
}

/* Writes that the log admitted but that found no room on the disk: their waiters are woken when
 * patience is over, and a snapshot covers them. */
LOG_TEST(log_restart, a_full_disk_has_the_same_patience, SW_WAL_EVERYSEC, end_all)
{
    cr_assert_eq(stop(f), 0);
    f->patience_ms = 300;
    start(f, SW_WAL_EVERYSEC);
    uint64_t last = fill_disk(f, 1, LATE);
    uint64_t wakes = __atomic_load_n(&f->wakes, __ATOMIC_RELAXED);
    wait_for_state(f->wal, SW_WAL_BROKEN);
    WAIT_FOR(sw_wal_is_hopeless(f->wal));
    WAIT_FOR(__atomic_load_n(&f->wakes, __ATOMIC_RELAXED) != wakes);
    cr_assert_lt(sw_wal_answerable(f->wal), last);
    set(&opens_left, -1);
    cr_assert_eq(mend(f, last), 0);
    cr_assert_not(sw_wal_is_hopeless(f->wal));
    wait_for_state(f->wal, SW_WAL_OK);
    write_one(f->wal, last + 1);
    restart(f, last + 1);
}

/* EVERYSEC: what was answered becomes durable in time though another write waits for a segment, and
 * nothing else wakes the writer. */
LOG_TEST(log_restart, a_write_without_room_keeps_no_sync_waiting, SW_WAL_EVERYSEC, end_all)
{
    uint64_t last = fill_disk(f, 1, 0);
    const uint64_t fits = last + 1;
    __atomic_store_n(&opens_hang, true, __ATOMIC_SEQ_CST);
    WAIT_FOR(__atomic_load_n(&hanging, __ATOMIC_SEQ_CST));
    for (uint64_t i = 0; i < LATE; i++) {
        hand_in(f->wal, ++last);
    }
    while (sw_wal_durable(f->wal) < fits) {
        cr_assert_eq(sw_wal_state(f->wal), SW_WAL_FULL, "it waits for the end of patience");
        usleep(1000);
    }
    set(&opens_left, -1);
    __atomic_store_n(&opens_hang, false, __ATOMIC_SEQ_CST);
    wait_until(f->wal, last);
    restart(f, last);
}

/* There is a snapshot, but no room for a segment: nothing is in doubt, so answers go out. */
LOG_TEST(log_restart, without_space_for_a_segment, SW_WAL_ALWAYS, end_all)
{
    char command[128];
    uint64_t next = fill_disk(f, 1, LATE) + 1;
    cr_assert_lt(sw_wal_answerable(f->wal), next - 1);
    snprintf(command, sizeof(command), "rm %s/log-*", f->path);
    cr_assert_eq(system(command), 0);
    wait_for_state(f->wal, SW_WAL_BROKEN);
    cr_assert_eq(mend(f, next - 1), 0);
    cr_assert_eq(sw_wal_answerable(f->wal), next - 1);
    cr_assert_eq(sw_wal_state(f->wal), SW_WAL_FULL);
    set(&opens_left, -1);
    wait_for_state(f->wal, SW_WAL_OK);
    write_one(f->wal, next);
    restart(f, next);
}

static int follow(struct fixture *f)
{
    char reason[SW_WAL_REASON_BYTES];
    return sw_wal_follow(f->wal, &f->directory, reason, sizeof(reason));
}

/* The segments, or all files, are removed: the log notices that also without a write. */
Test(log_restart, files_that_are_removed)
{
    for (int turn = 0; turn < 2; turn++) {
        char command[128];
        struct fixture f;
        begin_log(&f, SW_WAL_ALWAYS);
        for (uint64_t i = 1; i <= 10; i++) {
            hand_in(f.wal, i);
        }
        wait_until(f.wal, 10);
        /* rm fails if the segmenter makes a file meanwhile */
        snprintf(command, sizeof(command),
                 turn == 0 ? "rm %s/log-*" : "until rm -r %s 2>/dev/null; do :; done", f.path);
        cr_assert_eq(system(command), 0);
        wait_for_state(f.wal, SW_WAL_BROKEN);
        cr_assert_eq(sw_wal_durable(f.wal), 10);
        if (turn == 1) {
            cr_assert_eq(follow(&f), -1, "there is none");
            snprintf(command, sizeof(command), "mkdir %s", f.path);
            cr_assert_eq(system(command), 0);
            cr_assert_eq(follow(&f), 0);
        }
        cr_assert_eq(mend(&f, 10), 0);
        write_one(f.wal, 11);
        restart(&f, 11);
        end_all(&f);
    }
}

/* Somebody moves the directory, with all files: a start would not find them. */
LOG_TEST(log_restart, a_directory_that_is_moved, SW_WAL_ALWAYS, end_all)
{
    char command[256];
    write_one(f->wal, 1);
    snprintf(command, sizeof(command), "mv %s %s.old && mkdir %s", f->path, f->path, f->path);
    cr_assert_eq(system(command), 0);
    wait_for_state(f->wal, SW_WAL_BROKEN);
    hand_in(f->wal, 2);
    cr_assert_eq(follow(f), 0);
    cr_assert_eq(mend(f, 2), 0);
    write_one(f->wal, 3);
    restart(f, 3);
    snprintf(command, sizeof(command), "rm -r %s.old", f->path);
    cr_assert_eq(system(command), 0);
}

/* The last snapshot goes to a directory that was made anew: what the log has closed stays closed.
 */
LOG_TEST(log_restart, follows_behind_its_end, SW_WAL_ALWAYS, finish)
{
    char command[192];
    write_one(f->wal, 1);
    snprintf(command, sizeof(command), "%s/log-%016x", f->path, 2);
    while (access(command, F_OK) != 0) { /* the one that is prepared */
        usleep(1000);
    }
    snprintf(command, sizeof(command), "rm -r %s && mkdir %s", f->path, f->path);
    cr_assert_eq(system(command), 0);
    cr_assert_eq(sw_wal_close(f->wal), -1, "its files were removed");
    cr_assert_eq(follow(f), 0);
    sw_wal_destroy(f->wal);
    sw_directory_close(&f->directory);
}

/* --- a start that cannot write ---------------------------------------------------------------- */

/* A life whose end is that of a kill: nothing says what was durable. */
static void live_and_die(struct fixture *f, uint64_t writes)
{
    begin_log(f, SW_WAL_NO);
    for (uint64_t i = 1; i <= writes; i++) {
        hand_in(f->wal, i);
    }
    wait_until(f->wal, writes);
    sw_wal_abandon(f->wal);
    wait_for_state(f->wal, SW_WAL_BROKEN);
    cr_assert_eq(stop(f), -1);
}

/* All writes of an ended log are known to be durable: it goes on when there is space. */
LOG_TEST(log_restart, a_start_on_a_full_disk_behind_a_clean_end, SW_WAL_ALWAYS, end_all)
{
    for (uint64_t i = 1; i <= 10; i++) {
        hand_in(f->wal, i);
    }
    wait_until(f->wal, 10);
    cr_assert_eq(stop(f), 0);
    set(&opens_left, 0);
    start(f, SW_WAL_ALWAYS);
    cr_assert_eq(f->end, 10);
    cr_assert_eq(sw_wal_state(f->wal), SW_WAL_FULL);
    cr_assert_eq(sw_wal_durable(f->wal), 10);
    cr_assert_not(sw_wal_has_room(f->wal));
    restart(f, 10); /* nothing was changed */
    set(&opens_left, -1);
    wait_for_state(f->wal, SW_WAL_OK);
    write_one(f->wal, 11);
    restart(f, 11);
}

/* Behind a kill it needs a snapshot. */
Test(log_restart, a_start_on_a_full_disk_behind_a_kill)
{
    struct fixture f;
    live_and_die(&f, 10);
    set(&opens_left, 0);
    start(&f, SW_WAL_ALWAYS);
    cr_assert_eq(f.end, 10);
    cr_assert_eq(sw_wal_state(f.wal), SW_WAL_BROKEN);
    cr_assert_lt(sw_wal_durable(f.wal), 10);
    cr_assert_eq(stop(&f), -1);
    start(&f, SW_WAL_ALWAYS);
    cr_assert_eq(f.end, 10);
    set(&opens_left, -1);
    cr_assert_eq(mend(&f, 10), 0);
    wait_for_state(f.wal, SW_WAL_OK);
    cr_assert_eq(sw_wal_durable(f.wal), 10);
    write_one(f.wal, 11);
    restart(&f, 11);
    end_all(&f);
}

/* Whichever call of a start fails: nothing is lost, and a snapshot mends it. */
Test(log_restart, a_start_whose_calls_fail)
{
    int *const calls[] = {&opens_left, &syncs_left, &names_left};
    for (int c = 0; c < 3; c++) {
        for (int before = 0; before < 2; before++) {
            struct fixture f;
            live_and_die(&f, 10);
            set(calls[c], before + (c == 2)); /* opening the directory syncs it */
            start(&f, SW_WAL_ALWAYS);
            set(calls[c], -1);
            cr_assert_eq(f.end, 10);
            if (sw_wal_state(f.wal) == SW_WAL_BROKEN) {
                cr_assert_eq(mend(&f, 10), 0);
            }
            wait_for_state(f.wal, SW_WAL_OK);
            write_one(f.wal, 11);
            restart(&f, 11);
            end_all(&f);
        }
    }
}

/* --- an alias that cannot be removed ---------------------------------------------------------- */

#define ALIAS 0x99U

static bool unlinks_fail;  /* of the alias; atomic */
static int unlinks_failed; /* atomic */

static int failing_unlink(int dir, const char *name)
{
    uint64_t number;
    if (__atomic_load_n(&unlinks_fail, __ATOMIC_SEQ_CST) &&
        sw_directory_is_named(name, SW_WAL_NAME, &number) && number == ALIAS) {
        __atomic_fetch_add(&unlinks_failed, 1, __ATOMIC_SEQ_CST);
        errno = EPERM;
        return -1;
    }
    return sw_io_system()->unlink(dir, name);
}

/* Gives the first segment a second name, as an interrupted rename leaves it. No log is open. */
static void put_alias(struct fixture *f)
{
    char reason[SW_WAL_REASON_BYTES], first[SW_DIRECTORY_NAME_MAX], alias[SW_DIRECTORY_NAME_MAX];
    uint64_t *numbers = NULL;
    size_t count = 0;
    cr_assert_eq(sw_directory_open(&f->directory, &f->io, f->path, reason, sizeof(reason)), 0);
    cr_assert_eq(sw_directory_numbers(&f->directory, SW_WAL_NAME, &numbers, &count), 0);
    cr_assert_gt(count, 0);
    sw_directory_name(SW_WAL_NAME, numbers[0], first);
    sw_directory_name(SW_WAL_NAME, ALIAS, alias);
    cr_assert_eq(f->io.link(f->directory.fd, first, alias), 0);
    free(numbers);
    sw_directory_close(&f->directory);
}

static size_t count_segments_after_alias(const struct fixture *f)
{
    uint64_t *numbers = NULL;
    size_t count = 0, newer = 0;
    cr_assert_eq(sw_directory_numbers(&f->directory, SW_WAL_NAME, &numbers, &count), 0);
    for (size_t i = 0; i < count; i++) {
        newer += numbers[i] > ALIAS;
    }
    free(numbers);
    return newer;
}

/* The log tries again to remove the alias, and makes one segment meanwhile, by the start or by the
 * segment thread. Then it goes on. */
Test(log_restart, an_alias_that_cannot_be_removed)
{
    for (int by_thread = 0; by_thread < 2; by_thread++) {
        struct fixture f;
        begin_log(&f, SW_WAL_ALWAYS);
        f.io.unlink = failing_unlink;
        write_one(f.wal, 1);
        cr_assert_eq(stop(&f), 0);
        put_alias(&f);
        __atomic_store_n(&unlinks_failed, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&unlinks_fail, true, __ATOMIC_SEQ_CST);
        set(&opens_left, by_thread ? 0 : -1);
        start(&f, SW_WAL_ALWAYS);
        cr_assert_eq(f.end, 1);
        set(&opens_left, -1);
        WAIT_FOR(__atomic_load_n(&unlinks_failed, __ATOMIC_SEQ_CST) >= 2);
        cr_assert_eq(count_segments_after_alias(&f), 1);
        __atomic_store_n(&unlinks_fail, false, __ATOMIC_SEQ_CST);
        if (sw_wal_state(f.wal) == SW_WAL_BROKEN) {
            cr_assert_eq(mend(&f, 1), 0);
        }
        write_one(f.wal, 2);
        restart(&f, 2);
        end_all(&f);
    }
}
