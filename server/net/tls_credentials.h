/* SPDX-License-Identifier: MIT
 *
 * tls_credentials.h - the certificate, the key and the roots of TLS connections. The server can
 * read them again while it runs. Threads: any.
 */
#ifndef SHERWOOD_SERVER_NET_TLS_CREDENTIALS_H
#define SHERWOOD_SERVER_NET_TLS_CREDENTIALS_H

#include <openssl/types.h>

#include "server/config/config.h"

struct sw_tls_credentials;

/* Reads the files that the options name. Returns 0, or -1 with a sentence logged. */
int sw_tls_credentials_create(const struct sw_config *config, struct sw_tls_credentials **out);
/* Reads the files, and keeps nothing. Returns 0, or -1 with a sentence in `error`. */
int sw_tls_credentials_check(const struct sw_config *config, char *error, size_t error_bytes);
/* NULL is allowed. */
void sw_tls_credentials_destroy(struct sw_tls_credentials *credentials);

/* Reads the files again for new connections; open connections keep the old contents. If a file
 * cannot be used, logs a sentence, changes nothing and returns -1. Otherwise returns 0. */
int sw_tls_credentials_reload(struct sw_tls_credentials *credentials,
                              const struct sw_config *config);

/* The context for a new connection; the caller frees it by SSL_CTX_free. */
SSL_CTX *sw_tls_credentials_context(struct sw_tls_credentials *credentials);

#endif
