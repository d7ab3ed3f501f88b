/* SPDX-License-Identifier: MIT
 *
 * peer_socket.c - plain bytes, or records of TLS.
 */
#include "server/repl/peer_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sw_peer_tls *sw_peer_tls_new(void)
{
    struct sw_peer_tls *tls = calloc(1, sizeof(*tls));
    if (tls != NULL && sw_tls_scratch_init(&tls->scratch) != 0) {
        sw_peer_tls_free(tls);
        return NULL;
    }
    return tls;
}

void sw_peer_tls_free(struct sw_peer_tls *tls)
{
    if (tls != NULL) {
        sw_tls_stream_close(&tls->stream);
        sw_tls_scratch_fini(&tls->scratch);
        free(tls);
    }
}

static ssize_t failed(const struct sw_peer_socket *socket, int64_t result)
{
    errno = result == SW_TLS_AGAIN           ? EAGAIN
            : socket->tls->stream.error != 0 ? socket->tls->stream.error
                                             : EPROTO;
    return -1;
}

ssize_t sw_peer_socket_receive(struct sw_peer_socket *socket, void *out, size_t room)
{
    if (socket->tls == NULL) {
        return recv(socket->fd, out, room, MSG_DONTWAIT);
    }
    int64_t got = sw_tls_read(&socket->tls->stream, out, room);
    return got == SW_TLS_END || got == SW_TLS_CUT ? 0
           : got < 0                              ? failed(socket, got)
                                                  : (ssize_t)got;
}

ssize_t sw_peer_socket_send(struct sw_peer_socket *socket, struct iovec *pieces, int count)
{
    if (socket->tls == NULL) {
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
        return sendmsg(socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    int64_t sent = sw_tls_write(&socket->tls->stream, pieces, (size_t)count);
    return sent < 0 ? failed(socket, sent) : (ssize_t)sent;
}

const char *sw_peer_socket_trouble(const struct sw_peer_socket *socket, int error)
{
    return socket->tls != NULL && socket->tls->scratch.trouble[0] != '\0'
               ? socket->tls->scratch.trouble
               : strerror(error);
}

void sw_peer_close_fd(int fd)
{
    close(fd);
}

void sw_peer_socket_close(struct sw_peer_socket *socket)
{
    sw_peer_tls_free(socket->tls);
    socket->tls = NULL;
    if (socket->fd >= 0) {
        sw_peer_close_fd(socket->fd);
        socket->fd = -1;
    }
}
