/* SPDX-License-Identifier: MIT
 *
 * tls_first.h - the first byte that comes to the TLS port.
 */
#ifndef SHERWOOD_SERVER_NET_TLS_FIRST_H
#define SHERWOOD_SERVER_NET_TLS_FIRST_H

#include <stddef.h>

enum sw_tls_first {
    SW_TLS_FIRST_NONE,   /* no byte has arrived yet */
    SW_TLS_FIRST_RECORD, /* a handshake begins, or the connection has ended: the handshake reports
                            that */
    SW_TLS_FIRST_OTHER   /* the peer does not speak TLS: the reply is sent, `text` is set */
};

/* Reads the first byte of a connected socket and leaves it in the socket. Sends `reply` to a peer
 * that does not speak TLS; NULL: an error line of RESP. Threads: any. */
enum sw_tls_first sw_tls_first_byte(int fd, const char *reply, char *text, size_t text_bytes);

#endif
