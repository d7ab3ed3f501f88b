/* SPDX-License-Identifier: MIT
 *
 * endpoints.h - the addresses of a handle, and the data to connect again: the options with their
 * texts, and a connector. The handle owns them.
 */
#ifndef SHERWOOD_CLIENT_ENDPOINTS_H
#define SHERWOOD_CLIENT_ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "client/bounds.h"
#include "client/sherwood.h"
#include "client/transport.h"

/* The most addresses that a handle uses of "address,address,..". */
#define SW_CLIENT_ENDPOINTS_MAX 64

struct sw_client_endpoints {
    struct sherwood_options options; /* with copies of the strings */
    struct sw_client_connector connector;
    bool is_secure;
    char (*addresses)[SW_CLIENT_ADDRESS_BYTES]; /* as the caller gave them */
    size_t count;
};

/* Copies addresses and options. Returns SHERWOOD_OK, or a code and a sentence in `text`; fini is to
 * be called in each case. */
int sw_client_endpoints_init(struct sw_client_endpoints *endpoints, const char *const *addresses,
                             size_t count, const struct sherwood_options *options, char *text,
                             size_t text_bytes);
/* Erases and frees everything. A struct of zeros is allowed. */
void sw_client_endpoints_fini(struct sw_client_endpoints *endpoints);

/* Splits "address,address,.." in place, at each comma before an address. A text without a colon is
 * not an address: it belongs to the path before it. Returns the number of addresses, at most
 * `room`; it ignores the rest. */
size_t sw_client_endpoints_split(char *list, const char **addresses, size_t room);
/* Returns whether the text has more than one address. */
bool sw_client_is_list(const char *text);

#endif
