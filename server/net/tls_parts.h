/* SPDX-License-Identifier: MIT
 *
 * tls_parts.h - the state of one TLS transport, which tls.c and tls_handshake.c share.
 *
 * Everything belongs to the loop's thread.
 */
#ifndef SHERWOOD_SERVER_NET_TLS_PARTS_H
#define SHERWOOD_SERVER_NET_TLS_PARTS_H

#include "server/net/tls.h"
#include "server/net/tls_queue.h"

/* The TLS side of a transport. */
struct sw_tls {
    struct sw_tls_stream stream;
    struct sw_transport *transport;
    struct sw_tls_loop *loop;
    struct sw_list ready;      /* link in loop->ready, or in loop->handshakes */
    int fd;                    /* owned */
    int events;                /* polled events of the socket */
    int error;                 /* libuv error that ended the connection; 0: no error */
    bool reading;              /* the connection wants its input */
    bool first_byte_known;     /* the first byte of the peer began a record of TLS */
    bool is_reset;             /* the socket has failed; what came before is read first */
    bool ending;               /* close_notify is sent, and the socket's side ends behind it */
    struct sw_tls_queue queue; /* of sw_transport_write */
};

static inline bool sw_tls_is_closing(const struct sw_tls *tls)
{
    return uv_is_closing(&tls->transport->uv.handle);
}

/* --- tls.c --- */

/* Polls the socket for what the transport needs: for writing while there is something to send, and
 * for reading at least if the connection wants to read. Without `drop_reading`, keeps polling for
 * reading if it did so before. */
void sw_tls_watch_needed(struct sw_tls *tls, bool drop_reading);
/* Passes news to the connection. */
void sw_tls_report(struct sw_tls *tls, enum sw_transport_news news, const char *text);
/* Ends the transport with an error of libuv, and a phrase that says why. */
void sw_tls_fail(struct sw_tls *tls, int error, const char *text);
/* Decrypts the received input while the connection has room for it. */
void sw_tls_read_some(struct sw_tls *tls);

/* --- tls_handshake.c --- */

/* Adds the transport to the list `handshakes`: its socket has a message of the handshake, or has
 * failed. */
void sw_tls_await_handshake(struct sw_tls *tls);

#endif
