/* SPDX-License-Identifier: MIT
 *
 * plain.c - the transport of sockets. Memory that never changes is sent as pages: vmsplice moves
 * them into a pipe, splice from there into the socket. The kernel takes references instead of
 * copies; the bytes are copied from the caller's memory when the receiver reads them.
 */
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

#include "client/dial.h"
#include "client/transport.h"

/* The capacity that is requested for the pipe. */
#define PIPE_BYTES (1 << 20)
#define UNIX_SEND_BYTES (1U << 20)

struct plain {
    struct sw_client_transport base;
    bool is_tcp;
    int pipe[2];         /* for pages, or -1 */
    uint32_t pipe_bytes; /* its capacity; 0: it has not been created yet */
    bool never_splices;  /* the kernel does not support it here */
};

static int64_t plain_read(struct sw_client_transport *transport, struct iovec *parts, int count)
{
    transport->traffic->reads++;
    return readv(transport->fd, parts, count);
}

static int64_t plain_write(struct sw_client_transport *transport, struct iovec *parts, int count,
                           bool more)
{
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    transport->traffic->writes++;
    return sendmsg(transport->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));
}

/* --- pages ------------------------------------------------------------------------------------ */

static void open_pipe(struct plain *plain)
{
    if (pipe2(plain->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        plain->pipe[0] = plain->pipe[1] = -1;
        plain->never_splices = true;
        return;
    }
    /* This fails if the user has reached the limit of pipe pages; the pipe keeps its 64 KiB then.
     */
    (void)fcntl(plain->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
    int room = fcntl(plain->pipe[1], F_GETPIPE_SZ);
    plain->pipe_bytes = room > 0 ? (uint32_t)room : 0;
    plain->never_splices = room <= 0;
}

/* Fills the empty pipe with pages. Returns false, with errno set, if it stays empty. If the kernel
 * does not support it, it is not tried again. */
static bool fill_pipe(struct plain *plain, const void *data, size_t bytes)
{
    if (plain->pipe_bytes == 0 && !plain->never_splices) {
        open_pipe(plain);
    }
    if (plain->never_splices) {
        errno = ENOTSUP;
        return false;
    }
    /* The kernel only reads. */
    const struct iovec pages = {(void *)(uintptr_t)data,
                                bytes < plain->pipe_bytes ? bytes : plain->pipe_bytes};
    plain->base.traffic->writes++;
    ssize_t filled = vmsplice(plain->pipe[1], &pages, 1, SPLICE_F_NONBLOCK);
    if (filled <= 0) {
        plain->never_splices = errno != EINTR;
        errno = plain->never_splices ? ENOTSUP : EINTR;
        return false;
    }
    plain->base.held = (uint32_t)filled;
    return true;
}

/* Calls splice without raising SIGPIPE. As it has no MSG_NOSIGNAL, the signal is blocked, and
 * removed if this call made it pending. */
static ssize_t splice_quietly(const struct plain *plain, bool more)
{
    sigset_t pipe_signal, before, pending;
    const struct timespec at_once = {0};
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    sigpending(&pending);
    ssize_t sent = splice(plain->pipe[0], NULL, plain->base.fd, NULL, plain->base.held,
                          SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
    int error = errno;
    /* The signal may be pending even if a part was sent before the socket turned out to be closed.
     */
    if (sent != (ssize_t)plain->base.held && !sigismember(&pending, SIGPIPE)) {
        (void)sigtimedwait(&pipe_signal, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return sent;
}

static int64_t plain_write_pages(struct sw_client_transport *transport, const void *data,
                                 size_t bytes, bool more)
{
    struct plain *plain = (struct plain *)transport;
    if (transport->held == 0 && !fill_pipe(plain, data, bytes)) {
        return -1;
    }
    transport->traffic->writes++;
    ssize_t sent = splice_quietly(plain, more || transport->held < bytes);
    if (sent == 0) {
        errno = EPIPE; /* 0 would mean that the pipe is empty, which it is not */
        return -1;
    }
    if (sent > 0) {
        transport->held -= (uint32_t)sent;
        transport->traffic->bytes_spliced += (uint64_t)sent;
    }
    return sent;
}

/* --- open and close --------------------------------------------------------------------------- */

static uint32_t plain_low_water(struct sw_client_transport *transport, uint32_t bytes)
{
    int value = (int)bytes;
    if (!((struct plain *)transport)->is_tcp) {
        return 1; /* Unix sockets have no such mark */
    }
    transport->traffic->options++;
    (void)setsockopt(transport->fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value));
    return bytes;
}

static void plain_close(struct sw_client_transport *transport)
{
    struct plain *plain = (struct plain *)transport;
    close(transport->fd);
    for (int i = 0; i < 2; i++) {
        if (plain->pipe[i] >= 0) {
            close(plain->pipe[i]);
        }
    }
    free(plain);
}

/* The kernel does not tune the buffers of a Unix socket, and the sender's buffer alone limits how
 * much is under way. */
static void set_buffers(const struct plain *plain, const struct sherwood_options *options)
{
    uint32_t send_bytes = options->send_buffer_bytes;
    if (send_bytes == 0 && !plain->is_tcp) {
        send_bytes = UNIX_SEND_BYTES;
    }
    sw_client_size_buffers(plain->base.fd, send_bytes, options->receive_buffer_bytes);
}

static struct sw_client_transport *plain_open(const struct sw_client_dialer *dialer,
                                              const char *address,
                                              const struct sherwood_options *options,
                                              int timeout_ms, int *status, char *text,
                                              size_t text_bytes)
{
    static const struct sw_client_transport_calls calls = {
        .read = plain_read,
        .write = plain_write,
        .write_pages = plain_write_pages,
        .low_water = plain_low_water,
        .close = plain_close,
    };
    struct plain *plain = calloc(1, sizeof(*plain));
    (void)dialer;
    if (plain == NULL) {
        snprintf(text, text_bytes, "not enough memory for a connection (%zu bytes)",
                 sizeof(*plain));
        *status = SHERWOOD_E_NOMEM;
        return NULL;
    }
    *plain = (struct plain){
        .base = {.calls = &calls, .read_events = POLLIN, .write_events = POLLOUT},
        .pipe = {-1, -1},
    };
    *status = sw_client_dial(address, timeout_ms, &plain->base.fd, text, text_bytes);
    if (*status != SHERWOOD_OK) {
        free(plain);
        return NULL;
    }
    int domain = AF_UNIX;
    socklen_t size = sizeof(domain);
    (void)getsockopt(plain->base.fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    plain->is_tcp = domain != AF_UNIX;
    set_buffers(plain, options);
    return &plain->base;
}

const struct sw_client_dialer sw_client_plain_dialer = {.open = plain_open};
