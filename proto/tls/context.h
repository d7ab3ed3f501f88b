/* SPDX-License-Identifier: MIT
 *
 * context.h - what the streams of a server or a client have in common: certificate, key, whom they
 * trust, versions of TLS. A context is an SSL_CTX of OpenSSL, counted by references
 * (SSL_CTX_up_ref, SSL_CTX_free) and used by any number of threads at once.
 *
 * Both sides speak TLS 1.2 and 1.3 with authenticated ciphers only; there is no compression, no
 * renegotiation and no early data.
 */
#ifndef SHERWOOD_PROTO_TLS_CONTEXT_H
#define SHERWOOD_PROTO_TLS_CONTEXT_H

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

enum sw_tls_clients {
    SW_TLS_CLIENTS_ANY,      /* no client is asked for a certificate */
    SW_TLS_CLIENTS_OPTIONAL, /* one that a client has must be valid */
    SW_TLS_CLIENTS_REQUIRED  /* a client without a valid one is refused */
};

/* Files are PEM; NULL and "" stand for none. */
struct sw_tls_settings {
    const char *cert; /* the certificate, then those that lead from it to the root */
    const char *key;  /* its private key, without a password */
    const char *ca;   /* a file of root certificates, or a folder of them by their hashes */
    enum sw_tls_clients clients; /* server */
    bool only_13;                /* TLS 1.3 and nothing older */
    bool insecure;               /* client: any certificate of the server will do */
};

/* Make a context. NULL with a sentence in `error`. */
SSL_CTX *sw_tls_server_context(const struct sw_tls_settings *settings, char *error,
                               size_t error_bytes);
/* Without `ca` the roots are those of the system. */
SSL_CTX *sw_tls_client_context(const struct sw_tls_settings *settings, char *error,
                               size_t error_bytes);

/* Sets the name or address that the certificate of a client's server must have. A name is also sent
 * to the server (SNI). Returns 0, or -1 if there is no memory. */
int sw_tls_expect(SSL *ssl, const char *name);

/* Writes the name in the verified certificate of a stream's peer: the CN of its subject, as UTF-8.
 * Returns false if the peer has no verified certificate with a CN, or the CN does not fit. */
bool sw_tls_peer_name_of(SSL *ssl, char *name, size_t room);

#endif
