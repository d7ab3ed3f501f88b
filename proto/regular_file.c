/* SPDX-License-Identifier: MIT
 *
 * regular_file.c - opening files that must be regular files.
 */
#include "proto/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns 0 for a regular file, or an errno. */
static int judge(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return errno;
    }
    return S_ISREG(status.st_mode) ? 0 : S_ISDIR(status.st_mode) ? EISDIR : EMEDIUMTYPE;
}

int sw_open_regular(int dir, const char *name, int flags, mode_t mode)
{
    const int all = flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    /* ThreadSanitizer sees open, and does not see openat: it takes the file for one that had the
     * same number before and that another thread used */
    int fd = dir == AT_FDCWD ? open(name, all, mode) : openat(dir, name, all, mode);
    if (fd < 0) {
        /* sockets, and FIFOs without a reader */
        errno = errno == ENXIO ? EMEDIUMTYPE : errno;
        return -1;
    }
    int error = judge(fd);
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

FILE *sw_fopen_regular(const char *path)
{
    int fd = sw_open_regular(AT_FDCWD, path, O_RDONLY, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL && fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return file;
}

const char *sw_file_error(int error)
{
    return error == EMEDIUMTYPE ? "a FIFO, a device or a socket, not a regular file"
           : error == EISDIR    ? "a directory, not a regular file"
                                : strerror(error);
}
