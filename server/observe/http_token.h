/* SPDX-License-Identifier: MIT
 *
 * http_token.h - the bearer token that pages with data require. Threads: any.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_HTTP_TOKEN_H
#define SHERWOOD_SERVER_OBSERVE_HTTP_TOKEN_H

#include <stdbool.h>

#include "server/users/password.h"

/* Longest token in a file, with the NUL. */
#define SW_HTTP_TOKEN_BYTES 256

struct sw_http_token {
    bool is_set; /* false: every page is open */
    struct sw_hash hash;
};

/* Reads the token from the first line of the file. An empty name: no token. Returns 0; or -1 and an
 * error in `error`. */
int sw_http_token_read(const char *file, struct sw_http_token *out, char *error,
                       size_t error_bytes);

/* Returns true if the value of the header Authorization (NULL: absent) has the token, or if no
 * token is set (`token` may be NULL). */
bool sw_http_token_admits(const struct sw_http_token *token, const char *authorization);
/* Returns true if the page is open to all. */
bool sw_http_token_needs_none(const char *path);

#endif
