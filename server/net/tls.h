/* SPDX-License-Identifier: MIT
 *
 * tls.h - the transport for TLS over TCP: another set of sw_transport_functions, over the streams
 * of proto/tls/stream.h. The socket is polled, and OpenSSL receives from it and sends to it by
 * itself.
 */
#ifndef SHERWOOD_SERVER_NET_TLS_H
#define SHERWOOD_SERVER_NET_TLS_H

#include <openssl/types.h>

#include "proto/tls/stream.h"
#include "server/list.h"
#include "server/net/transport.h"

struct sw_iteration;

/* What the TLS transports of a loop share. */
struct sw_tls_loop {
    struct sw_tls_scratch scratch;
    struct sw_list ready;      /* transports that have input which the socket will not announce */
    struct sw_list handshakes; /* transports whose handshakes can continue, longest wait first */
};

/* `is_on`: there will be transports. Returns 0, or -1 if there is no memory; sw_tls_loop_fini may
 * be called after either. */
int sw_tls_loop_init(struct sw_tls_loop *loop, bool is_on);
void sw_tls_loop_fini(struct sw_tls_loop *loop);

/* Delivers input that is decrypted, or can be decrypted, without an event of a socket. Such input
 * is left when the bytes of an iteration are used up, or while a connection is stalled. Call it
 * once an iteration. Returns true if there was such input. */
bool sw_tls_resume(struct sw_tls_loop *loop);
static inline bool sw_tls_is_ready(const struct sw_tls_loop *loop)
{
    return !sw_list_is_empty(&loop->ready) || !sw_list_is_empty(&loop->handshakes);
}

/* Continues the handshakes that wait, while the phase has time for one. To be called once an
 * iteration. Returns true if one was waiting. */
bool sw_tls_shake_hands(struct sw_tls_loop *loop, struct sw_iteration *iteration);

/* Opens a transport on a connected TCP socket. As sw_transport_open; `context` is not needed
 * afterwards. The handshake goes on by itself; `opening` of the transport says that it is not
 * complete yet. */
int sw_tls_open(struct sw_transport *transport, uv_loop_t *uv, int fd, SSL_CTX *context,
                struct sw_socket_sizes sizes, struct sw_tls_loop *loop,
                const struct sw_transport_events *events);

/* Moves the stream out of a transport that is about to be closed. The transport then reads and
 * writes nothing more. sw_tls_take_back moves the stream back if the hand-over failed. */
void sw_tls_hand_over(struct sw_transport *transport, struct sw_tls_stream *to, int fd,
                      struct sw_tls_scratch *scratch);
void sw_tls_take_back(struct sw_transport *transport, struct sw_tls_stream *from);

/* Writes the name in the verified certificate of the peer: the CN of its subject. Returns false if
 * the peer has sent no certificate, or the name does not fit. */
bool sw_tls_peer_name(const struct sw_transport *transport, char *name, size_t room);

#endif
