/* SPDX-License-Identifier: MIT
 *
 * test_directory.c - the data directory: its lock, its names, and calls on its files that fail.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/data_lock.h"
#include "server/log/directory.h"

#define REASON_BYTES 700

struct place {
    char path[64];
    struct sw_directory directory;
    char reason[REASON_BYTES];
};

static int open_place(struct place *place, const struct sw_io *io)
{
    return sw_directory_open(&place->directory, io, place->path, place->reason,
                             sizeof(place->reason));
}

static struct place place;

static void make_place(void)
{
    strcpy(place.path, "/tmp/sherwood-directory-XXXXXX");
    cr_assert_not_null(mkdtemp(place.path));
    cr_assert_eq(open_place(&place, sw_io_system()), 0, "%s", place.reason);
}

static void touch(const char *name)
{
    int fd = openat(place.directory.fd, name, O_CREAT | O_WRONLY, 0600);
    cr_assert(fd >= 0);
    close(fd);
}

static bool remove_one(void *context, const char *name)
{
    (void)context;
    return unlinkat(place.directory.fd, name, 0) == 0;
}

static void remove_place(void)
{
    struct sw_directory again;
    sw_directory_close(&place.directory);
    cr_assert_eq(
        sw_directory_open(&again, sw_io_system(), place.path, place.reason, sizeof(place.reason)),
        0);
    place.directory = again;
    cr_assert_eq(again.io->list(again.fd, remove_one, NULL), 0);
    sw_directory_close(&place.directory);
    cr_assert_eq(rmdir(place.path), 0);
}

TestSuite(directory, .init = make_place, .fini = remove_place);

Test(directory, a_second_one_is_refused_and_told_who_has_it)
{
    struct place second;
    char expected[REASON_BYTES];
    strcpy(second.path, place.path);
    cr_assert_eq(open_place(&second, sw_io_system()), -1);
    snprintf(expected, sizeof(expected),
             "another sherwoodd (pid %ld) uses the data directory %s: stop it, or name another "
             "--data-dir",
             (long)getpid(), place.path);
    cr_assert_str_eq(second.reason, expected);
    cr_assert_eq(second.directory.fd, -1);
    sw_directory_close(&place.directory);
    cr_assert_eq(open_place(&second, sw_io_system()), 0, "closing gives the lock back");
    cr_assert_neq(memcmp(second.directory.log_id, place.directory.log_id, SW_LOG_ID_BYTES), 0);
    place = second;
}

Test(directory, a_second_one_is_refused_though_the_file_lock_was_removed)
{
    struct place second;
    cr_assert_eq(unlinkat(place.directory.fd, SW_DATA_LOCK_NAME, 0), 0);
    strcpy(second.path, place.path);
    cr_assert_eq(open_place(&second, sw_io_system()), -1);
    cr_assert_not_null(strstr(second.reason, "another sherwoodd (pid unknown) uses"), "%s",
                       second.reason);
    cr_assert_eq(faccessat(place.directory.fd, SW_DATA_LOCK_NAME, F_OK, 0), -1, "no trace is left");
}

Test(directory, a_directory_that_only_an_earlier_version_has_locked_is_refused)
{
    struct place second;
    cr_assert_eq(flock(place.directory.fd, LOCK_UN), 0);
    strcpy(second.path, place.path);
    cr_assert_eq(open_place(&second, sw_io_system()), -1);
    cr_assert_not_null(strstr(second.reason, "another sherwoodd (pid "), "%s", second.reason);
}

Test(directory, what_is_not_a_regular_file_is_refused_and_not_waited_for, .timeout = 60)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct sockaddr_un at = address;
    const int dir = place.directory.fd;
    snprintf(at.sun_path, sizeof(at.sun_path), "%.80s/socket", place.path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(mkfifoat(dir, "fifo", 0600), 0);
    cr_assert_eq(mkdirat(dir, "folder", 0700), 0);
    cr_assert_eq(symlinkat("/dev/zero", dir, "device"), 0);
    const char *const names[] = {"fifo", "device", "socket", "folder"};
    const int ways[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_CREAT | O_TRUNC};
    for (size_t i = 0; i < 4; i++) {
        for (size_t way = 0; way < 4; way++) {
            errno = 0;
            cr_assert_eq(place.directory.io->open(dir, names[i], ways[way], 0600), -1);
            cr_assert_eq(errno, i == 3 ? EISDIR : EMEDIUMTYPE, "%s: %s", names[i], strerror(errno));
        }
    }
    touch("file");
    int fd = place.directory.io->open(dir, "file", O_RDWR, 0);
    cr_assert_geq(fd, 0);
    cr_assert_neq(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    close(fd);
    close(listener);
    unlinkat(dir, "folder", AT_REMOVEDIR);
}

Test(directory, one_that_is_absent_is_named)
{
    struct place absent = {.path = "/tmp/sherwood-no-such-directory"};
    cr_assert_eq(open_place(&absent, sw_io_system()), -1);
    cr_assert_str_eq(absent.reason, "the data directory /tmp/sherwood-no-such-directory cannot be "
                                    "opened: No such file or directory: create it, writable for "
                                    "the user that serves");
}

Test(directory, names_are_those_that_it_writes)
{
    static const char *const others[] = {"snapshot-",
                                         "snapshot-1",
                                         "snapshot-00000000000000AB",
                                         "snapshot-00000000000000ab0",
                                         "new-snapshot",
                                         "snapshot-000000000000000g",
                                         "log-00000000000000ab",
                                         "snapshot",
                                         "snapshot--0000000000000ab"};
    char name[SW_DIRECTORY_NAME_MAX];
    uint64_t number = 0;
    sw_directory_name("snapshot", 0xab, name);
    cr_assert_str_eq(name, "snapshot-00000000000000ab");
    cr_assert(sw_directory_is_named(name, "snapshot", &number));
    cr_assert_eq(number, 0xab);
    sw_directory_name("snapshot", UINT64_MAX, name);
    cr_assert(sw_directory_is_named(name, "snapshot", &number));
    cr_assert_eq(number, UINT64_MAX);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_assert_not(sw_directory_is_named(others[i], "snapshot", &number), "%s", others[i]);
    }
}

struct each {
    uint64_t *next; /* the number that comes */
    uint64_t fails_at;
};

static int see_one(const void *context, const char *name)
{
    const struct each *each = context;
    char expected[SW_DIRECTORY_NAME_MAX];
    if (*each->next == each->fails_at) {
        errno = EPERM;
        return -1;
    }
    sw_directory_name("snapshot", (*each->next)++, expected);
    cr_assert_str_eq(name, expected);
    return 0;
}

Test(directory, files_of_a_kind_are_listed_in_order)
{
    char name[SW_DIRECTORY_NAME_MAX];
    uint64_t *numbers = NULL;
    size_t count = 0;
    cr_assert_eq(sw_directory_numbers(&place.directory, "snapshot", &numbers, &count), 0);
    cr_assert_null(numbers);
    cr_assert_eq(count, 0);
    for (uint64_t i = 0; i < 40; i++) {
        sw_directory_name("snapshot", i * 7 % 40, name);
        touch(name);
    }
    touch("new-snapshot");
    touch("log-0000000000000001");
    cr_assert_eq(sw_directory_numbers(&place.directory, "snapshot", &numbers, &count), 0);
    cr_assert_eq(count, 40);
    for (uint64_t i = 0; i < 40; i++) {
        cr_assert_eq(numbers[i], i);
    }
    free(numbers);
    uint64_t next = 0;
    const struct each seen = {&next, 5};
    cr_assert_eq(sw_directory_each(&place.directory, "snapshot", see_one, &seen), -1);
    cr_assert(next == 5 && errno == EPERM, "it ends at the first failure");
    const struct each all = {&next, 40};
    next = 0;
    cr_assert_eq(sw_directory_each(&place.directory, "snapshot", see_one, &all), 0);
    cr_assert_eq(next, 40);
}

static int fail_fsync(int fd)
{
    (void)fd;
    errno = EIO;
    return -1;
}

static int fail_lock(int fd)
{
    (void)fd;
    errno = ENOLCK;
    return -1;
}

static ssize_t fail_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    (void)fd, (void)data, (void)bytes, (void)at;
    errno = ENOSPC;
    return -1;
}

Test(directory, what_fails_at_open_is_told_and_leaves_no_lock)
{
    sw_directory_close(&place.directory);
    for (int which = 0; which < 3; which++) {
        struct sw_io io = *sw_io_system();
        static const char *const said[] = {"cannot be synced: Input/output error",
                                           "cannot be locked: No locks available",
                                           "cannot be locked: No locks available"};
        io.fsync = which == 0 ? fail_fsync : io.fsync;
        io.lock = which == 1 ? fail_lock : io.lock;
        io.lock_directory = which == 2 ? fail_lock : io.lock_directory;
        cr_assert_eq(open_place(&place, &io), -1);
        cr_assert_not_null(strstr(place.reason, said[which]), "%s", place.reason);
        cr_assert_not_null(strstr(place.reason, place.path), "%s", place.reason);
    }
    cr_assert_eq(open_place(&place, sw_io_system()), 0, "%s", place.reason);
}

/* On a full disk the lock holds, though it does not tell whose it is. */
Test(directory, a_lock_that_cannot_be_written_is_one)
{
    static struct sw_io io; /* until remove_place */
    io = *sw_io_system();
    io.pwrite = fail_pwrite;
    cr_assert_eq(unlinkat(place.directory.fd, SW_DATA_LOCK_NAME, 0), 0);
    sw_directory_close(&place.directory);
    cr_assert_eq(open_place(&place, &io), 0, "%s", place.reason);
    struct sw_directory other;
    char reason[512] = "";
    cr_assert_eq(sw_directory_open(&other, &io, place.path, reason, sizeof(reason)), -1);
    cr_assert_not_null(strstr(reason, "another sherwoodd (pid unknown)"), "%s", reason);
}

static int interruptions;

static ssize_t write_in_pieces(int fd, const void *data, size_t bytes, off_t at)
{
    if (interruptions++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return pwrite(fd, data, bytes > 3 ? 3 : bytes, at);
}

static ssize_t read_in_pieces(int fd, void *data, size_t bytes, off_t at)
{
    if (interruptions++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return pread(fd, data, bytes > 5 ? 5 : bytes, at);
}

Test(directory, short_calls_and_interrupted_ones_go_on)
{
    static struct sw_io io; /* until remove_place */
    io = *sw_io_system();
    char got[20];
    io.pwrite = write_in_pieces;
    io.pread = read_in_pieces;
    sw_directory_close(&place.directory);
    cr_assert_eq(open_place(&place, &io), 0, "%s", place.reason);
    int fd = io.open(place.directory.fd, "file", O_RDWR | O_CREAT, 0600);
    cr_assert_eq(sw_io_write(&io, fd, "0123456789abcdefghij", 20, 4), 0);
    cr_assert_eq(sw_io_read(&io, fd, got, 20, 4), 0);
    cr_assert_eq(memcmp(got, "0123456789abcdefghij", 20), 0);
    cr_assert(sw_io_read(&io, fd, got, 20, 5) == -1 && errno == ENODATA, "the file ends before");
    io.close(fd);
}

static int check_place(void)
{
    return sw_directory_check(&place.directory, place.reason, sizeof(place.reason));
}

static int follow_place(void)
{
    return sw_directory_follow(&place.directory, place.reason, sizeof(place.reason));
}

/* A directory that the path does not name any more: an empty one takes its place, and one that has
 * data of others, or is in use, does not. */
Test(directory, moved_and_replaced)
{
    static const char *const data[] = {"snapshot-0000000000000007", "log-0000000000000001",
                                       "history"};
    struct place other;
    char old[96], file[128];
    cr_assert_eq(check_place(), 0);
    const struct sw_directory before = place.directory;
    snprintf(old, sizeof(old), "%s.old", place.path);
    cr_assert_eq(rename(place.path, old), 0);
    cr_assert_eq(check_place(), -1);
    cr_assert_not_null(strstr(place.reason, "was moved or removed"));
    cr_assert_eq(follow_place(), -1, "there is none");
    cr_assert_eq(symlink(old, place.path), 0);
    cr_assert_eq(check_place(), 0, "the same one, by another way");
    cr_assert_eq(unlink(place.path), 0);
    cr_assert_eq(mkdir(place.path, 0700), 0);
    cr_assert_eq(check_place(), -1);
    cr_assert_not_null(strstr(place.reason, "was replaced"));
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        snprintf(file, sizeof(file), "%s/%s", place.path, data[i]);
        cr_assert_eq(mkdir(file, 0700), 0, "of whatever kind");
        cr_assert_eq(follow_place(), -1);
        cr_assert_not_null(strstr(place.reason, data[i]), "%s", place.reason);
        cr_assert_eq(rmdir(file), 0);
    }
    strcpy(other.path, place.path);
    cr_assert_eq(open_place(&other, sw_io_system()), 0);
    cr_assert_eq(follow_place(), -1, "another has it");
    cr_assert_eq(place.directory.fd, before.fd, "nothing is changed");
    sw_directory_close(&other.directory);
    cr_assert_eq(follow_place(), 0);
    cr_assert_arr_eq(place.directory.log_id, before.log_id, SW_LOG_ID_BYTES);
    cr_assert_eq(check_place(), 0);
    snprintf(file, sizeof(file), "rm -r %s", old);
    cr_assert_eq(system(file), 0);
}
