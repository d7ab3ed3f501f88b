/* SPDX-License-Identifier: MIT
 *
 * small_file.c - writes a new file beside the old one, so that a crash leaves the old one
 * unchanged.
 */
#include "server/log/small_file.h"

#include <errno.h>
#include <fcntl.h>

ssize_t sw_small_file_read(const struct sw_directory *directory, const char *name, char *text,
                           size_t room)
{
    const struct sw_io *io = directory->io;
    int fd = io->open(directory->fd, name, O_RDONLY, 0);
    if (fd < 0) {
        return -1;
    }
    ssize_t got = io->pread(fd, text, room - 1, 0);
    int error = errno;
    io->close(fd);
    errno = error;
    text[got < 0 ? 0 : got] = '\0';
    return got;
}

int sw_small_file_write(const struct sw_directory *directory, const char *name, const char *beside,
                        const char *text, size_t size)
{
    const struct sw_io *io = directory->io;
    /* never the file of before: a sync of it may have failed, and lost pages count as clean */
    bool done = io->unlink(directory->fd, beside) == 0 || errno == ENOENT;
    int fd = done ? io->open(directory->fd, beside, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
    done = fd >= 0 && sw_io_write(io, fd, text, size, 0) == 0 && io->fdatasync(fd) == 0;
    int error = errno;
    if (fd >= 0) {
        io->close(fd);
    }
    errno = error;
    return done && io->rename(directory->fd, beside, name) == 0 && io->fsync(directory->fd) == 0
               ? 0
               : -1;
}

int sw_small_file_remove(const struct sw_directory *directory, const char *name)
{
    const struct sw_io *io = directory->io;
    if (io->unlink(directory->fd, name) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    return io->fsync(directory->fd);
}
