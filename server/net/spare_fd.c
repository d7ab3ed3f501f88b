/* SPDX-License-Identifier: MIT
 *
 * spare_fd.c - accepting in the place of a spare descriptor.
 */
#include "server/net/spare_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes of a peer's input that are read before its socket is closed. If the kernel closed a socket
 * with unread input, it would reset the connection, and the peer could lose the reply. */
#define DISCARDED_BYTES 4096

void sw_spare_fd_open(struct sw_spare_fd *spare)
{
    spare->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void sw_spare_fd_close(struct sw_spare_fd *spare)
{
    if (spare->fd >= 0) {
        close(spare->fd);
        spare->fd = -1;
    }
}

bool sw_spare_fd_helps(int error)
{
    return error == EMFILE || error == ENFILE;
}

bool sw_spare_fd_refuse(struct sw_spare_fd *spare, int listener, void (*refuse)(int fd))
{
    char discarded[DISCARDED_BYTES];
    if (spare->fd < 0) {
        sw_spare_fd_open(spare); /* there may be one again */
    }
    if (spare->fd < 0) {
        return false;
    }
    sw_spare_fd_close(spare);
    const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        refuse(fd);
        shutdown(fd, SHUT_WR);
        (void)!recv(fd, discarded, sizeof(discarded), MSG_DONTWAIT);
        close(fd);
    }
    sw_spare_fd_open(spare);
    return fd >= 0;
}
