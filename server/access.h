/* SPDX-License-Identifier: MIT
 *
 * access.h - access control: users, peers of Unix sockets, the token of HTTP.
 */
#ifndef SHERWOOD_SERVER_ACCESS_H
#define SHERWOOD_SERVER_ACCESS_H

#include "server/config/config.h"
#include "server/net/tls_credentials.h"
#include "server/notify.h"
#include "server/observe/http_token.h"
#include "server/users/unix_users.h"
#include "server/users/users.h"

struct sw_access {
    struct sw_users *users;
    struct sw_unix_users unix_users;
    struct sw_http_token http_token;
};

/* Reads the files that the options name. Warns if any client has access at an address that other
 * hosts reach, or if a file has words without effect. `activated`: the service manager has bound
 * the addresses. Returns 0; or after logging an error SW_START_CONFIG, if a file is wrong, or -1,
 * if there is no memory. sw_access_close may be called after each. */
int sw_access_open(struct sw_access *access, const struct sw_config *config, bool activated);
/* Reads the certificates if TLS is on. Otherwise leaves *credentials unchanged, and notes in the
 * log if no option uses tls-cert or tls-key. Returns 0, or -1 after logging an error. */
int sw_access_open_tls(const struct sw_config *config, const struct sw_activated *activated,
                       struct sw_tls_credentials **credentials);
void sw_access_close(struct sw_access *access);

#endif
