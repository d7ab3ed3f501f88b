/* SPDX-License-Identifier: MIT
 *
 * io.h - the system calls on files of the data directory, as a table of functions, so that tests
 * can let any of them fail.
 *
 * Nothing else in the daemon reads or writes these files. Functions of the table return what the
 * system call returns, with errno; those below that retry (sw_io_read, sw_io_write) return 0, or
 * -1 with errno.
 *
 * Threads: any; the table is constant.
 */
#ifndef SHERWOOD_SERVER_LOG_IO_H
#define SHERWOOD_SERVER_LOG_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "proto/boot_id.h"

struct sw_io {
    /* sw_open_regular(), or openat(2) with O_CLOEXEC if `flags` has O_DIRECTORY. */
    int (*open)(int dir, const char *name, int flags, mode_t mode);
    int (*close)(int fd);
    ssize_t (*pread)(int fd, void *data, size_t bytes, off_t at);
    ssize_t (*pwrite)(int fd, const void *data, size_t bytes, off_t at);
    ssize_t (*pwritev)(int fd, const struct iovec *pieces, int count, off_t at);
    int (*fdatasync)(int fd);
    int (*fsync)(int fd); /* a directory's */
    /* sync_file_range(SYNC_FILE_RANGE_WRITE). It is a hint, so its failure has no effect. */
    int (*write_out)(int fd, off_t at, off_t bytes);
    int (*truncate)(int fd, off_t bytes);
    /* Sets or clears O_DIRECT. With it, addresses, offsets and lengths of writes must be multiples
     * of a page. Some file systems accept the flag and refuse the writes with EINVAL. */
    int (*direct)(int fd, bool is_direct);
    /* fallocate(2): the file grows by zeros, with disk space for them */
    int (*allocate)(int fd, off_t bytes);
    int (*size)(int fd, uint64_t *bytes);
    /* Finds the next data from `at` on (SEEK_DATA): [*from, *to). Leaves both unchanged if the file
     * system does not support that. Returns 0, or 1 if there is no data up to the end of the file.
     */
    int (*data)(int fd, uint64_t at, uint64_t *from, uint64_t *to);
    int (*links)(int fd, uint64_t *count);
    /* Returns 1 if the path names the open directory, 0 if it names another file, or -1. */
    int (*is_at)(int dir, const char *path);
    int (*rename)(int dir, const char *from, const char *to);
    int (*unlink)(int dir, const char *name);
    int (*link)(int dir, const char *from, const char *to);
    /* makes a directory that only its owner can read */
    int (*make)(int dir, const char *name);
    void (*boot_id)(uint8_t id[SW_BOOT_ID_BYTES]); /* proto/boot_id.h */
    /* proto/data_lock.h. EAGAIN: another process has the lock. */
    int (*lock_directory)(int fd);
    int (*lock)(int fd);
    /* Calls `each` with the name of every entry but "." and "..", until that returns false.
     * Returns 0, or -1 with errno where the directory cannot be read. */
    int (*list)(int dir, bool (*each)(void *context, const char *name), void *context);
};

/* Returns the table of the real system calls. */
const struct sw_io *sw_io_system(void);

/* Read or write all of `bytes`, by repeated calls if necessary, also after EINTR. A read that meets
 * the end of the file fails with ENODATA. */
int sw_io_read(const struct sw_io *io, int fd, void *data, size_t bytes, uint64_t at);
int sw_io_write(const struct sw_io *io, int fd, const void *data, size_t bytes, uint64_t at);

#endif
