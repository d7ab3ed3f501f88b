/* SPDX-License-Identifier: MIT
 *
 * tls.h - the transport for TLS over TCP: another set of sw_transport_functions, over the streams
 * of proto/tls/stream.h. The socket is polled, and OpenSSL receives from it and sends to it by
 * itself.
 */
#ifndef SHERWOOD_SERVER_NET_TLS_H
#define SHERWOOD_SERVER_NET_TLS_H

#include <openssl/ssl.h>

#include "proto/tls/stream.h"
#include "server/list.h"
#include "server/net/transport.h"

struct sw_turn;

/* What the TLS transports of a loop share. */
struct sw_tls_loop {
    struct sw_tls_scratch scratch;
    struct sw_list ready;      /* transports that have input which the socket will not announce */
    struct sw_list handshakes; /* .. whose handshakes can go on, the one that waits longest first */
};

/* `is_on`: there will be transports. Returns 0, or -1 if there is no memory; sw_tls_loop_fini may
 * be called after either. */
int sw_tls_loop_init(struct sw_tls_loop *loop, bool is_on);
void sw_tls_loop_fini(struct sw_tls_loop *loop);

/* Delivers what has been decrypted, or can be, without an event of a socket: input that was left
 * when a turn's bytes were used up, or while a connection was stalled. To be called once a turn.
 * Returns true if there was something. */
bool sw_tls_resume(struct sw_tls_loop *loop);
static inline bool sw_tls_is_ready(const struct sw_tls_loop *loop)
{
    return !sw_list_is_empty(&loop->ready) || !sw_list_is_empty(&loop->handshakes);
}

/* Continues the handshakes that wait, while the phase has time for one. To be called once an
 * iteration. Returns true if one was waiting. */
bool sw_tls_shake_hands(struct sw_tls_loop *loop, struct sw_turn *turn);

/* Opens a transport on a connected TCP socket. As sw_transport_open; `context` is not needed
 * afterwards. The handshake goes on by itself; `opening` of the transport says that it is not
 * complete yet. */
int sw_tls_open(struct sw_transport *transport, uv_loop_t *uv, int fd, SSL_CTX *context,
                struct sw_socket_sizes sizes, struct sw_tls_loop *loop,
                const struct sw_transport_events *events);

/* The stream of a transport that is about to be closed goes elsewhere: nothing more is read or
 * written by the transport; and comes back after all. */
void sw_tls_hand_over(struct sw_transport *transport, struct sw_tls_stream *to, int fd,
                      struct sw_tls_scratch *scratch);
void sw_tls_take_back(struct sw_transport *transport, struct sw_tls_stream *from);

/* Writes the name in the verified certificate of the peer: the CN of its subject. Returns false if
 * it has shown none, or the name does not fit. */
bool sw_tls_peer_name(const struct sw_transport *transport, char *name, size_t room);

#endif
