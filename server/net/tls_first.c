/* SPDX-License-Identifier: MIT
 *
 * tls_first.c - detects clients that connect to the TLS port without TLS.
 */
#include "server/net/tls_first.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The first byte of every connection by TLS: a record of the handshake. */
#define HANDSHAKE_RECORD 22

/* The reply to a peer without TLS, in any protocol. */
static const char plain_reply[] =
    "-ERR this port speaks TLS: connect with TLS (redis-cli --tls), or to the plain port\r\n";

/* Sends the reply to a peer without TLS. Discards its input: if the socket were closed with unread
 * input, the reply could be lost. */
static void refuse_plain(int fd, const char *reply)
{
    char dropped[4096];
    ssize_t sent = send(fd, reply, strlen(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; /* the peer is refused even if the reply is lost */
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < 16 && recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) > 0; i++) {
    }
}

enum sw_tls_first sw_tls_first_byte(int fd, const char *reply, char *text, size_t text_bytes)
{
    uint8_t first = 0;
    ssize_t got = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return SW_TLS_FIRST_NONE;
    }
    if (got <= 0 || first == HANDSHAKE_RECORD) {
        return SW_TLS_FIRST_RECORD;
    }
    refuse_plain(fd, reply != NULL ? reply : plain_reply);
    snprintf(text, text_bytes, "the client does not speak TLS (first byte 0x%02x)", first);
    return SW_TLS_FIRST_OTHER;
}
