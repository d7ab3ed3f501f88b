/* SPDX-License-Identifier: MIT
 *
 * descriptors.c - reading a Unix socket by recvmsg. A duplicate of the socket is polled, since
 * libuv watches the socket itself for writing.
 */
#include "server/net/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/list.h"

/* Most reads for one event: other sockets must also be read. */
#define READS_MAX 32
/* Room for descriptors in one message. The kernel closes descriptors that do not fit, and reports
 * this by a flag. */
#define DESCRIPTORS_MAX 4

struct sw_descriptors {
    uv_poll_t poll;
    struct sw_transport *transport;
    struct sw_transport_functions functions;
    int socket;   /* the duplicate */
    int waiting;  /* a received descriptor; -1: none */
    bool reading; /* the poll is started */
};

static void on_event(uv_poll_t *poll, int status, int events);

static void read_start(struct sw_transport *transport)
{
    struct sw_descriptors *own = transport->descriptors;
    own->reading = true;
    uv_poll_start(&own->poll, UV_READABLE, on_event);
}

static void read_stop(struct sw_transport *transport)
{
    struct sw_descriptors *own = transport->descriptors;
    own->reading = false;
    uv_poll_stop(&own->poll);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct sw_descriptors *own = SW_CONTAINER(handle, struct sw_descriptors, poll);
    close(own->socket);
    if (own->waiting >= 0) {
        close(own->waiting);
    }
    free(own);
}

static void close_both(struct sw_transport *transport)
{
    struct sw_descriptors *own = transport->descriptors;
    own->reading = false;
    transport->descriptors = NULL;
    transport->functions = &sw_transport_plain;
    uv_close((uv_handle_t *)&own->poll, on_poll_closed);
    sw_transport_plain.close(transport);
}

/* Keeps the first descriptor of a message, unless one is waiting already, and closes the others.
 * cmsg_len counts them. Returns false if it closed one, or if the kernel did. */
static bool keep_first(struct sw_descriptors *own, struct msghdr *message)
{
    bool fits = (message->msg_flags & MSG_CTRUNC) == 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
            if (own->waiting < 0) {
                own->waiting = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits;
}

/* Reads once. Returns the bytes, 0 at the end, or a negative error of libuv. */
static ssize_t receive(struct sw_descriptors *own, uv_buf_t buffer)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    struct iovec part = {buffer.base, buffer.len};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t count;
    do {
        count = recvmsg(own->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return uv_translate_sys_error(errno);
    }
    return keep_first(own, &message) ? count : UV_EPROTO;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct sw_descriptors *own = SW_CONTAINER(poll, struct sw_descriptors, poll);
    struct sw_transport *transport = own->transport;
    (void)events; /* the next read reports an error */
    for (int i = 0; i < READS_MAX && own->reading; i++) {
        uv_buf_t buffer = transport->events->room(transport);
        if (buffer.len == 0) {
            transport->events->received(transport, UV_ENOBUFS, NULL);
            return;
        }
        ssize_t count = receive(own, buffer);
        if (count == UV_EAGAIN) {
            if (status < 0) { /* libuv has stopped the poll */
                transport->events->received(transport, status, NULL);
            }
            return;
        }
        transport->events->received(transport, count == 0 ? UV_EOF : count, (uint8_t *)buffer.base);
        if ((size_t)count < buffer.len) {
            return;
        }
    }
}

int sw_descriptors_open(struct sw_transport *transport, bool reading)
{
    struct sw_descriptors *own = calloc(1, sizeof(*own));
    uv_os_fd_t socket = -1;
    assert(transport->tls == NULL && transport->descriptors == NULL);
    if (own == NULL || uv_fileno(&transport->uv.handle, &socket) != 0) {
        free(own);
        return -1;
    }
    own->transport = transport;
    own->waiting = -1;
    own->socket = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (own->socket < 0 || uv_poll_init(transport->uv.handle.loop, &own->poll, own->socket) != 0) {
        if (own->socket >= 0) {
            close(own->socket);
        }
        free(own);
        return -1;
    }
    own->functions = sw_transport_plain;
    own->functions.read_start = read_start;
    own->functions.read_stop = read_stop;
    own->functions.close = close_both;
    if (reading) {
        sw_transport_read_stop(transport);
    }
    transport->descriptors = own;
    transport->functions = &own->functions;
    if (reading) {
        read_start(transport);
    }
    return 0;
}

int sw_descriptors_take(struct sw_transport *transport)
{
    struct sw_descriptors *own = transport->descriptors;
    int fd = own != NULL ? own->waiting : -1;
    if (own != NULL) {
        own->waiting = -1;
    }
    return fd;
}
