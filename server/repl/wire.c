/* SPDX-License-Identifier: MIT
 *
 * wire.c - plain bytes, or records of TLS.
 */
#include "server/repl/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct sw_wire_tls *sw_wire_tls_new(void)
{
    struct sw_wire_tls *tls = calloc(1, sizeof(*tls));
    if (tls != NULL && sw_tls_scratch_init(&tls->scratch) != 0) {
        sw_wire_tls_free(tls);
        return NULL;
    }
    return tls;
}

void sw_wire_tls_free(struct sw_wire_tls *tls)
{
    if (tls != NULL) {
        sw_tls_stream_close(&tls->stream);
        sw_tls_scratch_fini(&tls->scratch);
        free(tls);
    }
}

static ssize_t failed(const struct sw_wire *wire, int64_t result)
{
    errno = result == SW_TLS_AGAIN         ? EAGAIN
            : wire->tls->stream.error != 0 ? wire->tls->stream.error
                                           : EPROTO;
    return -1;
}

ssize_t sw_wire_receive(struct sw_wire *wire, void *out, size_t room)
{
    if (wire->tls == NULL) {
        return recv(wire->fd, out, room, MSG_DONTWAIT);
    }
    int64_t got = sw_tls_read(&wire->tls->stream, out, room);
    return got == SW_TLS_END || got == SW_TLS_CUT ? 0 : got < 0 ? failed(wire, got) : (ssize_t)got;
}

ssize_t sw_wire_send(struct sw_wire *wire, struct iovec *pieces, int count)
{
    if (wire->tls == NULL) {
        struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
        return sendmsg(wire->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    int64_t sent = sw_tls_write(&wire->tls->stream, pieces, (size_t)count);
    return sent < 0 ? failed(wire, sent) : (ssize_t)sent;
}

const char *sw_wire_trouble(const struct sw_wire *wire, int error)
{
    return wire->tls != NULL && wire->tls->scratch.trouble[0] != '\0' ? wire->tls->scratch.trouble
                                                                      : strerror(error);
}

void sw_wire_close_socket(int fd)
{
    close(fd);
}

void sw_wire_close(struct sw_wire *wire)
{
    sw_wire_tls_free(wire->tls);
    wire->tls = NULL;
    if (wire->fd >= 0) {
        sw_wire_close_socket(wire->fd);
        wire->fd = -1;
    }
}
