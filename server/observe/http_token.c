/* SPDX-License-Identifier: MIT
 *
 * http_token.c - "Authorization: Bearer <token>", compared in constant time, like passwords.
 */
#include "server/observe/http_token.h"

#include <string.h>
#include <strings.h>

#include "server/users/secret.h"

int sw_http_token_read(const char *file, struct sw_http_token *out, char *error, size_t error_bytes)
{
    char token[SW_HTTP_TOKEN_BYTES];
    *out = (struct sw_http_token){.is_set = false};
    if (file[0] == '\0') {
        return 0;
    }
    if (sw_secret_line("http-token-file", file, token, sizeof(token), error, error_bytes) != 0) {
        return -1;
    }
    out->is_set = true;
    bool hashed = sw_hash_password(token, strlen(token), &out->hash);
    sw_forget(token, sizeof(token));
    return hashed ? 0 : -1;
}

bool sw_http_token_admits(const struct sw_http_token *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    struct sw_hash hash;
    if (token == NULL || !token->is_set) {
        return true;
    }
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0) {
        return false;
    }
    authorization += sizeof(scheme) - 1;
    return sw_hash_password(authorization, strlen(authorization), &hash) &&
           sw_hash_is_among(&hash, &token->hash, 1);
}

bool sw_http_token_needs_none(const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
}
