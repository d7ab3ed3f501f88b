/* SPDX-License-Identifier: MIT
 *
 * bio.h - what OpenSSL reads records from and writes records to, for a stream.
 */
#ifndef SHERWOOD_PROTO_TLS_BIO_H
#define SHERWOOD_PROTO_TLS_BIO_H

#include <openssl/types.h>

#include "proto/tls/stream.h"

/* A BIO that receives from the stream's socket, directly into OpenSSL's buffer, and writes into the
 * stream's scratch memory. It borrows the stream. NULL: no memory. Any thread. */
BIO *sw_tls_bio_new(struct sw_tls_stream *stream);

#endif
