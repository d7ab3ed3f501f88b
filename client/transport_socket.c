/* SPDX-License-Identifier: MIT
 *
 * transport_socket.c - the transport of sockets. Memory that never changes is sent as pages:
 * vmsplice moves them into a pipe, splice from there into the socket. The kernel takes references
 * instead of copies; the bytes are copied from the caller's memory when the receiver reads them.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client/connect_socket.h"
#include "client/transport.h"

/* The capacity that is requested for the pipe. */
#define PIPE_BYTES (1 << 20)
#define UNIX_SEND_BYTES (1U << 20)

struct socket_transport {
    struct sw_client_transport base;
    bool is_tcp;
    int pipe[2];         /* for sending pages, or -1 */
    uint32_t pipe_bytes; /* its capacity; 0: it has not been created yet */
    bool never_splices;  /* the kernel does not support it here */
};

static int64_t socket_read(struct sw_client_transport *transport, struct iovec *parts, int count)
{
    transport->traffic->reads++;
    return readv(transport->fd, parts, count);
}

static int64_t socket_write(struct sw_client_transport *transport, struct iovec *parts, int count,
                            bool more)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    transport->traffic->writes++;
    return sendmsg(transport->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));
}

/* --- pages ------------------------------------------------------------------------------------ */

static void open_pipe(struct socket_transport *socket_transport)
{
    if (pipe2(socket_transport->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        socket_transport->pipe[0] = socket_transport->pipe[1] = -1;
        socket_transport->never_splices = true;
        return;
    }
    /* This fails if the user has reached the limit of pipe pages; the pipe keeps its 64 KiB then.
     */
    (void)fcntl(socket_transport->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
    int room = fcntl(socket_transport->pipe[1], F_GETPIPE_SZ);
    socket_transport->pipe_bytes = room > 0 ? (uint32_t)room : 0;
    socket_transport->never_splices = room <= 0;
}

/* Fills the empty pipe with pages. Returns false, with errno set, if the pipe stays empty. Tries no
 * more if the kernel does not support it. */
static bool fill_pipe(struct socket_transport *socket_transport, const void *data, size_t bytes)
{
    if (socket_transport->pipe_bytes == 0 && !socket_transport->never_splices) {
        open_pipe(socket_transport);
    }
    if (socket_transport->never_splices) {
        errno = ENOTSUP;
        return false;
    }
    /* The kernel only reads. */
    const struct iovec pages = {(void *)(uintptr_t)data, bytes < socket_transport->pipe_bytes
                                                             ? bytes
                                                             : socket_transport->pipe_bytes};
    socket_transport->base.traffic->writes++;
    ssize_t filled = vmsplice(socket_transport->pipe[1], &pages, 1, SPLICE_F_NONBLOCK);
    if (filled <= 0) {
        socket_transport->never_splices = errno != EINTR;
        errno = socket_transport->never_splices ? ENOTSUP : EINTR;
        return false;
    }
    socket_transport->base.held = (uint32_t)filled;
    return true;
}

/* Calls splice without raising SIGPIPE. As it has no MSG_NOSIGNAL, the signal is blocked, and
 * removed if this call made it pending. */
static ssize_t splice_quietly(const struct socket_transport *socket_transport, bool more)
{
    sigset_t pipe_signal, before, pending;
    const struct timespec at_once = {0};
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    sigpending(&pending);
    ssize_t sent =
        splice(socket_transport->pipe[0], NULL, socket_transport->base.fd, NULL,
               socket_transport->base.held, SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
    int error = errno;
    /* The signal may be pending even if a part was sent before the socket turned out to be closed.
     */
    if (sent != (ssize_t)socket_transport->base.held && !sigismember(&pending, SIGPIPE)) {
        (void)sigtimedwait(&pipe_signal, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return sent;
}

static int64_t socket_write_pages(struct sw_client_transport *transport, const void *data,
                                  size_t bytes, bool more)
{
    struct socket_transport *socket_transport = (struct socket_transport *)transport;
    assert(transport->held <= bytes); /* the caller goes on where the last call ended */
    if (transport->held == 0 && !fill_pipe(socket_transport, data, bytes)) {
        return -1;
    }
    transport->traffic->writes++;
    ssize_t sent = splice_quietly(socket_transport, more || transport->held < bytes);
    if (sent == 0) {
        errno = EPIPE; /* splice returns 0 for an empty pipe, and this pipe is not empty */
        return -1;
    }
    if (sent > 0) {
        transport->held -= (uint32_t)sent;
        transport->traffic->bytes_spliced += (uint64_t)sent;
    }
    return sent;
}

/* --- open and close --------------------------------------------------------------------------- */

static uint32_t socket_low_water(struct sw_client_transport *transport, uint32_t bytes)
{
    int value = (int)bytes;
    if (!((struct socket_transport *)transport)->is_tcp) {
        return 1; /* Unix sockets have no such mark */
    }
    transport->traffic->options++;
    (void)setsockopt(transport->fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value));
    return bytes;
}

static void socket_close(struct sw_client_transport *transport)
{
    struct socket_transport *socket_transport = (struct socket_transport *)transport;
    close(transport->fd);
    for (int i = 0; i < 2; i++) {
        if (socket_transport->pipe[i] >= 0) {
            close(socket_transport->pipe[i]);
        }
    }
    free(socket_transport);
}

/* Sets the sizes of the socket's buffers. The kernel does not tune those of a Unix socket, and the
 * sender's buffer alone limits how much is in flight there. */
static void set_buffers(const struct socket_transport *socket_transport,
                        const struct sherwood_options *options)
{
    uint32_t send_bytes = options->send_buffer_bytes;
    if (send_bytes == 0 && !socket_transport->is_tcp) {
        send_bytes = UNIX_SEND_BYTES;
    }
    sw_client_size_buffers(socket_transport->base.fd, send_bytes, options->receive_buffer_bytes);
}

static struct sw_client_transport *socket_open(const struct sw_client_connector *connector,
                                               const char *address,
                                               const struct sherwood_options *options,
                                               int timeout_ms, int *status, char *text,
                                               size_t text_bytes)
{
    static const struct sw_client_transport_calls calls = {
        .read = socket_read,
        .write = socket_write,
        .write_pages = socket_write_pages,
        .low_water = socket_low_water,
        .close = socket_close,
    };
    struct socket_transport *socket_transport = calloc(1, sizeof(*socket_transport));
    (void)connector;
    if (socket_transport == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof(*socket_transport));
        *status = SHERWOOD_E_NOMEM;
        return NULL;
    }
    *socket_transport = (struct socket_transport){
        .base = {.calls = &calls, .read_events = POLLIN, .write_events = POLLOUT},
        .pipe = {-1, -1},
    };
    *status =
        sw_client_connect_socket(address, timeout_ms, &socket_transport->base.fd, text, text_bytes);
    if (*status != SHERWOOD_OK) {
        free(socket_transport);
        return NULL;
    }
    int domain = AF_UNIX;
    socklen_t size = sizeof(domain);
    (void)getsockopt(socket_transport->base.fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    socket_transport->is_tcp = domain != AF_UNIX;
    set_buffers(socket_transport, options);
    return &socket_transport->base;
}

const struct sw_client_connector sw_client_socket_connector = {.open = socket_open};
