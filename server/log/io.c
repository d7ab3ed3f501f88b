/* SPDX-License-Identifier: MIT
 *
 * io.c - the system calls on files of the data directory.
 */
#include "server/log/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/data_lock.h"
#include "proto/regular_file.h"

static int system_open(int dir, const char *name, int flags, mode_t mode)
{
    return (flags & O_DIRECTORY) != 0 ? openat(dir, name, flags | O_CLOEXEC, mode)
                                      : sw_open_regular(dir, name, flags, mode);
}

/* A function of its own, so that tests/thread_suppressions.txt can name it. */
static int system_close(int fd)
{
    return close(fd);
}

static int system_write_out(int fd, off_t at, off_t bytes)
{
    return sync_file_range(fd, at, bytes, SYNC_FILE_RANGE_WRITE);
}

static int system_allocate(int fd, off_t bytes)
{
    int status = -1;
    do {
        status = fallocate(fd, 0, 0, bytes);
    } while (status != 0 && errno == EINTR);
    return status;
}

static int system_direct(int fd, bool is_direct)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags == -1) {
        return -1;
    }
    return fcntl(fd, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

static int system_size(int fd, uint64_t *bytes)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return -1;
    }
    *bytes = (uint64_t)facts.st_size;
    return 0;
}

static int system_data(int fd, uint64_t at, uint64_t *from, uint64_t *to)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
        return 1;
    }
    off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    if (hole > data) {
        *from = (uint64_t)data;
        *to = (uint64_t)hole;
    }
    return 0;
}

static int system_links(int fd, uint64_t *count)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return -1;
    }
    *count = (uint64_t)facts.st_nlink;
    return 0;
}

static int system_is_at(int dir, const char *path)
{
    struct stat mine, found;
    if (fstat(dir, &mine) != 0 || stat(path, &found) != 0) {
        return -1;
    }
    return mine.st_dev == found.st_dev && mine.st_ino == found.st_ino;
}

static int system_rename(int dir, const char *from, const char *to)
{
    return renameat(dir, from, dir, to);
}

static int system_unlink(int dir, const char *name)
{
    return unlinkat(dir, name, 0);
}

static int system_link(int dir, const char *from, const char *to)
{
    return linkat(dir, from, dir, to, 0);
}

static int system_make(int dir, const char *name)
{
    return mkdirat(dir, name, 0700);
}

/* Opens the directory again, because reading its entries moves the position of the descriptor. */
static DIR *open_list(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list == NULL && fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return list;
}

static int system_list(int dir, bool (*each)(void *context, const char *name), void *context)
{
    DIR *list = open_list(dir);
    if (list == NULL) {
        return -1;
    }
    const struct dirent *entry;
    bool more = true;
    do {
        errno = 0;
        entry = readdir(list);
        if (entry != NULL && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            more = each(context, entry->d_name);
        }
    } while (entry != NULL && more);
    int error = entry == NULL ? errno : 0;
    closedir(list);
    errno = error;
    return error == 0 ? 0 : -1;
}

const struct sw_io *sw_io_system(void)
{
    static const struct sw_io io = {
        .open = system_open,
        .close = system_close,
        .pread = pread,
        .pwrite = pwrite,
        .pwritev = pwritev,
        .fdatasync = fdatasync,
        .fsync = fsync,
        .write_out = system_write_out,
        .truncate = ftruncate,
        .direct = system_direct,
        .allocate = system_allocate,
        .size = system_size,
        .data = system_data,
        .links = system_links,
        .is_at = system_is_at,
        .rename = system_rename,
        .unlink = system_unlink,
        .link = system_link,
        .make = system_make,
        .boot_id = sw_boot_id,
        .lock_directory = sw_data_lock_directory,
        .lock = sw_data_lock_file,
        .list = system_list,
    };
    return &io;
}

int sw_io_read(const struct sw_io *io, int fd, void *data, size_t bytes, uint64_t at)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = io->pread(fd, (uint8_t *)data + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            errno = got == 0 ? ENODATA : errno;
            return -1;
        }
        done += (size_t)got;
    }
    return 0;
}

int sw_io_write(const struct sw_io *io, int fd, const void *data, size_t bytes, uint64_t at)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t put =
            io->pwrite(fd, (const uint8_t *)data + done, bytes - done, (off_t)(at + done));
        if (put < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (put <= 0) {
            errno = put == 0 ? EIO : errno;
            return -1;
        }
        done += (size_t)put;
    }
    return 0;
}
