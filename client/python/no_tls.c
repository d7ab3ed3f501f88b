/* SPDX-License-Identifier: MIT
 *
 * no_tls.c - replaces client/transport_tls.c if the Python package is built without OpenSSL:
 * addresses and options of TLS are errors.
 */
#include <stdio.h>
#include <string.h>

#include "client/sherwood.h"
#include "client/transport_tls.h"

bool sw_client_is_secure(const char *address)
{
    return strncmp(address, "tls://", strlen("tls://")) == 0;
}

bool sw_client_wants_secure(const struct sherwood_options *options)
{
    return options->tls_ca != NULL || options->tls_cert != NULL || options->tls_key != NULL ||
           options->tls_server_name != NULL || options->tls_insecure != 0;
}

int sw_client_secure_begin(struct sw_client_connector *connector,
                           const struct sherwood_options *options, char *text, size_t text_bytes)
{
    (void)connector;
    (void)options;
    snprintf(text, text_bytes,
             "connect: this build of the Python package has no TLS (SHERWOOD_TLS=none)");
    return SHERWOOD_E_ADDRESS;
}

void sw_client_secure_end(struct sw_client_connector *connector)
{
    (void)connector;
}
