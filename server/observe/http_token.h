/* SPDX-License-Identifier: MIT
 *
 * http_token.h - the bearer token that pages ask for which show something. Any thread may call.
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

/* Takes the first line of the file as the token; an empty name: there is none. Returns 0, or -1
 * with a sentence in `error`. */
int sw_http_token_read(const char *file, struct sw_http_token *out, char *error,
                       size_t error_bytes);

/* Is this value of the header Authorization, or NULL, enough? Without a token (NULL) it is. */
bool sw_http_token_admits(const struct sw_http_token *token, const char *authorization);
/* Is the page one that everybody may see? */
bool sw_http_token_needs_none(const char *path);

#endif
