/* SPDX-License-Identifier: MIT
 *
 * faults.c - a library that is loaded before a daemon (LD_PRELOAD), so that its writes and syncs of
 * files fail or take long. tests/integration/faults.py says when, through a file that both map:
 * SHERWOOD_FAULTS names it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Atomic; in the order of the names in faults.py. */
struct faults {
    uint32_t write_error, writes_left;   /* errno, for so many writes to come */
    uint32_t sync_error, syncs_left;     /* .. fdatasync of files */
    uint32_t folder_error, folders_left; /* .. fsync of directories */
    uint32_t write_us, sync_us;          /* each takes so much longer */
    uint32_t writes, syncs, failed; /* so many there were, and of both together so many failed */
    uint32_t repeated;              /* writes and syncs of a file after a sync of it failed */
};

enum { FILES_MAX = 4096 };

static struct faults *faults;
static uint8_t lost[FILES_MAX]; /* atomic: open files of which a sync has failed */

static __attribute__((constructor)) void begin(void)
{
    const char *path = getenv("SHERWOOD_FAULTS");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        abort(); /* or a test would pass that has injected nothing */
    }
    faults = memory;
    close(fd);
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        abort();
    }
    return function;
}

static void count(uint32_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Takes one of those that are left. */
static int take(uint32_t *left, const uint32_t *error)
{
    uint32_t there = __atomic_load_n(left, __ATOMIC_ACQUIRE);
    while (there > 0 && !__atomic_compare_exchange_n(left, &there, there - 1, 0, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_ACQUIRE)) {
    }
    if (there == 0) {
        return 0;
    }
    count(&faults->failed);
    return (int)__atomic_load_n(error, __ATOMIC_ACQUIRE);
}

static void wait_us(const uint32_t *time)
{
    uint32_t us = __atomic_load_n(time, __ATOMIC_RELAXED);
    if (us > 0) {
        usleep(us);
    }
}

static bool is_file(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* Counts a write or a sync of a file of which nobody knows what storage has. */
static void look_for_lost(int fd)
{
    if (fd < FILES_MAX && __atomic_load_n(&lost[fd], __ATOMIC_ACQUIRE) != 0) {
        count(&faults->repeated);
    }
}

static int before_write(int fd)
{
    if (!is_file(fd)) {
        return 0;
    }
    count(&faults->writes);
    look_for_lost(fd);
    wait_us(&faults->write_us);
    return take(&faults->writes_left, &faults->write_error);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = next("pwrite");
    int error = before_write(fd);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, data, bytes, at);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off_t) = next("pwritev");
    int error = before_write(fd);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return real(fd, pieces, count, at);
}

int fdatasync(int fd)
{
    int (*real)(int) = next("fdatasync");
    count(&faults->syncs);
    look_for_lost(fd);
    wait_us(&faults->sync_us);
    int error = take(&faults->syncs_left, &faults->sync_error);
    if (error == 0) {
        return real(fd);
    }
    if (fd < FILES_MAX) {
        __atomic_store_n(&lost[fd], 1, __ATOMIC_RELEASE);
    }
    errno = error;
    return -1;
}

int fsync(int fd)
{
    int (*real)(int) = next("fsync");
    int error = take(&faults->folders_left, &faults->folder_error);
    if (error == 0) {
        return real(fd);
    }
    errno = error;
    return -1;
}

int close(int fd)
{
    int (*real)(int) = next("close");
    if (fd >= 0 && fd < FILES_MAX) {
        __atomic_store_n(&lost[fd], 0, __ATOMIC_RELEASE);
    }
    return real(fd);
}
