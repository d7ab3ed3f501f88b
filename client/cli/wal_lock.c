/* SPDX-License-Identifier: MIT
 *
 * wal_lock.c - locking a data directory as a daemon does.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/wal.h"
#include "proto/data_lock.h"
#include "proto/regular_file.h"

/* Opens the file `lock`. Creates it for the owner of the directory, whose daemon must open it. */
static int open_lock(int dir)
{
    struct stat status;
    int fd = sw_open_regular(dir, SW_DATA_LOCK_NAME, O_RDWR, 0);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    fd = sw_open_regular(dir, SW_DATA_LOCK_NAME, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 && (fstat(dir, &status) != 0 || fchown(fd, status.st_uid, status.st_gid) != 0)) {
        int error = errno;
        unlinkat(dir, SW_DATA_LOCK_NAME, 0);
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int sw_cli_wal_lock(const struct sw_cli_wal *wal)
{
    int dir = open(wal->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && sw_data_lock_directory(dir) == 0) {
        int fd = open_lock(dir);
        if (fd >= 0 && sw_data_lock_file(fd) == 0) {
            return dir;
        }
    }
    sw_cli_wal_complain(
        wal, "", errno == EAGAIN ? "a sherwoodd uses it: stop that first" : sw_file_error(errno));
    if (dir >= 0) {
        close(dir);
    }
    return -1;
}
