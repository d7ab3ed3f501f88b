/* SPDX-License-Identifier: MIT
 *
 * spare_fd.c - accepting in the place of a spare descriptor.
 */
#include "server/net/spare_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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

/* Serializes the threads that accept, each with a spare descriptor of its own: no thread accepts a
 * connection in the place that another one has just freed. */
static pthread_mutex_t accepting = PTHREAD_MUTEX_INITIALIZER;

int sw_spare_fd_accept(struct sw_spare_fd *spare, int listener)
{
    int fd = -1;
    pthread_mutex_lock(&accepting);
    if (spare->fd < 0) {
        sw_spare_fd_open(spare);
    }
    if (spare->fd >= 0 || !sw_spare_fd_helps(errno)) {
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    const int error = errno;
    pthread_mutex_unlock(&accepting);
    errno = error;
    return fd;
}

static void refuse_one(int fd, void (*refuse)(int fd))
{
    char discarded[DISCARDED_BYTES];
    refuse(fd);
    shutdown(fd, SHUT_WR);
    (void)!recv(fd, discarded, sizeof(discarded), MSG_DONTWAIT);
    close(fd);
}

/* Accepts a connection in the place of the spare descriptor, and closes it. */
static enum sw_spare_fd_result refuse_by_spare(struct sw_spare_fd *spare, int listener,
                                               void (*refuse)(int fd))
{
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    enum sw_spare_fd_result result = SW_SPARE_FD_NONE;
    pthread_mutex_lock(&accepting);
    if (poll(&waiting, 1, 0) == 0) {
        result = SW_SPARE_FD_EMPTY;
    } else if (spare->fd >= 0) {
        sw_spare_fd_close(spare);
        const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            refuse_one(fd, refuse);
            result = SW_SPARE_FD_REFUSED;
        } else if (!sw_spare_fd_helps(errno)) {
            result = SW_SPARE_FD_EMPTY;
        }
        sw_spare_fd_open(spare);
    }
    pthread_mutex_unlock(&accepting);
    return result;
}

enum sw_spare_fd_result sw_spare_fd_after(struct sw_spare_fd *spare, int listener, int error,
                                          void (*refuse)(int fd))
{
    if (error == ECONNABORTED || error == EINTR) {
        return SW_SPARE_FD_AGAIN;
    }
    if (sw_spare_fd_helps(error)) {
        return refuse_by_spare(spare, listener, refuse);
    }
    return error == ENOMEM || error == ENOBUFS ? SW_SPARE_FD_NONE : SW_SPARE_FD_EMPTY;
}
