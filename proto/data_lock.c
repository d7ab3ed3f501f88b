/* SPDX-License-Identifier: MIT
 *
 * data_lock.c - the lock of a data directory.
 */
#include "proto/data_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

int sw_data_lock_directory(int fd)
{
    int status = 0;
    do {
        status = flock(fd, LOCK_EX | LOCK_NB);
    } while (status != 0 && errno == EINTR);
    /* NFS takes an exclusive lock only on files open for writing, and no directory is */
    if (status != 0 && (errno == EBADF || errno == ENOLCK || errno == EOPNOTSUPP ||
                        errno == EINVAL || errno == ENOSYS)) {
        return 0;
    }
    return status;
}

int sw_data_lock_file(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int status = fcntl(fd, F_OFD_SETLK, &whole);
    errno = status != 0 && errno == EACCES ? EAGAIN : errno;
    return status;
}
