/* SPDX-License-Identifier: MIT
 *
 * splice.c - frames whose arrays never change, as pages: vmsplice into a pipe, splice from there
 * into the socket. The kernel takes references instead of copying; the receiver copies from the
 * caller's memory, whenever it reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "client/internal.h"

static void open_pipe(struct sw_stripe *stripe)
{
    if (pipe2(stripe->pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        stripe->pipe[0] = stripe->pipe[1] = -1;
        stripe->never_splices = true;
        return;
    }
    /* Refused beyond the user's limit of pipe pages: then it stays as it is, 64 KiB. */
    (void)fcntl(stripe->pipe[1], F_SETPIPE_SZ, SW_CLIENT_PIPE_BYTES);
    int room = fcntl(stripe->pipe[1], F_GETPIPE_SZ);
    stripe->pipe_room = room > 0 ? (uint32_t)room : 0;
    stripe->never_splices = room <= 0;
}

bool sw_client_splices(struct sw_stripe *stripe)
{
    const struct sw_client_flight *flight = &stripe->flights[stripe->queue[stripe->queue_first]];
    if (stripe->pipe_bytes > 0) {
        return true;
    }
    if (!flight->is_constant || stripe->never_splices ||
        flight->frame_bytes < SW_CLIENT_SPLICE_BYTES) {
        return false;
    }
    if (stripe->pipe_room == 0) {
        open_pipe(stripe);
    }
    return !stripe->never_splices;
}

/* splice has no MSG_NOSIGNAL: SIGPIPE is held back, and taken away if this call raised it. */
static ssize_t splice_quietly(const struct sw_stripe *stripe, bool more)
{
    sigset_t pipe_signal, before, pending;
    const struct timespec at_once = {0};
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    sigpending(&pending);
    ssize_t sent = splice(stripe->pipe[0], NULL, stripe->fd, NULL, stripe->pipe_bytes,
                          SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0));
    int error = errno;
    /* A part may have gone before the socket was found closed. */
    if (sent != (ssize_t)stripe->pipe_bytes && !sigismember(&pending, SIGPIPE)) {
        (void)sigtimedwait(&pipe_signal, NULL, &at_once);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return sent;
}

static int64_t empty_pipe(struct sw_stripe *stripe, bool more)
{
    stripe->client->traffic.writes++;
    ssize_t sent = splice_quietly(stripe, more);
    if (sent == 0) {
        errno = EPIPE; /* a pipe with bytes in it is never at its end */
        return -1;
    }
    if (sent > 0) {
        stripe->pipe_bytes -= (uint32_t)sent;
        stripe->client->traffic.bytes_spliced += (uint64_t)sent;
        sw_client_sent(stripe, (uint64_t)sent);
    }
    return sent;
}

/* Fills the pipe with pages of one part. A kernel that cannot is not asked again. */
static int64_t fill_pipe(struct sw_stripe *stripe, const struct iovec *part)
{
    struct iovec pages = *part;
    if (pages.iov_len > stripe->pipe_room) {
        pages.iov_len = stripe->pipe_room;
    }
    stripe->client->traffic.writes++;
    ssize_t filled = vmsplice(stripe->pipe[1], &pages, 1, SPLICE_F_NONBLOCK);
    if (filled <= 0) {
        stripe->never_splices = errno != EINTR;
        errno = EINTR;
        return -1;
    }
    stripe->pipe_bytes = (uint32_t)filled;
    return 0;
}

int64_t sw_client_splice(struct sw_stripe *stripe)
{
    const struct sw_client_flight *flight = &stripe->flights[stripe->queue[stripe->queue_first]];
    struct iovec parts[SW_CLIENT_FRAME_PARTS_MAX];
    size_t n = sw_client_frame_parts(flight, parts), i = 0;
    uint64_t skip = stripe->queue_offset + stripe->pipe_bytes;
    const bool is_last = skip == flight->frame_bytes;
    if (stripe->pipe_bytes > 0) {
        return empty_pipe(stripe, !is_last || stripe->queue_count > 1);
    }
    while (skip >= parts[i].iov_len) {
        skip -= parts[i++].iov_len;
    }
    const struct iovec part = {(uint8_t *)parts[i].iov_base + skip,
                               parts[i].iov_len - (size_t)skip};
    if (part.iov_len >= SW_CLIENT_SPLICE_BYTES) {
        return fill_pipe(stripe, &part);
    }
    bool more = i + 1 < n || stripe->queue_count > 1;
    stripe->client->traffic.writes++;
    ssize_t sent = send(stripe->fd, part.iov_base, part.iov_len,
                        MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));
    if (sent > 0) {
        sw_client_sent(stripe, (uint64_t)sent);
    }
    return sent;
}
