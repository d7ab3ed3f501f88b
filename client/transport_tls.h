/* SPDX-License-Identifier: MIT
 *
 * transport_tls.h - the transport for TLS: addresses that begin with "tls://".
 */
#ifndef SHERWOOD_CLIENT_TRANSPORT_TLS_H
#define SHERWOOD_CLIENT_TRANSPORT_TLS_H

#include <stdbool.h>

#include "client/transport.h"

/* Returns whether this is an address for TLS. */
bool sw_client_is_secure(const char *address);

/* Returns whether the caller has set an option of TLS. Such options without TLS are an error:
 * otherwise a program would believe that its connection is encrypted. */
bool sw_client_wants_secure(const struct sherwood_options *options);

/* Fills in a connector. The caller ends it with sw_client_secure_end when all transports are open.
 * Returns SHERWOOD_OK, or a code and a sentence in `text`. */
int sw_client_secure_begin(struct sw_client_connector *connector,
                           const struct sherwood_options *options, char *text, size_t text_bytes);
void sw_client_secure_end(struct sw_client_connector *connector);

#endif
